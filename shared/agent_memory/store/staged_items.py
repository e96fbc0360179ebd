"""A staged change as an item of the execution table: a record as it will be, the partitions of all that it names."""

from __future__ import annotations

from agent_memory.domain.ports import Item
from agent_memory.domain.records import Record, Status
from agent_memory.domain.staging import Hide, Remove, Save, Staged

from . import keys, record_items


def staged_item(change: Staged) -> Item:
    match change:
        case Save():
            places = {id: keys.memory_partition(place) for id, place in change.places.items()}
            counted = {"holders": list(change.holders), "supersedes": change.supersedes}
            return {"op": "save", **_new(change.record), "given_end": change.given_end, "places": places, **counted}
        case Hide():
            target = {"target": keys.memory_partition(change.target), "seen": change.seen.value}
            return {"op": "hide", **_new(change.record), **target}
        case Remove():
            where = {"id": change.id, "partition": keys.memory_partition(change.place)}
            return {"op": "remove", **where, "seen": change.seen.value, "by": dict(change.by)}


def staged_change(item: Item) -> Staged:
    """And back."""
    place = keys.place_of(item["partition"])
    if item["op"] == "remove":
        return Remove(item["id"], place, Status(item["seen"]), item["by"])
    record = record_items.loaded(item["id"], place, item)
    if item["op"] == "hide":
        return Hide(record, keys.place_of(item["target"]), Status(item["seen"]))
    places = {id: keys.place_of(partition) for id, partition in item["places"].items()}
    return Save(record, places, item["given_end"], tuple(item["holders"]), item["supersedes"])


def _new(record: Record) -> Item:
    return record_items.stored(record) | {"id": record.id, "partition": keys.memory_partition(record.place)}
