"""What is built in, what is wired, and how the index stands (IF-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_memory import __version__
from agent_memory.domain.errors import EmbedderUnavailable, IndexUnavailable
from agent_memory.domain.near import near_of
from agent_memory.domain.ports import Embedder, IndexQuery

from .services import Services

COUNTED = 1000  # commits of each shard
PARTS = {"review": True, "sweep": True, "decay": True, "merge": False, "cleanup": False}  # which are built


def status(services: Services, *, edition: str) -> dict[str, Any]:
    return {
        "version": __version__,
        "edition": edition,
        "embedder": _embedder(services.embedder),
        "reviewer": {"kind": services.reviewer.kind, "model": services.reviewer.model},
        "index": _index(services),
        "parts": {part: _part(services, part, built) for part, built in PARTS.items()},
    }


def _part(services: Services, part: str, built: bool) -> dict[str, Any]:
    """What is built runs in both editions: nothing is left to wire. Decay is no job, but done at each recall."""
    last = services.deployment.last_run(part) if built else None
    return {"built": built, "wired": built, "last_run_at": last}


def _embedder(embedder: Embedder) -> dict[str, Any]:
    """What has to be asked of the model itself is null while it does not answer."""
    told: dict[str, Any] = {"model": embedder.model, "dimensions": None, "min_score": None, "near_score": None}
    try:
        told |= {"dimensions": embedder.dimensions}
        told |= {"min_score": embedder.floor, "near_score": near_of(embedder)}
    except EmbedderUnavailable:
        pass
    return told


def _index(services: Services) -> dict[str, Any]:
    """down: it does not answer; lagging: it answers, and commits wait for it; ok: it shows everything. `unindexed`
    counts commits, to some thousands; the oldest waits since the instant that its id was made."""
    waiting = owed(services)
    state = "down" if not _answers(services) else "lagging" if waiting.commits else "ok"
    return {"state": state, "unindexed": waiting.commits, "oldest_s": waiting.oldest_s}


@dataclass(frozen=True, slots=True)
class Owed:
    """Commits that no search shows yet, counted to some thousands, and the age of the oldest (None: there is none)."""

    commits: int
    oldest_s: float | None


def owed(services: Services) -> Owed:
    waiting = services.records.waiting(limit=COUNTED)
    age_s = (services.clock.now() - waiting[0].since).total_seconds() if waiting else None
    return Owed(len(waiting), None if age_s is None else max(0.0, round(age_s, 3)))


def _answers(services: Services) -> bool:
    try:
        services.index.search(IndexQuery(partitions=["#status"], words=["status"]))
    except IndexUnavailable:
        return False
    return True
