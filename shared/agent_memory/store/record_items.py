"""A record as an item of the memory table: what is empty or the default is not stored, id and place are the key's."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.ports import Item, Row
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.scopes import Place

from . import keys

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


def letter_of(record: Record) -> str:
    """Under which letter of its place a record lies: its status says so."""
    return {Status.ACTIVE: keys.LIVE, Status.PENDING: keys.PENDING}.get(record.status, keys.ENDED)


def record_of(row: Row) -> Record:
    return loaded(row.key.sort[2:], keys.place_of(row.key.partition), row.item)
