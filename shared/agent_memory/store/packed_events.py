"""Events of a transcript as they lie in an item: those of one call together, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_memory.domain.ports import Row

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


def packed(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Compressed JSON: a call's input may be nested deeper than the 32 levels of a DynamoDB item."""
    return zlib.compress(json.dumps(events, ensure_ascii=False).encode(), 1)
