"""DynamoDB's quotas and its arithmetic of sizes, which both sides of the `Table` port check before they send.

The one-machine side would store more; it refuses the same, so that what passes there passes in AWS. Raises `TooLarge`
for bytes, `ValueError` or `TypeError` for what no input of a user may cause. Messages hold sizes and never text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..domain.errors import TooLarge
from ..domain.ports import (
    MAX_ACTIONS,
    MAX_ITEM_BYTES,
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    MAX_TRANSACTION_BYTES,
    Delete,
    Item,
    Key,
    Put,
    Write,
)

RESERVED = frozenset({"pk", "sk", "writer"})  # the key attributes and the writer's stamp in DynamoDB
_RESERVED_BYTES = len("pk") + len("sk") + len("writer") + 32  # names, and a stamp of 32 hex digits
_MAX_DEPTH = 32  # nested lists and maps (DynamoDB quota)
_LEAST, _GREATEST = 1e-130, 10**38  # magnitudes; DynamoDB keeps 38 digits, so a whole number below 10**38 is exact


def check_partition(partition: str) -> int:
    """The bytes of a partition key, which must be 1 to 2,048 in UTF-8."""
    return _key_bytes(partition, MAX_PARTITION_BYTES, "partition")


def check_key(key: Key) -> int:
    """The bytes of both parts of a key."""
    return check_partition(key.partition) + _key_bytes(key.sort, MAX_SORT_BYTES, "sort")


def _key_bytes(text: str, limit: int, part: str) -> int:
    size = _text_bytes(text)
    if not size:
        raise ValueError(f"empty {part} key")
    if size > limit:
        raise TooLarge(f"a {part} key of {size} bytes: at most {limit}")
    return size


def check_query(partition: str, prefix: str, after: str | None) -> None:
    """Hold the keys of a query to the quotas; `prefix` and `after` may be empty."""
    check_partition(partition)
    for text in (prefix, after):
        if text:
            _key_bytes(text, MAX_SORT_BYTES, "sort")


def check_counters(counters: Mapping[str, int]) -> None:
    if not counters or not RESERVED.isdisjoint(counters) or "" in counters:
        raise ValueError("an increment names at least one attribute, and none that is reserved")


def check_put(key: Key, item: Item) -> int:
    """The bytes that the item takes in DynamoDB, key and stamp included: at most 400 KB."""
    if not RESERVED.isdisjoint(item):
        raise ValueError(f"reserved attribute names: {sorted(RESERVED)}")
    size = check_key(key) + _RESERVED_BYTES
    for name, value in item.items():
        size += _name_bytes(name) + value_bytes(value)
    if size > MAX_ITEM_BYTES:
        raise TooLarge(f"an item of {size} bytes: at most {MAX_ITEM_BYTES}")
    return size


def check_transaction(writes: Sequence[Write]) -> Put:
    """Hold a transaction to all quotas. Gives its first `Put`, which names the writer."""
    if len(writes) > MAX_ACTIONS:
        raise ValueError(f"{len(writes)} actions in a transaction: at most {MAX_ACTIONS}")
    if len({write.key for write in writes}) < len(writes):
        raise ValueError("two actions on one key")
    size = sum(_write_bytes(write) for write in writes)
    if size > MAX_TRANSACTION_BYTES:
        raise TooLarge(f"a transaction of {size} bytes: at most {MAX_TRANSACTION_BYTES}")
    for write in writes:
        if isinstance(write, Put):
            return write
    raise ValueError("a transaction that puts nothing")


def _write_bytes(write: Write) -> int:
    return check_put(write.key, write.item) if isinstance(write, Put) else check_key(write.key)


def last_writes(writes: Iterable[Put | Delete]) -> list[Put | Delete]:
    """Check unconditional writes and keep the last one of each key: a batch takes a key once, in no order."""
    by_key: dict[Key, Put | Delete] = {}
    for write in writes:
        if write.condition is not None:
            raise ValueError("a condition outside a transaction")
        _write_bytes(write)
        by_key[write.key] = write
    return list(by_key.values())


def value_bytes(value: Any, depth: int = 0) -> int:
    """The bytes of a value as DynamoDB counts them ("Item sizes and formats" in its guide); a number rounded up.

    Plain loops: every item that is written passes here, and generators cost as much again."""
    if isinstance(value, str):
        return _text_bytes(value)
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int | float):
        return _number_bytes(value)
    if isinstance(value, bytes):
        return len(value)
    if depth == _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH}")
    if isinstance(value, dict):
        size = 3 + len(value)
        for name, inner in value.items():
            size += _name_bytes(name) + value_bytes(inner, depth + 1)
        return size
    if isinstance(value, list):
        size = 3 + len(value)
        for inner in value:
            size += value_bytes(inner, depth + 1)
        return size
    raise TypeError(f"an attribute cannot be of type {type(value).__name__}")


def _number_bytes(value: int | float) -> int:
    size = abs(value)
    if not (size == 0 or _LEAST <= size < _GREATEST):  # also NaN, which compares with nothing
        raise ValueError("a number outside of what 38 digits hold")
    return (len(repr(value)) + 1) // 2 + 1


def _name_bytes(name: str) -> int:
    if not name:
        raise ValueError("an empty attribute name, at whatever depth")
    return _text_bytes(name)


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
