"""A staged change as an item of the execution table: a record as it will be, the partitions of all that it names."""

from __future__ import annotations

from typing import assert_never

from agent_memory.domain.ports import Item
from agent_memory.domain.records import Record, Status
from agent_memory.domain.staging import Confirm, Dropped, Hide, Remove, Save, Staged

from . import keys, record_items


def staged_item(change: Staged) -> Item:
    decided = {"decided": dict(change.decided)} if change.decided is not None else {}
    match change:
        case Save():
            places = {id: keys.memory_partition(place) for id, place in change.places.items()}
            counted = {"holders": list(change.holders), "supersedes": change.supersedes, **decided}
            return {"op": "save", **_new(change.record), "given_end": change.given_end, "places": places, **counted}
        case Hide():
            target = {"target": keys.memory_partition(change.target), "seen": change.seen.value}
            return {"op": "hide", **_new(change.record), **target, **decided}
        case Remove():
            return {"op": "remove", **_where(change), "seen": change.seen.value, **decided}
        case Confirm():
            return {"op": "confirm", **_where(change)}
        case Dropped():
            return {"op": "dropped"}
        case _:
            assert_never(change)


def staged_change(item: Item) -> Staged:
    """And back."""
    if item["op"] == "dropped":
        return Dropped()
    place, decided = keys.place_of(item["partition"]), item.get("decided")
    if item["op"] == "confirm":
        return Confirm(item["id"], place, item["by"])
    if item["op"] == "remove":
        return Remove(item["id"], place, Status(item["seen"]), item["by"], decided)
    record = record_items.loaded(item["id"], place, item)
    if item["op"] == "hide":
        return Hide(record, keys.place_of(item["target"]), Status(item["seen"]), decided)
    places = {id: keys.place_of(partition) for id, partition in item["places"].items()}
    return Save(record, places, item["given_end"], tuple(item["holders"]), item["supersedes"], decided)


def _new(record: Record) -> Item:
    return record_items.stored(record) | {"id": record.id, "partition": keys.memory_partition(record.place)}


def _where(change: Remove | Confirm) -> Item:
    return {"id": change.id, "partition": keys.memory_partition(change.place), "by": dict(change.by)}
