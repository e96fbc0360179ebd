"""Turns in the execution table: the attempt, its messages, its transcript and what it has staged."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from agent_memory.domain.errors import ConditionFailed, TooLarge
from agent_memory.domain.ports import Absent, AllOf, Check, Delete, Equals, Item, Put, Row, Table, Write
from agent_memory.domain.records import Status
from agent_memory.domain.scopes import TurnIds
from agent_memory.domain.staging import Remove, Save, Staged
from agent_memory.domain.turns import Turn, TurnStatus, not_open

from . import keys
from . import records as record_items

CHUNK_BYTES = 300_000  # of messages in one item, before compression: well below the 400 KB of an item
MESSAGES_BYTES = 3_900_000  # of one call, compressed: one transaction takes 4 MB


class Turns:
    def __init__(self, table: Table) -> None:
        self._table = table

    # -- the attempt

    def get(self, agent_id: str, turn_id: str) -> Turn | None:
        item = self._table.get(keys.turn(agent_id, turn_id))
        return _turn(agent_id, turn_id, item) if item else None

    def enter(self, agent_id: str, turn_id: str, events: int, messages: int = 0) -> Turn | None:
        """Read an open turn and reserve sequence numbers for `events` events: the last of them is `turn.sequence`.

        None where there is no such turn; raises `Conflict` (turn_not_open) where it is not open."""
        counters = {"sequence": events} | ({"messages": messages} if messages else {})
        try:
            item = self._table.increment(keys.turn(agent_id, turn_id), counters, condition=_OPEN)
        except ConditionFailed as failed:
            standing = failed.current[0]
            if standing is None:
                return None
            raise not_open(_turn(agent_id, turn_id, standing)) from failed
        return _turn(agent_id, turn_id, item)

    def change(self, before: Turn, after: Turn) -> Put:
        """The attempt's next state, if nothing has entered it since `before` was read."""
        same = AllOf((Equals("status", before.status.value), Equals("sequence", before.sequence)))
        return Put(keys.turn(after.agent_id, after.turn_id), _stored(after), same)

    def still_open(self, turn: Turn) -> Check:
        return Check(keys.turn(turn.agent_id, turn.turn_id), _OPEN)

    # -- sessions and attempts

    def last_number(self, ids: TurnIds) -> int:
        item = self._table.get(keys.session(ids))
        return item["number"] if item else 0

    def take_number(self, ids: TurnIds, number: int) -> Put:
        """Numbers are taken one by one, so none is used twice or left out."""
        condition = Equals("number", number - 1) if number > 1 else Absent()
        return Put(keys.session(ids), {"number": number}, condition)

    def newest_attempt(self, agent_id: str, first_turn_id: str) -> str:
        item = self._table.get(keys.newest_attempt(agent_id, first_turn_id))
        return item["turn_id"] if item else first_turn_id

    def take_attempt(self, turn: Turn, previous: str) -> Put:
        condition = Equals("turn_id", previous) if previous != turn.first_turn_id else Absent()
        return Put(keys.newest_attempt(turn.agent_id, turn.first_turn_id), {"turn_id": turn.turn_id}, condition)

    def begin(self, turn: Turn) -> list[Put]:
        """The attempt, and its place on the list of open turns."""
        begun = Put(keys.turn(turn.agent_id, turn.turn_id), _stored(turn), Absent())
        return [begun, Put(keys.open_turn(turn.turn_id), {"agent_id": turn.agent_id})]

    # -- the list of open turns

    def closed(self, turn_id: str) -> Delete:
        """Goes with every write that ends the turn."""
        return Delete(keys.open_turn(turn_id))

    def longest_open(self, *, limit: int) -> list[tuple[str, str]]:
        """(agent, turn) of open turns, the oldest `limit` of each shard, oldest first."""
        shards = [keys.open_partition(shard) for shard in range(keys.SHARDS)]
        rows = [row for shard in shards for row in self._table.query("execution", shard, limit=limit)]
        return [(row.item["agent_id"], row.key.sort) for row in sorted(rows, key=lambda row: row.key.sort)]

    # -- staged changes

    def staged(self, agent_id: str, turn_id: str) -> list[Staged]:
        """The log, in order."""
        rows = self._table.query("execution", keys.turn_partition(agent_id, turn_id), prefix=keys.STAGED)
        return [_staged(row.item) for row in rows]

    def nothing_staged_behind(self, turn: Turn, count: int) -> Check:
        """The log still has `count` entries: a call that entered before the commit has not staged since."""
        return Check(keys.staged(turn.agent_id, turn.turn_id, count + 1), Absent())

    def stage(self, turn: Turn, number: int, change: Staged) -> Put:
        """The log's entry `number`, from 1; fails where another call was faster."""
        return Put(keys.staged(turn.agent_id, turn.turn_id, number), _staged_item(change), Absent())

    def forget_staged(self, turn: Turn, count: int) -> list[Delete]:
        """At the end: what was staged is written, or never will be."""
        return [Delete(keys.staged(turn.agent_id, turn.turn_id, n)) for n in range(1, count + 1)]

    # -- transcript

    def events(self, turn: Turn, first: int, events: Sequence[Mapping[str, Any]]) -> list[Put]:
        """Events of one call, with consecutive numbers from `first`."""
        return [Put(keys.events(turn.agent_id, turn.turn_id, first), {"packed": _packed(events)})]

    def messages(self, turn: Turn, first: int, messages: Sequence[Mapping[str, Any]]) -> list[Put]:
        """Messages with consecutive numbers from `first`, in chunks."""
        puts: list[Put] = []
        for chunk in _chunks(messages):
            puts.append(Put(keys.messages(turn.agent_id, turn.turn_id, first), {"packed": _packed(chunk)}))
            first += len(chunk)
        if sum(len(put.item["packed"]) for put in puts) > MESSAGES_BYTES:
            raise TooLarge("These messages do not fit one call: send fewer at a time.")
        return puts

    def transcript(
        self, agent_id: str, turn_id: str, *, after: int, limit: int, types: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Events behind sequence number `after`, in order, of these types (none: all), at most `limit`."""
        prefixes = [keys.MESSAGES] if not types or "message" in types else []
        prefixes += [keys.EVENTS] if set(types) != {"message"} else []
        found = [e for prefix in prefixes for e in self._events_after(agent_id, turn_id, prefix, after, limit, types)]
        return sorted(found, key=lambda event: event["sequence"])[:limit]

    def _events_after(
        self, agent_id: str, turn_id: str, prefix: str, after: int, limit: int, types: Sequence[str]
    ) -> list[dict[str, Any]]:
        partition = keys.turn_partition(agent_id, turn_id)
        found: list[dict[str, Any]] = []
        start = self._item_before(partition, prefix, after) if after else None
        while len(found) < limit:
            rows = self._table.query("execution", partition, prefix=prefix, after=start, limit=limit)
            found += [
                e for r in rows for e in _events(r) if e["sequence"] > after and (not types or e["type"] in types)
            ]
            if len(rows) < limit:
                break
            start = rows[-1].key.sort
        return found[:limit]

    def _item_before(self, partition: str, prefix: str, sequence: int) -> str | None:
        """The sort key to begin behind: the item that holds `sequence` may hold more than that one."""
        behind = f"{prefix}{sequence + 1:08}"
        rows = self._table.query("execution", partition, prefix=prefix, newest_first=True, after=behind, limit=2)
        return rows[1].key.sort if len(rows) > 1 else None

    # -- writing

    def transact(self, writes: Sequence[Write]) -> None:
        self._table.transact(writes)

    def write(self, writes: Sequence[Put | Delete]) -> None:
        """Outside a transaction: what nothing else depends on."""
        self._table.write_many(writes)


_OPEN = Equals("status", TurnStatus.OPEN.value)
_FIELDS = [f.name for f in fields(Turn) if f.name not in ("agent_id", "turn_id")]


def _stored(turn: Turn) -> Item:
    values = {name: getattr(turn, name) for name in _FIELDS}
    values |= {"status": turn.status.value, "memories": list(turn.memories), "conflicts": list(turn.conflicts)}
    return {name: value for name, value in values.items() if value is not None and value != []}


def _turn(agent_id: str, turn_id: str, item: Item) -> Turn:
    values = {name: item[name] for name in _FIELDS if name in item}
    return replace(Turn(agent_id, turn_id, **values), status=TurnStatus(item["status"]))


def _staged_item(change: Staged) -> Item:
    if isinstance(change, Save):
        record = change.record
        item = record_items.stored(record) | {"op": "save", "id": record.id, "fingerprint": change.fingerprint}
        item |= {"partition": keys.memory_partition(record.place)}
        return item | {"places": {id: keys.memory_partition(place) for id, place in change.places.items()}}
    where = {"id": change.id, "partition": keys.memory_partition(change.place)}
    return {"op": "remove", **where, "seen": change.seen.value, "by": dict(change.by)}


def _staged(item: Item) -> Staged:
    place = keys.place_of(item["partition"])
    if item["op"] == "remove":
        return Remove(item["id"], place, Status(item["seen"]), item["by"])
    places = {id: keys.place_of(partition) for id, partition in item["places"].items()}
    record = record_items.loaded(item["id"], place, item)
    return Save(record, places, item["fingerprint"])


def _chunks(messages: Sequence[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    chunk: list[Mapping[str, Any]] = []
    size = 0
    for message in messages:
        length = len(json.dumps(message, ensure_ascii=False).encode())
        if chunk and size + length > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(message)
        size += length
    if chunk:
        yield chunk


def _events(row: Row) -> list[dict[str, Any]]:
    events = json.loads(zlib.decompress(row.item["packed"]))
    return [{"sequence": n, **event} for n, event in enumerate(events, int(row.key.sort[2:]))]


def _packed(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Compressed JSON: a call's input may be nested deeper than the 32 levels of a DynamoDB item."""
    return zlib.compress(json.dumps(events, ensure_ascii=False).encode(), 1)
