"""What is built in, what is wired, and how the index stands (IF-6)."""

from __future__ import annotations

from typing import Any

from agent_memory import __version__
from agent_memory.domain.errors import EmbedderUnavailable, IndexUnavailable
from agent_memory.domain.ports import Embedder, IndexQuery

from .services import Services

COUNTED = 1000  # commits of each shard
PARTS = ("review", "sweep", "decay", "merge", "cleanup")


def status(services: Services, *, edition: str) -> dict[str, Any]:
    return {
        "version": __version__,
        "edition": edition,
        "embedder": _embedder(services.embedder),
        "reviewer": {"kind": None, "model": None},
        "index": _index(services),
        "parts": {part: {"built": False, "wired": False, "last_run_at": None} for part in PARTS},
    }


def _embedder(embedder: Embedder) -> dict[str, Any]:
    """What has to be asked of the model itself is null while it does not answer."""
    told: dict[str, Any] = {"model": embedder.model, "dimensions": None, "min_score": None}
    try:
        told |= {"dimensions": embedder.dimensions}
        told |= {"min_score": embedder.floor}
    except EmbedderUnavailable:
        pass
    return told


def _index(services: Services) -> dict[str, Any]:
    """down: it does not answer; lagging: it answers, and commits wait for it; ok: it shows everything. `unindexed`
    counts commits, to some thousands; the oldest waits since the instant that its id was made."""
    waiting = services.records.waiting(limit=COUNTED)
    state = "down" if not _answers(services) else "lagging" if waiting else "ok"
    age_s = (services.clock.now() - waiting[0].since).total_seconds() if waiting else None
    return {
        "state": state,
        "unindexed": len(waiting),
        "oldest_s": None if age_s is None else max(0.0, round(age_s, 3)),
    }


def _answers(services: Services) -> bool:
    try:
        services.index.search(IndexQuery(partitions=["#status"], words=["status"]))
    except IndexUnavailable:
        return False
    return True
