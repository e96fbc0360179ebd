"""The history of sessions in the execution table: which messages of each turn are kept, what the index has not shown of
them, and their vectors. The messages themselves lie with their turn, and nowhere else.

Leaves to `domain/history.py` what of a message is kept, and to `domain/history_parts.py` what the index knows it by.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from agent_memory.domain.history import HistoryPlace, KeptMessage, KeptTurn
from agent_memory.domain.history_parts import within_turn
from agent_memory.domain.ports import Delete, Item, Key, Put, Row, Table, Write
from agent_memory.domain.times import instant

from . import keys
from .packed_events import events_of, messages_in

_ROW_BYTES = 250_000  # of vectors in one item, well below its 400 KB
_VECTOR_ROWS = 16  # of a page
_PAGE = 500  # rows of kept turns: some hundred KB
MAX_NUMBER = 9_999_999_999  # of a turn in a sort key
_MARGIN = timedelta(days=7)
TurnRef = tuple[HistoryPlace, int]
"""Whose history, and the turn's number in it."""


class Ended(NamedTuple):
    """A turn whose history is over. row: where the list says so."""

    place: HistoryPlace
    number: int
    row: Key


class History:
    def __init__(self, table: Table) -> None:
        self._table = table

    # -- which messages are kept

    def keep(self, turn: KeptTurn, mark: str) -> list[Write]:
        """Goes with the commit. mark: an id of its own, for the row that tells the index."""
        told = [turn.place.agent_id, turn.place.session_id, turn.place.preview, turn.number]
        ends = [Put(keys.expiring_turn(turn.ends_at, turn.place, turn.number), {})] if turn.ends_at else []
        return [
            *ends,
            Put(keys.kept_turn(turn.place, turn.number), _item(turn)),
            Put(keys.kept_not_yet(turn.place, turn.number), {}),
            Put(keys.unindexed(mark), {"history": told}),
        ]

    def several(self, place: HistoryPlace, numbers: Iterable[int]) -> dict[int, KeptTurn]:
        by_key = {keys.kept_turn(place, number): number for number in numbers}
        return {by_key[key]: _turn(place, Row(key, item)) for key, item in self._table.get_many(by_key).items()}

    def newest(self, place: HistoryPlace, *, before: int, limit: int) -> list[KeptTurn]:
        """Turns of a lower number than `before`, the greatest first."""
        prefix, bound = keys.kept_turn(place), keys.kept_turn(place, before)
        rows = self._table.query(
            "execution", prefix.partition, prefix=prefix.sort, newest_first=True, after=bound.sort, limit=limit
        )
        return [_turn(place, row) for row in rows]

    def newest_first(self, place: HistoryPlace, *, before: int = MAX_NUMBER) -> Iterator[KeptTurn]:
        """All of them, a page at a time."""
        while page := self.newest(place, before=before, limit=_PAGE):
            yield from page
            before = page[-1].number

    # -- the messages

    def messages(self, turn: KeptTurn) -> Iterator[dict[str, Any]]:
        """All messages of the turn, kept or not, in order, each with its sequence number; read as they are asked
        for."""
        return messages_in(self._table, keys.turn_partition(turn.place.agent_id, turn.turn_id))

    def messages_at(self, turn: KeptTurn, sequences: Collection[int]) -> dict[int, dict[str, Any]]:
        """Those of these numbers that are there. Each read gives a chunk, so what lies together is read once."""
        found: dict[int, dict[str, Any]] = {}
        asked: set[int] = set()
        for sequence in sorted(sequences):
            if sequence not in asked:
                chunk = self._chunk(turn, sequence)
                found |= {event["sequence"]: event for event in chunk}
                asked |= {sequence, *found}
        return {sequence: found[sequence] for sequence in sequences if sequence in found}

    def _chunk(self, turn: KeptTurn, sequence: int) -> list[dict[str, Any]]:
        partition, behind = keys.messages(turn.place.agent_id, turn.turn_id, sequence + 1)[1:]
        rows = self._table.query("execution", partition, prefix=keys.MESSAGES, newest_first=True, after=behind, limit=1)
        return [event for row in rows for event in events_of(row)]

    # -- what the index has not shown

    def ahead(self, place: HistoryPlace, *, before: int, limit: int) -> list[int]:
        """Numbers of turns that the index has not shown, the greatest first."""
        prefix, bound = keys.kept_not_yet(place), keys.kept_not_yet(place, before)
        rows = self._table.query(
            "execution", prefix.partition, prefix=prefix.sort, newest_first=True, after=bound.sort, limit=limit
        )
        return [int(row.key.sort.removeprefix(prefix.sort)) for row in rows]

    def indexed(self, turns: Iterable[TurnRef]) -> None:
        self._table.write_many([Delete(keys.kept_not_yet(*turn)) for turn in turns])

    # -- removing

    def due(self, now: datetime, *, limit: int) -> list[Ended]:
        """Turns whose time in history is over, the oldest of each shard of their list."""
        found: list[Ended] = []
        for shard in range(keys.SHARDS):
            for row in self._table.query("memory", keys.expiring_turns(shard), limit=limit):
                ends_at, _, rest = row.key.sort.partition("#")
                if instant(ends_at) > now:
                    break
                partition, _, number = rest.rpartition("#")
                found.append(Ended(keys.history_place_of(partition), int(number), row.key))
        return found

    def remove(self, ended: Ended, turn: KeptTurn | None, model: str) -> None:
        """All that leads to its messages; the row of the list last, so that what is cut off is done again."""
        gone = [keys.kept_turn(ended.place, ended.number), keys.kept_not_yet(ended.place, ended.number)]
        gone.append(keys.unembedded_turn(ended.place, ended.number))
        if turn:
            prefix = keys.kept_vectors(turn.place, model, turn.number)
            gone += [row.key for row in self._table.query("execution", prefix.partition, prefix=prefix.sort)]
        self._table.write_many([Delete(key) for key in gone])
        self._table.write_many([Delete(ended.row)])

    # -- vectors

    def put_vectors(self, turn: KeptTurn, model: str, vectors: Mapping[str, Sequence[bytes]]) -> None:
        """Of some parts of one turn, by their ids; none of a part that the model refused."""
        puts = []
        for row in _rows(vectors):
            counts = [[id, len(vectors[id])] for id in row]
            packed = b"".join(vector for id in row for vector in vectors[id])
            span = within_turn(row[0]) + within_turn(row[-1])  # of two writers at once none takes the other's away
            key = keys.kept_vectors(turn.place, model, turn.number, span)
            puts.append(Put(key, {"parts": counts, "vectors": packed, **_end(turn.ends_at)}))
        self._table.write_many(puts)

    def vectors(self, turn: KeptTurn, model: str) -> dict[str, tuple[bytes, ...]]:
        """By the ids of the parts that the model was asked about; empty where it refused one."""
        prefix = keys.kept_vectors(turn.place, model, turn.number)
        rows = self._table.query("execution", prefix.partition, prefix=prefix.sort)
        return {id: several for row in rows for id, several in _vectors(row.item)}

    def vectors_in(self, partition: str, model: str) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """All vectors of a history by that model, as the index knows it; read a page at a time."""
        prefix = keys.kept_vectors(keys.history_place_of(partition), model)
        after: str | None = None
        while rows := self._table.query(
            "execution", prefix.partition, prefix=prefix.sort, after=after, limit=_VECTOR_ROWS
        ):
            yield from (found for row in rows for found in _vectors(row.item))
            after = rows[-1].key.sort

    def wait_for_embedding(self, turns: Iterable[TurnRef]) -> None:
        self._table.write_many([Put(keys.unembedded_turn(*turn), {}) for turn in turns])

    def unembedded(self, *, limit: int) -> list[TurnRef]:
        """Turns some parts of which wait for the model, at most `limit` of each shard."""
        shards = [keys.unembedded_turns(shard) for shard in range(keys.SHARDS)]
        rows = [row for shard in shards for row in self._table.query("memory", shard, limit=limit)]
        parted = [row.key.sort.rpartition("#") for row in rows]
        return [(keys.history_place_of(partition), int(number)) for partition, _, number in parted]

    def embedded(self, turns: Iterable[TurnRef]) -> None:
        self._table.write_many([Delete(keys.unembedded_turn(*turn)) for turn in turns])


def ref_of(told: Sequence[Any]) -> TurnRef:
    """The turn that a row for the index tells of."""
    agent_id, session_id, preview, number = told
    return HistoryPlace(agent_id, session_id, preview), number


def _item(turn: KeptTurn) -> Item:
    told = json.dumps([list(message) for message in turn.messages])
    item: Item = {
        "turn_id": turn.turn_id,
        "execution_id": turn.execution_id,
        "keeps": turn.keeps,
        "commits": turn.commits,
        "messages": zlib.compress(told.encode()),  # 2,000 of them take 60 KB
    }
    return item | _end(turn.ends_at) | ({"ends_at": turn.ends_at} if turn.ends_at else {})


def _turn(place: HistoryPlace, row: Row) -> KeptTurn:
    item = row.item
    messages = [KeptMessage(*told) for told in json.loads(zlib.decompress(item["messages"]))]
    number = int(row.key.sort.rpartition("#")[2])
    named = (item["turn_id"], item["execution_id"], item["keeps"], item["commits"])
    return KeptTurn(place, number, *named, messages, item.get("ends_at"))


def _end(ends_at: str | None) -> Item:
    """When the table lets go of a row by itself. Readers keep to `ends_at`, and upkeep removes what has ended, in the
    index too, as long as the row says what that is."""
    return {keys.EXPIRES: math.ceil((instant(ends_at) + _MARGIN).timestamp())} if ends_at else {}


def _rows(vectors: Mapping[str, Sequence[bytes]]) -> Iterator[list[str]]:
    """Ids, as many to a row as their vectors leave room for."""
    row: list[str] = []
    size = 0
    for id, several in vectors.items():
        length = sum(map(len, several))
        if row and size + length > _ROW_BYTES:
            yield row
            row, size = [], 0
        row.append(id)
        size += length
    if row:
        yield row


def _vectors(item: Item) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    total = sum(count for _, count in item["parts"])
    size, start = (len(item["vectors"]) // total if total else 0), 0
    for id, count in item["parts"]:
        end = start + count * size
        yield id, tuple(item["vectors"][at : at + size] for at in range(start, end, size or 1))
        start = end
