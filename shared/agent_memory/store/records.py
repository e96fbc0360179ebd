"""Records in the memory table: reading them, staging them, and what the index has not shown of them.

A live record lies under its own letter and moves when it ends, so no reader of live records pages through the dead.
Reads give `Record`s whatever their expiry: `is_active` is the reader's to ask. What a commit writes is told by
`commits`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from agent_memory.domain.ports import Delete, Item, Key, Put, Row, Table
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board, Hidden, Keyed, Noted
from agent_memory.domain.ulids import made_at

from . import commits, keys, removal
from .record_items import record_of
from .removal import Due

BACKLOG = 100  # unindexed changes of one place that a search ranks along (RK-8)
_VECTORS = 500  # of a page: .8 MB of 384 dimensions
TWINS = 20  # equal records that are looked at: nearly always the newest is the one that is active


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit changed, and no search shows yet: ids by place. gone: stamps of records that were removed.
    history: instead of records, the turn whose messages are kept (`history.ref_of`)."""

    id: str
    changed: Mapping[Place, Sequence[str]]
    gone: Mapping[str, int] = field(default_factory=dict)
    history: Sequence[Any] = ()

    @property
    def since(self) -> datetime:
        return made_at(self.id)

    @property
    def places(self) -> dict[str, Place]:
        return {id: place for place, ids in self.changed.items() for id in ids}


@dataclass(frozen=True, slots=True)
class Stored:
    """A record with its vectors; none where it was not embedded."""

    record: Record
    vectors: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Looked:
    """What stands under some keys. Of records only those that are there; of keys and boards each that was asked."""

    records: dict[str, Record]
    holders: dict[Keyed, str | None]
    boards: dict[Place, Board]


Together = Callable[..., list[list[Row]]]


def one_by_one(*calls: Callable[[], list[Row]]) -> list[list[Row]]:
    """For callers who have nothing that carries calls out at once."""
    return [call() for call in calls]


class Records:
    """is_indexed: whether the index shows what is read here; is_cut: whether a place held more than was looked at."""

    is_indexed = True
    is_cut = False

    def __init__(self, table: Table) -> None:
        self._table = table

    # -- reading

    def locate(self, agent_id: str | None, ids: Iterable[str], *, platform: bool = True) -> dict[str, Place]:
        """Where each record of the agent lies (or would, once its turn commits), with `platform` platform records too;
        of agent None the platform records alone. Unknown ids are left out."""
        owners = {agent_id, None} if platform else {agent_id}
        found = self._table.get_many(keys.pointer(owner, id) for id in set(ids) for owner in owners)
        return {key.sort.removeprefix(keys.POINTER): keys.place_of(item["partition"]) for key, item in found.items()}

    def read(self, places: Mapping[str, Place]) -> dict[str, Record]:
        """Records by id, whatever their status: one read of all keys where each may lie."""
        return _records(self._table.get_many(_anywhere(places)))

    def look(
        self,
        places: Mapping[str, Place],
        holders: Iterable[Keyed] = (),
        boards: Iterable[Place] = (),
        *,
        live_only: bool = False,
    ) -> Looked:
        """Records, holders of keys and boards, in one read. live_only: half of the cost, for who shows no others."""
        held = {keys.holder(*keyed): keyed for keyed in holders}
        of_places = {keys.board(place): place for place in boards}
        records = [keys.record(place, keys.LIVE, id) for id, place in places.items()]
        found = self._table.get_many([*(records if live_only else _anywhere(places)), *held, *of_places])
        return Looked(
            _records({key: item for key, item in found.items() if key not in held and key not in of_places}),
            {keyed: found[key]["id"] if key in found else None for key, keyed in held.items()},
            {place: _board(found.get(key)) for key, place in of_places.items()},
        )

    def hidden(self, place: Place) -> tuple[int, dict[str, list[Hidden]]]:
        """What preview records of the place hide, by the id of the live record, and how often that has changed."""
        rows = self._table.query("memory", keys.memory_partition(place), prefix=keys.HIDES_AND_CHANGES)
        changes = rows.pop().item["changes"] if rows and rows[-1].key.sort == keys.CHANGES else 0
        found: dict[str, list[Hidden]] = {}
        for row in rows:
            hidden = Hidden(place, row.key.sort.removeprefix(keys.HIDES), row.item.get("ends_at"))
            for id in row.item["ids"]:
                found.setdefault(id, []).append(hidden)
        return changes, found

    def live(self, places: Mapping[str, Place]) -> dict[str, Record]:
        found = self._table.get_many(keys.record(place, keys.LIVE, id) for id, place in places.items())
        return {r.id: r for r in (record_of(Row(*row)) for row in found.items())}

    def stored(self, places: Mapping[str, Place], model: str) -> list[Stored]:
        """Live and ended records with their vectors, one read."""
        wanted = [*_anywhere(places)]
        wanted += [keys.vector(place, id, model) for id, place in places.items()]
        rows = [Row(*row) for row in self._table.get_many(wanted).items()]
        vectors = {row.key.sort.split("#")[1]: _parts(row.item) for row in rows if row.key.sort.startswith(keys.VECTOR)}
        records = [record_of(row) for row in rows if not row.key.sort.startswith(keys.VECTOR)]
        return [Stored(record, vectors.get(record.id, ())) for record in records]

    def vectors(self, places: Mapping[str, Place], model: str) -> dict[str, tuple[bytes, ...]]:
        found = self._table.get_many(keys.vector(place, id, model) for id, place in places.items())
        return {key.sort.split("#")[1]: _parts(item) for key, item in found.items()}

    def vectors_in(self, partition: str, model: str) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """All vectors of a place by that model, of whatever record, with the record's id; read a page at a time, since
        those of a large place together would take more memory than is kept of them."""
        after: str | None = None
        while rows := self._table.query("memory", partition, prefix=keys.VECTOR, after=after, limit=_VECTORS):
            for row in rows:
                id, by = row.key.sort.removeprefix(keys.VECTOR).split("#", 1)
                if by == model:
                    yield id, _parts(row.item)
            after = rows[-1].key.sort

    def newest(self, place: Place, *, before: str | None = None, limit: int) -> list[Record]:
        """Live records of a place, newest first, older than the id `before`."""
        after = keys.LIVE + before if before else None
        rows = self._table.query(
            "memory", keys.memory_partition(place), prefix=keys.LIVE, newest_first=True, after=after, limit=limit
        )
        return [record_of(row) for row in rows]

    def of_agent(self, agent_id: str | None, *, before: str | None = None, limit: int) -> dict[str, Place]:
        """Pointers of the agent's records, newest first, staged ones among them; None: of platform records."""
        after = keys.POINTER + before if before else None
        rows = self._table.query(
            "memory", keys.pointers(agent_id), prefix=keys.POINTER, newest_first=True, after=after, limit=limit
        )
        return {row.key.sort.removeprefix(keys.POINTER): keys.place_of(row.item["partition"]) for row in rows}

    def ahead(self, place: Place) -> tuple[Board, list[str]]:
        """The board of the place, and the records that commits changed there and the index has not shown, by newest
        commit first: one query. Where these are more than `BACKLOG`, more than that are given, but not all."""
        partition, most = keys.memory_partition(place), BACKLOG + 2
        rows = self._table.query("memory", partition, prefix=keys.BOARD_AND_NOT_YET, newest_first=True, limit=most)
        board = rows.pop(0).item if rows and rows[0].key.sort == keys.BOARD else None
        return _board(board), [id for row in rows for id in row.item["ids"]]

    def unindexed_of(
        self, agent_id: str, *, limit: int, together: Together = one_by_one
    ) -> tuple[dict[str, Place], bool]:
        """The agent's records that commits changed and the index has not shown, in whatever place, by newest commit
        first, at most `limit`; and whether there may be more. The list is everyone's, so where others have left it long
        there may be. together: carries calls out at once."""
        lists = [(keys.unindexed_partition(shard), "") for shard in range(keys.SHARDS)]
        lists.append((agent_id, keys.NOT_YET))  # what the index refused
        pages = together(
            *(
                lambda partition=partition, prefix=prefix: self._table.query(
                    "memory", partition, prefix=prefix, newest_first=True, limit=limit
                )
                for partition, prefix in lists
            )
        )
        commits = [_commit(row) for page in pages for row in page]
        newest_first = sorted(commits, key=lambda commit: commit.id, reverse=True)
        places = {id: place for one in newest_first for id, place in one.places.items() if place.agent_id == agent_id}
        is_cut = len(places) > limit or any(len(page) == limit for page in pages)
        return dict(islice(places.items(), limit)), is_cut

    def twins(self, place: Place, fingerprint: str) -> list[str]:
        """The ids of records that brought exactly these fields here, newest first; they may have ended since."""
        partition, prefix = keys.memory_partition(place), keys.fingerprint(place, fingerprint, "").sort
        rows = self._table.query("memory", partition, prefix=prefix, newest_first=True, limit=TWINS)
        return [row.key.sort.removeprefix(prefix) for row in rows]

    # -- writing

    def stage(self, record: Record, vectors: Sequence[bytes], model: str, fingerprint: str | None = None) -> list[Put]:
        """What lies in the memory table before the commit, which has no room for it: the pointer, the vectors, and when
        it ends. All lead to nothing while the record itself is not there."""
        puts = [Put(keys.pointer(record.place.agent_id, record.id), _pointer(record.place))]
        puts += removal.note(record, fingerprint)
        return [*puts, *([_vector_put(record.place, record.id, vectors, model)] if vectors else [])]

    def forget(self, records: Sequence[Record], model: str) -> list[Delete]:
        """Takes back what was staged of records that never came to be."""
        staged = [put.key for record in records for put in self.stage(record, [], model)]
        vectors = [keys.vector(record.place, record.id, model) for record in records]
        return [Delete(key) for key in (*staged, *vectors)]

    def put_vectors(self, places: Mapping[str, Place], vectors: Mapping[str, Sequence[bytes]], model: str) -> None:
        self._table.write_many([_vector_put(places[id], id, parts, model) for id, parts in vectors.items() if parts])

    # -- boards

    def bind(self, place: Place, ids: Iterable[str], now: datetime) -> None:
        """Put those of these records that are live on the board of their place, as constraints. Raises
        `ConditionFailed` where a commit changed it, or one of them, meanwhile."""
        looked = self.look(dict.fromkeys(ids, place), boards=[place], live_only=True)
        self._table.transact(commits.binding_writes(place, looked.boards[place], list(looked.records.values()), now))

    # -- removing

    def due(self, now: datetime, *, limit: int) -> list[Due]:
        """Records whose time is over, the oldest of each shard of their list."""
        return removal.due(self._table, now, limit=limit)

    def remove(self, record: Record, one: Due, model: str, commit_id: str, now: datetime) -> None:
        """Raises `ConditionFailed` where it was changed meanwhile."""
        keyed = [(record.place, record.memory_key)] if record.memory_key else []
        looked = self.look({}, keyed, [record.place])
        own = {key for key, holder in looked.holders.items() if holder == record.id}
        self._table.transact(removal.writes(record, one, own, looked.boards[record.place], model, commit_id, now))

    def strike_off(self, one: Due) -> None:
        """A record that never came to be."""
        self._table.write_many([Delete(one.key)])

    # -- indexing

    def commits(self, commits: Sequence[Key]) -> list[Commit]:
        """Those of the commits that still wait for the index."""
        return [_commit(Row(*row)) for row in self._table.get_many(commits).items()]

    def waiting(self, *, limit: int) -> list[Commit]:
        """Commits that wait for the index, the oldest `limit` of each shard, oldest first."""
        shards = [keys.unindexed_partition(shard) for shard in range(keys.SHARDS)]
        rows = [row for shard in shards for row in self._table.query("memory", shard, limit=limit)]
        return [_commit(row) for row in sorted(rows, key=lambda row: row.key.sort)]

    def indexed(self, commits: Sequence[Commit], refused: Collection[str]) -> None:
        """The index shows these commits: strike them off, but for the records that it refused. Those stay unindexed,
        and so are read with every search of their place, or of their agent."""
        writes: list[Put | Delete] = []
        for commit in commits:
            writes += _refused(commit, refused)
            for place, ids in commit.changed.items():
                left, key = [id for id in ids if id in refused], keys.not_yet(place, commit.id)
                writes.append(Put(key, {"ids": left, "refused": True}) if left else Delete(key))
        # The list last: what is struck off there is looked at no more.
        self._table.write_many([*writes, *(Delete(keys.unindexed(commit.id)) for commit in commits)])

    def wait_for_embedding(self, places: Mapping[str, Place]) -> None:
        self._table.write_many([Put(keys.unembedded(id), _pointer(place)) for id, place in places.items()])

    def unembedded(self, *, limit: int) -> dict[str, Place]:
        """Records that wait for the model, oldest first."""
        rows = self._table.query("memory", keys.unembedded("").partition, limit=limit)
        return {row.key.sort: keys.place_of(row.item["partition"]) for row in rows}

    def embedded(self, ids: Iterable[str]) -> None:
        self._table.write_many([Delete(keys.unembedded(id)) for id in ids])


def _commit(row: Row) -> Commit:
    changed = {keys.place_of(partition): ids for partition, ids in row.item.get("changed", {}).items()}
    return Commit(row.key.sort.split("#")[1], changed, row.item.get("gone", {}), row.item.get("history", ()))


def _refused(commit: Commit, refused: Collection[str]) -> list[Put]:
    """What stays of a commit's list for searches of all that an agent has; nothing, nearly always."""
    changed: dict[str, dict[str, list[str]]] = {}
    for place, ids in commit.changed.items():
        left = [id for id in ids if id in refused]
        if left and place.agent_id:
            changed.setdefault(place.agent_id, {})[keys.memory_partition(place)] = left
    return [Put(keys.refused(agent_id, commit.id), {"changed": several}) for agent_id, several in changed.items()]


def _vector_put(place: Place, id: str, vectors: Sequence[bytes], model: str) -> Put:
    return Put(keys.vector(place, id, model), {"parts": len(vectors), "vectors": b"".join(vectors)})


def _pointer(place: Place) -> Item:
    return {"partition": keys.memory_partition(place)}


def _anywhere(places: Mapping[str, Place]) -> list[Key]:
    return [keys.record(place, letter, id) for id, place in places.items() for letter in keys.letters(place)]


def _records(found: Mapping[Key, Item]) -> dict[str, Record]:
    return {record.id: record for record in (record_of(Row(*row)) for row in found.items())}


def _board(item: Item | None) -> Board:
    if item is None:
        return Board()
    return Board(item["version"], _noted(item["pinned"]), _noted(item["constraints"]))


def _noted(items: Mapping[str, Sequence[str | None]]) -> dict[str, Noted]:
    return {id: Noted(*noted) for id, noted in items.items()}


def _parts(item: Item) -> tuple[bytes, ...]:
    size = len(item["vectors"]) // item["parts"]
    return tuple(item["vectors"][n : n + size] for n in range(0, len(item["vectors"]), size))
