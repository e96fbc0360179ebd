"""The index follows the table: what commits changed is read from the table and written to the index (DESIGN, "Index").

A stream record is a hint: whatever it says, the index is told what stands in the table now. So duplicates, other orders
and late repeats need no care. Nothing else writes the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_memory.domain import words
from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.parts import parts, record_text
from agent_memory.domain.ports import IndexEntry, Key
from agent_memory.domain.records import Record, Status, searchable_text
from agent_memory.domain.vectors import packed
from agent_memory.store.keys import memory_partition
from agent_memory.store.records import Stored

from .services import Services

PAGE = 200  # records that one rebuild step reads and tells the index


@dataclass(frozen=True, slots=True)
class Indexed:
    """commits: how many a search shows now. refused: records that the index will not take, by id, with the reason; they
    stay recallable from the table. unembedded: records found by words alone until the model answers."""

    commits: int = 0
    refused: dict[str, str] | None = None
    unembedded: int = 0


def index_commits(services: Services, commits: Sequence[Key]) -> Indexed:
    """Show these commits in the index, then strike them off. Raises `IndexUnavailable`: then all of them wait."""
    standing = services.records.commits(commits)
    places = {id: place for commit in standing for id, place in commit.places.items()}
    stored = services.records.stored(places, services.embedder.model)
    refused, unembedded = _tell(services, stored)
    services.records.indexed(standing, refused)
    return Indexed(len(standing), refused, unembedded)


def embed_waiting(services: Services) -> int:
    """Embed records whose text the model did not take when they were indexed; gives how many are done. Raises
    `EmbedderUnavailable` while it is still down."""
    waiting = services.records.unembedded(limit=PAGE)
    stored = services.records.stored(waiting, services.embedder.model)
    stored = _embedded(services, stored)
    services.index.apply([_entry(one) for one in stored])
    services.records.embedded(waiting)
    return len(waiting)


def rebuild(services: Services, agent_id: str) -> Iterable[int]:
    """Tell the index of every live record of an agent, from the table; gives how many after each page. Calls the model
    only for records that have no vector of it."""
    before: str | None = None
    while places := services.records.of_agent(agent_id, before=before, limit=PAGE):
        stored = [one for one in services.records.stored(places, services.embedder.model) if _is_live(one.record)]
        _tell(services, stored)
        yield len(stored)
        before = list(places)[-1]


def _tell(services: Services, stored: Sequence[Stored]) -> tuple[dict[str, str], int]:
    try:
        stored, unembedded = _embedded(services, stored), 0
    except EmbedderUnavailable:
        waiting = {one.record.id: one.record.place for one in stored if _is_live(one.record) and not one.vectors}
        services.records.wait_for_embedding(waiting)
        unembedded = len(waiting)
    return services.index.apply([_entry(one) for one in stored]), unembedded


def _embedded(services: Services, stored: Sequence[Stored]) -> list[Stored]:
    """The same with the vectors that were missing, in one call of the model; they are stored as well. A text that the
    model refuses alone stays without."""
    missing = [one.record for one in stored if _is_live(one.record) and not one.vectors]
    if not missing:
        return list(stored)
    texts = {r.id: parts(record_text(r.summary, r.content), services.embedder.window) for r in missing}
    vectors = iter(services.embedder.embed([text for several in texts.values() for text in several]).vectors)
    found = {id: tuple(packed(v) for _ in several if (v := next(vectors)) is not None) for id, several in texts.items()}
    services.records.put_vectors({r.id: r.place for r in missing}, found, services.embedder.model)
    return [Stored(one.record, one.vectors or found.get(one.record.id, ())) for one in stored]


def _entry(stored: Stored) -> IndexEntry:
    """Even stamps are versions; the odd one above is the same version with its vectors, wherever they came later."""
    record = stored.record
    stamp = 2 * record.stamp + (1 if stored.vectors else 0)
    partition, agent_id = memory_partition(record.place), record.place.agent_id or ""
    if not _is_live(record):
        return IndexEntry(record.id, partition, agent_id, stamp, live=False)
    return IndexEntry(
        record.id,
        partition,
        agent_id,
        stamp,
        live=True,
        kind=record.kind,
        labels=record.labels,
        words=words.tokens(searchable_text(record)),
        vectors=stored.vectors,
    )


def _is_live(record: Record) -> bool:
    return record.status is Status.ACTIVE
