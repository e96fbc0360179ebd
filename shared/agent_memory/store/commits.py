"""What a commit writes of records: each put or moved, who holds the keys, what preview hides, the boards, and what the
index has to show of it. Everything is conditional on the state that `Settled` was made from, so that of two writers at
once one looks again (TU-8, RC-7).

A change takes three actions as a rule: a new record, its fingerprint and its key; or an ended one put, taken away from
where it was, and its key given back or not. With 15 changes by tools, all their keys contested at the last moment,
that is 75; the rest of the hundred (DynamoDB) is for the turn, its boards, marks and messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from agent_memory.domain.ports import Absent, Check, Delete, Equals, Item, Put, Write
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board, Noted, Settled

from . import keys
from .record_items import letter_of, stored


def commit_writes(settled: Settled, fingerprints: Mapping[str, str], commit_id: str) -> list[Write]:
    """fingerprints: of new records, by id. At most one action for each key."""
    writes: list[Write] = []
    touched: dict[Place, list[str]] = {}
    for id, record in settled.after.items():
        writes += _moves(settled.before.get(id), record)
        touched.setdefault(record.place, []).append(id)
        if id not in settled.before and (fingerprint := fingerprints.get(id)):
            writes.append(Put(keys.fingerprint(record.place, fingerprint, id), {}))
    writes += [*_holders(settled), *_hidden(settled), *_boards(settled)]
    writes += [Put(keys.not_yet(place, commit_id), {"ids": ids}) for place, ids in touched.items()]
    if touched:
        changed = {keys.memory_partition(place): ids for place, ids in touched.items()}
        writes.append(Put(keys.unindexed(commit_id), {"changed": changed}))
    return writes


def _moves(before: Record | None, after: Record) -> list[Write]:
    was, will = letter_of(before) if before else None, letter_of(after)
    unchanged = Equals("version", before.version) if before else Absent()
    put = Put(keys.record(after.place, will, after.id), stored(after), unchanged if was in (None, will) else None)
    if was is None or was == will:
        return [put]
    return [put, Delete(keys.record(after.place, was, after.id), unchanged)]


def _holders(settled: Settled) -> list[Write]:
    writes: list[Write] = []
    for (place, memory_key), id in settled.holders.items():
        before = settled.standing.holders.get((place, memory_key))
        unchanged = Equals("id", before) if before else Absent()
        key = keys.holder(place, memory_key)
        writes.append(Put(key, {"id": id}, unchanged) if id else Delete(key, unchanged))
    return writes


def _hidden(settled: Settled) -> list[Write]:
    """One row for each preview record that hides something, however much, and a count of the changes in each place: two
    turns that hide one live record at once meet there, whatever the scopes of their records."""
    if not settled.hidden:
        return []
    writes: list[Write] = []
    for hidden in dict.fromkeys(settled.hidden.values()):
        ids = [id for id, one in settled.hidden.items() if one == hidden]
        ends = {"ends_at": hidden.ends_at} if hidden.ends_at else {}
        writes.append(Put(keys.hides(hidden.place, hidden.by), {"ids": ids, **ends}))
    touched = {hidden.place for hidden in settled.hidden.values()}
    for place in touched | set(settled.standing.hiding):
        changes = settled.standing.hiding.get(place, 0)
        key, same = keys.changes_of_hiding(place), Equals("changes", changes) if changes else Absent()
        writes.append(Put(key, {"changes": changes + 1}, same) if place in touched else Check(key, same))
    return writes


def _boards(settled: Settled) -> list[Write]:
    before = settled.standing.boards
    puts: list[Write] = [
        Put(keys.board(place), board_item(board), _same(before[place])) for place, board in settled.boards.items()
    ]
    return [*puts, *(Check(keys.board(place), _same(before[place])) for place in settled.fences)]


def binding_writes(place: Place, board: Board, records: Sequence[Record], now: datetime) -> list[Write]:
    """These live records of the place stand on its board as constraints, if all are as they were read."""
    new = [record for record in records if record.id not in board.constraints]
    put = Put(keys.board(place), board_item(board.following((), constraints=new, now=now)), _same(board))
    return [put, *(Check(keys.record(place, keys.LIVE, r.id), Equals("version", r.version)) for r in new)]


def _same(board: Board) -> Equals | Absent:
    return Equals("version", board.version) if board.version else Absent()


def board_item(board: Board) -> Item:
    return {
        "version": board.version,
        "pinned": {id: _noted(noted) for id, noted in board.pinned.items()},
        "constraints": {id: _noted(noted) for id, noted in board.constraints.items()},
    }


def _noted(noted: Noted) -> list[str | None]:
    return [noted.memory_key, noted.ends_at]
