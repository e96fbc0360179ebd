"""Items as bytes for the SQLite side: compact JSON, with bytes values kept out of it as they are.

    first byte
    `{`    JSON                                           an item without bytes values
    0x01   4 bytes length, JSON, values                   an item with: JSON of [item, [[length, name, …], …]]; each
                                                          value is null in the item and follows raw, in order
    0x02   raw deflate of the first form                  where it saves space (see `_PACK_FROM`)

Base64 would make a vector of 1,536 bytes 2,048 long, and cost time at each reading.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from ..domain.ports import Item

_RAW, _PACKED = 1, 2
_PACK_FROM = 200  # bytes; what is shorter saves less than the call costs
_WINDOW, _MEMORY, _LEVEL = -11, 4, 6  # 2 KB of window: items are short, and a larger one costs 70 µs more to set up

# What short JSON items have in common; deflate refers to it. Part of the file format: a change needs a new first byte.
# With it a record's item of 700 bytes takes some 200 instead of 430 (deflate alone), for 40 µs to write and 8 to read.
_COMMON = (
    b'{"arguments":{"limit":5,"query":"},"result":{"type":"tool_result","ok":true,"tool":"add_memory"},"search_memory"'
    b'"text":"","role":"assistant","role":"user","error":null,"output":{"records":[{"id":"01","conversation":"agent",'
    b'"number":1,"at":"2026-0","links":{},"expires_ttl":17,"duration_ms":0,"tokens":0,"started_at":"","ended_at":null,'
    b'"agent_id":"","status":"ACTIVE","scope":"agent","scope":"user","scope":"session","session_id":null,'
    b'"workflow_id":null,"user_id":null,"summary":"","content":null,"kind":"fact","labels":{},"memory_key":null,'
    b'"priority":50,"confidence":1,"pinned":false,"preview":false,"replaces":[],"replaced_by":null,"occurred_at":null,'
    b'"expires_at":null,"expired":false,"confirmed_at":null,"about":[],"source":"tool","created_at":"2026-0",'
    b'"stamp":17,"versions":[{"version":1,"status":"ACTIVE","replaced_by":null,"written_at":"2026-0",'
    b'"written_by":{"execution_id":"01","invocation_id":"01","agent_version":1,"session_id":"","workflow_id":null,'
    b'"user_id":null,"turn_id":"01","conversation":"agent","tool_execution_id":"01"}}]}'
)


def _number(digits: str) -> int | float:
    number = float(digits)
    return int(number) if number.is_integer() else number


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode
_from_json = json.JSONDecoder(parse_float=_number).decode


def encode(item: Item) -> bytes:
    """The item as bytes. Its values are those that `limits` let through."""
    try:
        plain = _to_json(item).encode()
    except TypeError:  # which JSON says of bytes: most items have none, and looking for them costs twice as much
        return _with_blobs(item)
    return _pack(plain) if len(plain) >= _PACK_FROM else plain


def _with_blobs(item: Item) -> bytes:
    blobs: list[bytes] = []
    paths: list[list[int | str]] = []
    head = _to_json([_without_bytes(item, [], blobs, paths), paths]).encode()
    return b"".join([bytes([_RAW]), len(head).to_bytes(4, "big"), head, *blobs])


def decode(data: bytes) -> Item:
    """The item; a whole number is an int, as from DynamoDB."""
    if data[0] == _RAW:
        return _with_bytes(data)
    plain = zlib.decompressobj(_WINDOW, _COMMON).decompress(data[1:]) if data[0] == _PACKED else data
    item: Item = _from_json(plain.decode())
    return item


def _pack(plain: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _COMMON)
    packed = deflate.compress(plain) + deflate.flush()
    return bytes([_PACKED]) + packed if len(packed) < len(plain) else plain


def _without_bytes(value: Any, path: list[int | str], blobs: list[bytes], paths: list[list[int | str]]) -> Any:
    """The value with null for each bytes value, which goes to `blobs`, its length and path to `paths`."""
    if isinstance(value, bytes):
        blobs.append(value)
        paths.append([len(value), *path])
        return None
    if isinstance(value, dict):
        return {name: _without_bytes(inner, [*path, name], blobs, paths) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_bytes(inner, [*path, at], blobs, paths) for at, inner in enumerate(value)]
    return value


def _with_bytes(data: bytes) -> Item:
    at = 5 + int.from_bytes(data[1:5], "big")
    item, paths = _from_json(data[5:at].decode())
    for length, *steps, last in paths:
        holder = item
        for step in steps:
            holder = holder[step]
        holder[last] = data[at : at + length]
        at += length
    return item  # type: ignore[no-any-return]
