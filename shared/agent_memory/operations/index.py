"""The index follows the table: what commits changed is read from the table and written to the index (DESIGN, "Index").

A stream record is a hint: whatever it says, the index is told what stands in the table now. So duplicates, other orders
and late repeats need no care. Nothing else writes the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_memory.domain import words
from agent_memory.domain.errors import EmbedderUnavailable, Unavailable
from agent_memory.domain.facets import facets_of
from agent_memory.domain.parts import parts, record_text
from agent_memory.domain.ports import IndexEntry, Key
from agent_memory.domain.records import Record, Status, searchable_text
from agent_memory.domain.scopes import Place
from agent_memory.domain.vectors import packed
from agent_memory.store.history import ref_of
from agent_memory.store.keys import UNINDEXED, memory_partition
from agent_memory.store.records import Commit, Stored

from .index_history import index_turns
from .services import Services

PAGE = 200  # records that one rebuild step reads and tells the index


@dataclass(frozen=True, slots=True)
class Indexed:
    """commits: how many a search shows now. refused: records that the index will not take, by id, with the reason; they
    stay recallable from the table. unembedded: records found by words alone until the model answers. broken: commits
    whose indexing failed by a fault of ours, by id; they stay recallable too, and upkeep tries them again. waiting:
    those not tried, since the index or the table stopped answering on the way."""

    commits: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    unembedded: int = 0
    broken: Mapping[str, Exception] = field(default_factory=dict)
    waiting: Sequence[Key] = ()

    def plus(self, other: Indexed) -> Indexed:
        return Indexed(
            self.commits + other.commits,
            {**self.refused, **other.refused},
            self.unembedded + other.unembedded,
            {**self.broken, **other.broken},
            (*self.waiting, *other.waiting),
        )


def index_commits(services: Services, commits: Sequence[Key]) -> Indexed:
    """Show these commits in the index, then strike them off. Raises `IndexUnavailable`: then all of them wait."""
    standing = services.records.commits(commits)
    of_records = [commit for commit in standing if not commit.history]
    indexed = _index_records(services, of_records) if of_records else Indexed()
    of_history = [commit for commit in standing if commit.history]
    return indexed.plus(_index_history(services, of_history)) if of_history else indexed


def _index_records(services: Services, standing: Sequence[Commit]) -> Indexed:
    places = {id: place for commit in standing for id, place in commit.places.items()}
    stored = services.records.stored(places, services.embedder.model)
    there = {one.record.id for one in stored}
    gone = {id: stamp for commit in standing for id, stamp in commit.gone.items() if id not in there}
    refused, unembedded = _tell(services, stored, [_tombstone(id, places[id], stamp) for id, stamp in gone.items()])
    services.records.indexed(standing, refused)
    return Indexed(len(standing), refused, unembedded)


def _index_history(services: Services, standing: Sequence[Commit]) -> Indexed:
    told = index_turns(services, [ref_of(commit.history) for commit in standing])
    services.records.indexed(standing, ())
    return Indexed(len(standing), told.refused, told.unembedded)


def index_each(services: Services, commits: Sequence[Key]) -> Indexed:
    """As `index_commits`; where a fault of ours breaks it, each commit by itself, so that one holds up no other. Raises
    `Unavailable` where nothing answers from the beginning: then all of them wait."""
    try:
        return index_commits(services, commits)
    except Unavailable:
        raise
    except Exception as error:  # of a stream's batch: told by the caller, and kept in the table
        if len(commits) == 1:
            return Indexed(broken={_id(commits[0]): error})
    indexed = Indexed()
    for at, commit in enumerate(commits):
        try:
            indexed = indexed.plus(index_each(services, [commit]))
        except Unavailable:
            return indexed.plus(Indexed(waiting=commits[at:]))
    return indexed


def embed_waiting(services: Services) -> int:
    """Embed records whose text the model did not take when they were indexed; gives how many are done. Raises
    `EmbedderUnavailable` while it is still down."""
    waiting = services.records.unembedded(limit=PAGE)
    stored = services.records.stored(waiting, services.embedder.model)
    stored = _embedded(services, stored)
    services.index.apply([_entry(one) for one in stored])
    services.records.embedded(waiting)
    return len(waiting)


def rebuild(services: Services, agent_id: str, *, before: str | None = None) -> Iterator[tuple[int, str]]:
    """Tell the index of every live record of an agent, from the table, newest first, beginning with those older than
    the id `before`; gives after each page how many it held and its last id. Calls the model only for records that have
    no vector of it."""
    while places := services.records.of_agent(agent_id, before=before, limit=PAGE):
        stored = [one for one in services.records.stored(places, services.embedder.model) if _is_live(one.record)]
        _tell(services, stored)
        before = list(places)[-1]
        yield len(stored), before


def _tell(services: Services, stored: Sequence[Stored], gone: Sequence[IndexEntry] = ()) -> tuple[dict[str, str], int]:
    try:
        stored, unembedded = _embedded(services, stored), 0
    except EmbedderUnavailable:
        waiting = {one.record.id: one.record.place for one in stored if _is_live(one.record) and not one.vectors}
        services.records.wait_for_embedding(waiting)
        unembedded = len(waiting)
    return services.index.apply([*(_entry(one) for one in stored), *gone]), unembedded


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
        return _tombstone(record.id, record.place, record.stamp)
    return IndexEntry(
        record.id,
        partition,
        agent_id,
        stamp,
        live=True,
        kind=record.kind,
        labels={**record.labels, **facets_of(record)},
        words=words.tokens(searchable_text(record)),
        vectors=stored.vectors,
    )


def _tombstone(id: str, place: Place, stamp: int) -> IndexEntry:
    return IndexEntry(id, memory_partition(place), place.agent_id or "", 2 * stamp, live=False)


def _id(commit: Key) -> str:
    return commit.sort.removeprefix(UNINDEXED)


def _is_live(record: Record) -> bool:
    return record.status is Status.ACTIVE
