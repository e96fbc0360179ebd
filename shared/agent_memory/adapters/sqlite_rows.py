"""Where the rows of both tables lie in the SQLite file, and the statements that read and write them, as bytes.

Layout: the text of a partition is kept once, keys and items apart, small items beside their keys. Items are appended in
the order of writing and fill their pages, while one tree sorted by key would keep vectors in pages two thirds full; a
key stands in one place instead of in a table and in its index. Small items come and go: a deletion in the last page of
items would make SQLite spread its rows over two pages, and leave the first of them half empty for good.

With pages of 8 KB, which hold 4 to 5 vectors of 1,536 bytes and what lies between them, 7 % of the items' pages is
unused (4 KB: 12 %; 16 KB: 4 %, but a commit logs whole pages, so twice as much).
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..domain.ports import Key, TableName

PAGE_BYTES = 8192
_NEAR_BYTES = 128  # of data kept beside its key: pointers, states, marks
_SOME = 500  # keys of one statement (SQLite takes 32,766 parameters, its older versions 999)
_TABLES: dict[TableName, int] = {"memory": 0, "execution": 1}
_NAMES: dict[int, TableName] = {number: name for name, number in _TABLES.items()}

# Names and sort keys are UTF-8 in BLOBs: compared byte by byte, NUL is like any other, and 0xFF ends every prefix.
ROWS_SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (tbl INTEGER, name BLOB, no INTEGER NOT NULL, PRIMARY KEY (tbl, name))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (partition INTEGER, sort BLOB, item INTEGER, data BLOB, PRIMARY KEY (partition, sort))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (no INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
_READ = """
SELECT k.sort, coalesce(k.data, i.data) FROM partitions p CROSS JOIN keys k LEFT JOIN items i ON i.no = k.item
WHERE p.tbl = ? AND p.name = ? AND k.partition = p.no
"""
_READ_ONE = _READ + "AND k.sort = ?"
_READ_SOME = _READ + "AND k.sort IN ({marks})"
_FORWARD = _READ + "AND k.sort >= ? AND k.sort < ? ORDER BY k.sort LIMIT ?"
_BACKWARD = _READ + "AND k.sort >= ? AND k.sort < ? ORDER BY k.sort DESC LIMIT ?"
_FIND = """
SELECT k.sort IS NOT NULL, p.no, k.item FROM partitions p LEFT JOIN keys k ON k.partition = p.no AND k.sort = ?
WHERE p.tbl = ? AND p.name = ?
"""
_FORGET = """
DELETE FROM partitions
WHERE tbl = ? AND name = ? AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.partition = partitions.no)
"""

Stored = tuple[bytes, bytes]  # sort key and data


def read_one(connection: sqlite3.Connection, key: Key) -> bytes | None:
    place = (_TABLES[key.table], key.partition.encode(), key.sort.encode())
    row = connection.execute(_READ_ONE, place).fetchone()
    return row[1] if row else None


def read_some(connection: sqlite3.Connection, table: TableName, partition: str, sorts: Sequence[str]) -> list[Stored]:
    """What lies at these keys of a partition, in no order. A statement for each key would take three times as long."""
    rows: list[Stored] = []
    for start in range(0, len(sorts), _SOME):
        some = [sort.encode() for sort in sorts[start : start + _SOME]]
        query = _READ_SOME.format(marks=",".join("?" * len(some)))
        rows += connection.execute(query, (_TABLES[table], partition.encode(), *some)).fetchall()
    return rows


def read_range(
    connection: sqlite3.Connection,
    table: TableName,
    partition: str,
    *,
    prefix: str,
    newest_first: bool,
    after: str | None,
    limit: int | None,
) -> list[Stored]:
    """What `Table.query` asks for."""
    first, end = prefix.encode(), prefix.encode() + b"\xff"
    if after is not None and newest_first:
        end = min(end, after.encode())
    elif after is not None:
        first = max(first, after.encode() + b"\0")
    place = (_TABLES[table], partition.encode(), first, end, -1 if limit is None else limit)
    return connection.execute(_BACKWARD if newest_first else _FORWARD, place).fetchall()


def number_of(connection: sqlite3.Connection, key: Key) -> int | None:
    """Of the key's partition, None where nothing lies in it. A number is never used twice."""
    place = (_TABLES[key.table], key.partition.encode())
    row = connection.execute("SELECT no FROM partitions WHERE tbl = ? AND name = ?", place).fetchone()
    return row[0] if row else None


def key_at(connection: sqlite3.Connection, number: int, sort: bytes) -> Key | None:
    """The key with that sort key in the partition of that number, None where the partition is gone."""
    row = connection.execute("SELECT tbl, name FROM partitions WHERE no = ?", (number,)).fetchone()
    return Key(_NAMES[row[0]], row[1].decode(), sort.decode()) if row else None


class _Room(NamedTuple):
    """Bytes of an item's data, and the item's number."""

    size: int
    item: int


class _Place(NamedTuple):
    """Whether there is a row at a key, and the numbers of its partition and of its item, None where there is none."""

    exists: bool
    partition: int | None
    item: int | None


class RowWriter:
    """Writes rows, in the one thread that writes. inserted: called with each key that is new, in its transaction."""

    def __init__(self, connection: sqlite3.Connection, inserted: Callable[[sqlite3.Connection, Key], None]) -> None:
        self._inserted = inserted
        # Counted here: a number is never used twice, not even after a rollback.
        self._last_partition: int = connection.execute("SELECT coalesce(max(no), 0) FROM partitions").fetchone()[0]

    def apply(self, connection: sqlite3.Connection, puts: Mapping[Key, bytes], deleted: Sequence[Key] = ()) -> None:
        """Carry out puts and deletes, of different keys. New items take the room of deleted ones where they fit: a
        commit deletes what was staged and puts as much, and what is appended would never fill the holes."""
        room = sorted(room for key in deleted if (room := _remove(connection, key)))
        for key, data in puts.items():
            self._put(connection, key, data, room)
        connection.executemany("DELETE FROM items WHERE no = ?", [(item,) for _, item in room])
        for table, partition in {(key.table, key.partition) for key in deleted}:
            # The name of a partition may name a person: it goes with the last key.
            connection.execute(_FORGET, (_TABLES[table], partition.encode()))

    def _put(self, connection: sqlite3.Connection, key: Key, data: bytes, room: list[_Room]) -> None:
        found = _find(connection, key)
        if found.item is not None:
            connection.execute("UPDATE items SET data = ? WHERE no = ?", (data, found.item))
            return
        near, item = (data, None) if len(data) <= _NEAR_BYTES else (None, _store(connection, data, room))
        sort = key.sort.encode()
        if found.exists:
            place = (near, item, found.partition, sort)
            connection.execute("UPDATE keys SET data = ?, item = ? WHERE partition = ? AND sort = ?", place)
            return
        partition = found.partition or self._add_partition(connection, key)
        connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?)", (partition, sort, item, near))
        self._inserted(connection, key)

    def _add_partition(self, connection: sqlite3.Connection, key: Key) -> int:
        self._last_partition += 1
        place = (_TABLES[key.table], key.partition.encode(), self._last_partition)
        connection.execute("INSERT INTO partitions VALUES (?, ?, ?)", place)
        return self._last_partition


def _find(connection: sqlite3.Connection, key: Key) -> _Place:
    place = (key.sort.encode(), _TABLES[key.table], key.partition.encode())
    return _Place(*(connection.execute(_FIND, place).fetchone() or (False, None, None)))


def _store(connection: sqlite3.Connection, data: bytes, room: list[_Room]) -> int | None:
    """Write the data of a new item, in the smallest room that holds it and is not twice as large, else at the end."""
    at = bisect_left(room, (len(data), 0))
    if at < len(room) and room[at].size <= 2 * len(data):
        item = room.pop(at).item
        connection.execute("UPDATE items SET data = ? WHERE no = ?", (data, item))
        return item
    return connection.execute("INSERT INTO items (data) VALUES (?)", (data,)).lastrowid


def _remove(connection: sqlite3.Connection, key: Key) -> _Room | None:
    """Remove a key, if it is there; gives the room of its item, if it has one, which is not removed yet."""
    found = _find(connection, key)
    if not found.exists:
        return None
    connection.execute("DELETE FROM keys WHERE partition = ? AND sort = ?", (found.partition, key.sort.encode()))
    if found.item is None:
        return None
    return _Room(*connection.execute("SELECT length(data), no FROM items WHERE no = ?", (found.item,)).fetchone())
