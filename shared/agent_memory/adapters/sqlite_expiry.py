"""Rows that go by themselves: on one machine what DynamoDB's time to live does in AWS.

An item with the attribute `expires_ttl` (seconds since 1970) is noted in a table of its own, by that time. `purge`
removes what is due, when it is called: a reader must know by itself that an item's time is over, as in AWS, where it
may stay for days. Leaves to `sqlite_rows` where rows lie.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..domain.ports import Item, Key, Put, Write
from .item_codec import decode
from .sqlite_rows import RowWriter, key_at, number_of, read_one

ATTRIBUTE = "expires_ttl"

# A partition stands here by its number, as everywhere: its name may name a person, and goes with its last key.
EXPIRY_SCHEMA = """
CREATE TABLE IF NOT EXISTS expiring (at INTEGER, partition INTEGER, sort BLOB, PRIMARY KEY (at, partition, sort))
    WITHOUT ROWID;
"""


def note(connection: sqlite3.Connection, writes: Iterable[Write]) -> None:
    """Note those that were put with a time, in their transaction, once they lie there."""
    for write in writes:
        if isinstance(write, Put) and ATTRIBUTE in write.item:
            place = (write.item[ATTRIBUTE], number_of(connection, write.key), write.key.sort.encode())
            connection.execute("INSERT OR IGNORE INTO expiring VALUES (?, ?, ?)", place)


def purge(connection: sqlite3.Connection, rows: RowWriter, now_s: int, limit: int) -> int:
    """Remove what is due by `now_s`, the oldest `limit` of it; gives how many were looked at. An item that was put
    again since, for longer or without a time, stays."""
    due = "SELECT at, partition, sort FROM expiring WHERE at <= ? ORDER BY at LIMIT ?"
    noted = connection.execute(due, (now_s, limit)).fetchall()
    found = [key for _, number, sort in noted if (key := key_at(connection, number, sort))]
    rows.apply(connection, {}, [key for key in dict.fromkeys(found) if _is_due(_item(connection, key), now_s)])
    connection.executemany("DELETE FROM expiring WHERE at = ? AND partition = ? AND sort = ?", noted)
    return len(noted)


def _item(connection: sqlite3.Connection, key: Key) -> Item | None:
    data = read_one(connection, key)
    return None if data is None else decode(data)


def _is_due(item: Item | None, now_s: int) -> bool:
    at = item.get(ATTRIBUTE) if item else None
    return isinstance(at, int) and at <= now_s
