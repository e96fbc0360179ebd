"""Records whose time is over: which they are, and what is written to remove one with all that leads to it (LC-1).

A record that ends by itself stands on a list from its staging on, under the instant of its end. What a preview
replacement hides stays hidden after it is gone (PV-2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from agent_memory.domain.ports import Delete, Equals, Key, Put, Table, Write
from agent_memory.domain.records import Record, next_stamp
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board, Keyed
from agent_memory.domain.times import instant, written

from . import keys
from .commits import board_item
from .record_items import letter_of


@dataclass(frozen=True, slots=True)
class Due:
    """A record that has ended, or was staged and never came to be. key: its row on the list."""

    id: str
    place: Place
    fingerprint: str | None
    key: Key


def note(record: Record, fingerprint: str | None) -> list[Put]:
    """The record's row on the list; none where it does not end by itself."""
    if record.expires_at is None:
        return []
    key = keys.expiring(written(instant(record.expires_at)), record.id)
    named = {"fingerprint": fingerprint} if fingerprint else {}
    return [Put(key, {"partition": keys.memory_partition(record.place), **named})]


def due(table: Table, now: datetime, *, limit: int) -> list[Due]:
    """The oldest `limit` of each shard of the list, those only whose time is over."""
    found: list[Due] = []
    for shard in range(keys.SHARDS):
        for row in table.query("memory", keys.expiring_partition(shard), limit=limit):
            ends_at, _, id = row.key.sort.partition("#")
            if instant(ends_at) > now:
                break
            place = keys.place_of(row.item["partition"])
            found.append(Due(id, place, row.item.get("fingerprint"), row.key))
    return found


def writes(
    record: Record, one: Due, held: Iterable[Keyed], board: Board, model: str, commit_id: str, now: datetime
) -> list[Write]:
    """Everything that is the record's, on the condition that it stands as it was read. held: keys that it holds; board:
    of its place."""
    place, gone = record.place, {record.id: next_stamp(record.stamp, now)}
    told: list[Write] = [
        Put(keys.unindexed(commit_id), {"changed": {keys.memory_partition(place): [record.id]}, "gone": gone}),
        Put(keys.not_yet(place, commit_id), {"ids": [record.id]}),
    ]
    removed: list[Write] = [
        Delete(keys.record(place, letter_of(record), record.id), Equals("version", record.version)),
        Delete(keys.pointer(place.agent_id, record.id)),
        Delete(keys.vector(place, record.id, model)),
        Delete(one.key),
    ]
    if one.fingerprint:
        removed.append(Delete(keys.fingerprint(place, one.fingerprint, record.id)))
    if record.hides:
        removed.append(Delete(keys.hides(place, record.id)))
    removed += [Delete(keys.holder(*keyed), Equals("id", record.id)) for keyed in held]
    return [*told, *removed, *_off_board(record, board, now)]


def _off_board(record: Record, board: Board, now: datetime) -> list[Write]:
    if record.id not in board.ids:
        return []
    left = board.following({record.id}, now=now)
    return [Put(keys.board(record.place), board_item(left), Equals("version", board.version))]
