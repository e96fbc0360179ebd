"""Records in the memory table: where each kind of record lies, and what one commit writes.

A live record lies under its own letter and moves when it ends, so no reader of live records pages through the dead.
Reads give `Record`s whatever their expiry: `is_active` is the reader's to ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain.ports import Absent, Delete, Equals, Item, Key, Put, Row, Table, Write
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Settled
from agent_memory.domain.ulids import made_at

from . import keys

BACKLOG = 100  # unindexed changes of one place that a search ranks along (RK-8)
_VECTORS = 500  # of a page: .8 MB of 384 dimensions
TWINS = 20  # equal records that are looked at: nearly always the newest is the one that is active


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit changed, and no search shows yet: ids by place."""

    id: str
    changed: Mapping[Place, Sequence[str]]

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


class Records:
    def __init__(self, table: Table) -> None:
        self._table = table

    # -- reading

    def locate(self, agent_id: str, ids: Iterable[str]) -> dict[str, Place]:
        """Where each record of the agent lies (or would, once its turn commits); unknown ids are left out."""
        found = self._table.get_many(keys.pointer(agent_id, id) for id in set(ids))
        return {key.sort.removeprefix(keys.POINTER): keys.place_of(item["partition"]) for key, item in found.items()}

    def read(self, places: Mapping[str, Place]) -> dict[str, Record]:
        """Live and ended records by id, one read of both places where each may lie."""
        wanted = [keys.record(place, letter, id) for id, place in places.items() for letter in (keys.LIVE, keys.ENDED)]
        return {r.id: r for r in (_record(Row(*row)) for row in self._table.get_many(wanted).items())}

    def live(self, places: Mapping[str, Place]) -> dict[str, Record]:
        found = self._table.get_many(keys.record(place, keys.LIVE, id) for id, place in places.items())
        return {r.id: r for r in (_record(Row(*row)) for row in found.items())}

    def stored(self, places: Mapping[str, Place], model: str) -> list[Stored]:
        """Live and ended records with their vectors, one read."""
        wanted = [keys.record(place, letter, id) for id, place in places.items() for letter in (keys.LIVE, keys.ENDED)]
        wanted += [keys.vector(place, id, model) for id, place in places.items()]
        rows = [Row(*row) for row in self._table.get_many(wanted).items()]
        vectors = {row.key.sort.split("#")[1]: _parts(row.item) for row in rows if row.key.sort.startswith(keys.VECTOR)}
        records = [_record(row) for row in rows if not row.key.sort.startswith(keys.VECTOR)]
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
        return [_record(row) for row in rows]

    def of_agent(self, agent_id: str, *, before: str | None = None, limit: int) -> dict[str, Place]:
        """Pointers of the agent's records, newest first, staged ones among them."""
        after = keys.POINTER + before if before else None
        rows = self._table.query("memory", agent_id, prefix=keys.POINTER, newest_first=True, after=after, limit=limit)
        return {row.key.sort.removeprefix(keys.POINTER): keys.place_of(row.item["partition"]) for row in rows}

    def unindexed(self, place: Place) -> list[str]:
        """Records of the place that commits changed and the index has not shown, by newest commit first. Where they are
        more than `BACKLOG`, more than that are given, but not all."""
        partition, most = keys.memory_partition(place), BACKLOG + 1
        rows = self._table.query("memory", partition, prefix=keys.NOT_YET, newest_first=True, limit=most)
        return [id for row in rows for id in row.item["ids"]]

    def twins(self, place: Place, fingerprint: str) -> list[str]:
        """The ids of records that brought exactly these fields here, newest first; they may have ended since."""
        partition, prefix = keys.memory_partition(place), _fingerprint(place, fingerprint, "").sort
        rows = self._table.query("memory", partition, prefix=prefix, newest_first=True, limit=TWINS)
        return [row.key.sort.removeprefix(prefix) for row in rows]

    # -- writing

    def stage(self, record: Record, vectors: Sequence[bytes], model: str) -> list[Put]:
        """What lies in the memory table before the commit, which has no room for it: the pointer, and the vectors. Both
        lead to nothing while the record itself is not there."""
        puts = [Put(keys.pointer(record.place.agent_id or "", record.id), _pointer(record.place))]
        return [*puts, *([_vector_put(record.place, record.id, vectors, model)] if vectors else [])]

    def forget(self, agent_id: str, places: Mapping[str, Place], model: str) -> list[Delete]:
        """Takes back what was staged of records that never came to be."""
        vectors = [Delete(keys.vector(place, id, model)) for id, place in places.items()]
        return [*vectors, *(Delete(keys.pointer(agent_id, id)) for id in places)]

    def put_vectors(self, places: Mapping[str, Place], vectors: Mapping[str, Sequence[bytes]], model: str) -> None:
        self._table.write_many([_vector_put(places[id], id, parts, model) for id, parts in vectors.items() if parts])

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
        and so are read with every search of their place."""
        writes: list[Put | Delete] = []
        for commit in commits:
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

    # -- a commit

    def writes(self, settled: Settled, fingerprints: Mapping[str, str], commit_id: str) -> list[Write]:
        """What a commit writes of records: each put or moved, its fingerprint, and what the index has to show of it.

        Every changed record is conditional on the version that `settled` was made from."""
        writes: list[Write] = []
        touched: dict[Place, list[str]] = {}
        for id, record in settled.after.items():
            writes += _moves(settled.before.get(id), record)
            touched.setdefault(record.place, []).append(id)
            if fingerprint := fingerprints.get(id):
                writes.append(Put(_fingerprint(record.place, fingerprint, id), {}))
        writes += [Put(keys.not_yet(place, commit_id), {"ids": ids}) for place, ids in touched.items()]
        if touched:
            changed = {keys.memory_partition(place): ids for place, ids in touched.items()}
            writes.append(Put(keys.unindexed(commit_id), {"changed": changed}))
        return writes


def _commit(row: Row) -> Commit:
    changed = {keys.place_of(partition): ids for partition, ids in row.item["changed"].items()}
    return Commit(row.key.sort.removeprefix(keys.UNINDEXED), changed)


def _vector_put(place: Place, id: str, vectors: Sequence[bytes], model: str) -> Put:
    return Put(keys.vector(place, id, model), {"parts": len(vectors), "vectors": b"".join(vectors)})


def _pointer(place: Place) -> Item:
    return {"partition": keys.memory_partition(place)}


def _moves(before: Record | None, after: Record) -> list[Write]:
    was, will = _letter(before) if before else None, _letter(after)
    unchanged = Equals("version", before.version) if before else Absent()
    put = Put(keys.record(after.place, will, after.id), stored(after), unchanged if was in (None, will) else None)
    if was in (None, will):
        return [put]
    return [put, Delete(keys.record(after.place, was, after.id), unchanged)]


def _letter(record: Record) -> str:
    return keys.LIVE if record.status is Status.ACTIVE else keys.ENDED


def _fingerprint(place: Place, fingerprint: str, id: str) -> Key:
    return Key("memory", keys.memory_partition(place), f"{keys.FINGERPRINT}{fingerprint}#{id}")


# -- the item's form: what is empty or the default is not stored, id and place are the key's

_PLAIN = ("summary", "kind", "created_at", "source", "content", "memory_key", "occurred_at", "expires_at", "stamp")


def stored(record: Record) -> Item:
    item: Item = {name: value for name in _PLAIN if (value := getattr(record, name)) is not None}
    item |= {"labels": dict(record.labels)} if record.labels else {}
    item |= {"pinned": True} if record.pinned else {}
    item |= {"priority": record.priority} if record.priority != 50 else {}
    item |= {"confidence": record.confidence} if record.confidence != 1 else {}
    item |= {"replaces": list(record.replaces)} if record.replaces else {}
    item |= {"about": list(record.about)} if record.about else {}
    return item | {"version": record.version, "versions": [_stored_version(v) for v in record.versions]}


def _stored_version(version: Version) -> dict[str, Any]:
    stored = {"status": version.status.value, "at": version.written_at, "by": dict(version.written_by)}
    optional = {"replaced_by": version.replaced_by, "confirmed_at": version.confirmed_at}
    return stored | {name: value for name, value in optional.items() if value is not None}


def loaded(id: str, place: Place, item: Item) -> Record:
    plain: dict[str, Any] = {name: item.get(name) for name in _PLAIN}
    return Record(
        id=id,
        place=place,
        labels=item.get("labels", {}),
        pinned=item.get("pinned", False),
        priority=item.get("priority", 50),
        confidence=item.get("confidence", 1.0),
        replaces=tuple(item.get("replaces", ())),
        about=tuple(item.get("about", ())),
        versions=tuple(_loaded_version(n, v) for n, v in enumerate(item["versions"], 1)),
        **plain,
    )


def _loaded_version(number: int, stored: dict[str, Any]) -> Version:
    return Version(
        number,
        Status(stored["status"]),
        stored["at"],
        stored["by"],
        stored.get("replaced_by"),
        stored.get("confirmed_at"),
    )


def _record(row: Row) -> Record:
    return loaded(row.key.sort[2:], keys.place_of(row.key.partition), row.item)


def _parts(item: Item) -> tuple[bytes, ...]:
    size = len(item["vectors"]) // item["parts"]
    return tuple(item["vectors"][n : n + size] for n in range(0, len(item["vectors"]), size))
