"""Records in the memory table: where each kind of record lies, and what one commit writes.

A live record lies under its own letter and moves when it ends, so no reader of live records pages through the dead.
Reads give `Record`s whatever their expiry: `is_active` is the reader's to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_memory.domain.ports import Absent, Delete, Equals, Item, Key, Put, Row, Table, Write
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Settled

from . import keys

BACKLOG = 100  # unindexed changes of one place that a search ranks along (RK-8)


@dataclass(frozen=True, slots=True)
class Unindexed:
    """What one commit changed in one place and the index has not shown yet."""

    key: Key
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A live record with its vectors; none where it was not embedded."""

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

    def with_vectors(self, places: Mapping[str, Place], model: str) -> dict[str, Stored]:
        """Live records with their vectors, one read."""
        wanted = [keys.record(place, keys.LIVE, id) for id, place in places.items()]
        wanted += [keys.vector(place, id, model) for id, place in places.items()]
        return _joined([Row(*row) for row in self._table.get_many(wanted).items()])

    def vectors(self, places: Mapping[str, Place], model: str) -> dict[str, tuple[bytes, ...]]:
        found = self._table.get_many(keys.vector(place, id, model) for id, place in places.items())
        return {key.sort.split("#")[1]: _parts(item) for key, item in found.items()}

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
        rows = self._table.query(
            "memory", agent_id, prefix=keys.POINTER, newest_first=True, after=after, limit=limit
        )
        return {row.key.sort.removeprefix(keys.POINTER): keys.place_of(row.item["partition"]) for row in rows}

    def everything(self, place: Place, model: str) -> list[Stored]:
        """All live records of a place with their vectors, for a rebuild of the index."""
        partition = keys.memory_partition(place)
        rows = [r for letter in (keys.LIVE, keys.VECTOR) for r in self._table.query("memory", partition, prefix=letter)]
        return list(_joined([r for r in rows if not _of_other_model(r, model)]).values())

    def unindexed(self, place: Place) -> list[Unindexed]:
        """The newest commits that the index has not shown, newest first; one more than `BACKLOG` where there are more."""
        rows = self._table.query(
            "memory", keys.memory_partition(place), prefix=keys.UNINDEXED, newest_first=True, limit=BACKLOG + 1
        )
        return [Unindexed(row.key, tuple(row.item["ids"])) for row in rows]

    def twin(self, place: Place, fingerprint: str) -> str | None:
        """The id of the record that last brought exactly these fields here; it may have ended since."""
        item = self._table.get(_fingerprint(place, fingerprint))
        return item["id"] if item else None

    # -- writing

    def put_vectors(self, vectors: Mapping[str, Sequence[bytes]], places: Mapping[str, Place], model: str) -> None:
        puts = [Put(keys.vector(places[id], id, model), _vector_item(parts)) for id, parts in vectors.items() if parts]
        if puts:
            self._table.write_many(puts)

    def forget_pointers(self, agent_id: str, ids: Iterable[str]) -> None:
        """Of records that never came to be."""
        self._table.write_many([Delete(keys.pointer(agent_id, id)) for id in ids])

    def indexed(self, done: Iterable[Key]) -> None:
        """The index shows these commits."""
        self._table.write_many([Delete(key) for key in done])

    def writes(self, settled: Settled, fingerprints: Mapping[str, str], commit_id: str) -> list[Write]:
        """What a commit writes of records: each put or moved, its fingerprint, and one `Unindexed` for each place.

        Every changed record is conditional on the version that `settled` was made from."""
        writes: list[Write] = []
        touched: dict[Place, list[str]] = {}
        for id, record in settled.after.items():
            writes += _moves(settled.before.get(id), record)
            touched.setdefault(record.place, []).append(id)
            if fingerprint := fingerprints.get(id):
                writes.append(Put(_fingerprint(record.place, fingerprint), {"id": id}))
        for place, ids in touched.items():
            writes.append(Put(keys.record(place, keys.UNINDEXED, commit_id), {"ids": ids}))
        return writes


def pointer_write(agent_id: str, record: Record) -> Put:
    """Staged together with the record itself: a commit has no room for it."""
    return Put(keys.pointer(agent_id, record.id), {"partition": keys.memory_partition(record.place)})


def _moves(before: Record | None, after: Record) -> list[Write]:
    was, will = _letter(before) if before else None, _letter(after)
    unchanged = Equals("version", before.version) if before else Absent()
    put = Put(keys.record(after.place, will, after.id), stored(after), unchanged if was in (None, will) else None)
    if was in (None, will):
        return [put]
    return [put, Delete(keys.record(after.place, was, after.id), unchanged)]


def _letter(record: Record) -> str:
    return keys.LIVE if record.status is Status.ACTIVE else keys.ENDED


def _fingerprint(place: Place, fingerprint: str) -> Key:
    return Key("memory", keys.memory_partition(place), keys.FINGERPRINT + fingerprint)


# -- the item's form: what is empty or the default is not stored, id and place are the key's

_PLAIN = ("summary", "kind", "created_at", "source", "content", "occurred_at", "expires_at", "stamp")


def stored(record: Record) -> Item:
    item: Item = {name: value for name in _PLAIN if (value := getattr(record, name)) is not None}
    item |= {"labels": dict(record.labels)} if record.labels else {}
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
    plain = {name: item.get(name) for name in _PLAIN}
    return Record(
        id=id,
        place=place,
        labels=item.get("labels", {}),
        priority=item.get("priority", 50),
        confidence=item.get("confidence", 1.0),
        replaces=tuple(item.get("replaces", ())),
        about=tuple(item.get("about", ())),
        versions=tuple(_loaded_version(n, v) for n, v in enumerate(item["versions"], 1)),
        **plain,
    )


def _loaded_version(number: int, stored: dict[str, Any]) -> Version:
    return Version(
        number, Status(stored["status"]), stored["at"], stored["by"], stored.get("replaced_by"), stored.get("confirmed_at")
    )


def _record(row: Row) -> Record:
    return loaded(row.key.sort[2:], keys.place_of(row.key.partition), row.item)


def _vector_item(parts: Sequence[bytes]) -> Item:
    return {"parts": len(parts), "vectors": b"".join(parts)}


def _parts(item: Item) -> tuple[bytes, ...]:
    size = len(item["vectors"]) // item["parts"]
    return tuple(item["vectors"][n : n + size] for n in range(0, len(item["vectors"]), size))


def _of_other_model(row: Row, model: str) -> bool:
    return row.key.sort.startswith(keys.VECTOR) and row.key.sort.split("#", 2)[2] != model


def _joined(rows: Sequence[Row]) -> dict[str, Stored]:
    vectors = {r.key.sort.split("#")[1]: _parts(r.item) for r in rows if r.key.sort.startswith(keys.VECTOR)}
    live = [_record(r) for r in rows if r.key.sort.startswith(keys.LIVE)]
    return {record.id: Stored(record, vectors.get(record.id, ())) for record in live}
