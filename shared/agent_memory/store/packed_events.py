"""Events of a transcript as they lie in items: those of one call together, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent_memory.domain.ports import Row, Table

from . import keys

_ROWS = 32  # items that are read at a time: 10 MB at most
CHUNK_BYTES = 300_000  # of messages in one item, before compression: well below the 400 KB of an item


def chunks(messages: Sequence[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """In order, as many to an item as go into it."""
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


def events_of(row: Row) -> list[dict[str, Any]]:
    """Those of one item, each with its number: the first has the one in the sort key, behind its letter and a #."""
    events = json.loads(zlib.decompress(row.item["packed"]))
    return [{"sequence": n, **event} for n, event in enumerate(events, int(row.key.sort[2:]))]


def messages_in(table: Table, partition: str) -> Iterator[dict[str, Any]]:
    """All messages of a turn, in order. Read as they are asked for, since a turn may have said hundreds of MB."""
    after: str | None = None
    while True:
        rows = table.query("execution", partition, prefix=keys.MESSAGES, after=after, limit=_ROWS)
        yield from (event for row in rows for event in events_of(row))
        if len(rows) < _ROWS:
            return
        after = rows[-1].key.sort


def packed(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Compressed JSON: a call's input may be nested deeper than the 32 levels of a DynamoDB item."""
    return zlib.compress(json.dumps(events, ensure_ascii=False).encode(), 1)
