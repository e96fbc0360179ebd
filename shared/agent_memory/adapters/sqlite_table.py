"""The `Table` port on one SQLite file, for both tables, with a change feed in place of DynamoDB's stream.

Knows the layout, conditions and transactions. Connections and commits are `sqlite_file`'s, the bytes of items
`item_codec`'s, quotas `limits`', the rows of the feed `change_feed`'s.

A transaction is on the disk before it is answered. An increment and `write_many` are in the log, which a killed process
leaves behind, and on the disk with the next transaction (see `sqlite_file`): numbers that were reserved, vectors, and
what was shown are nothing by themselves. Waiting for the disk would cost a recall, which does one of each, some 6 ms.

Layout: the text of a partition is kept once, keys and items apart. A table of items that is filled in the order of
writing has full pages, while one tree sorted by key would hold vectors in pages that are two thirds full; and a key
stands in one place instead of in the table and in its index.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..domain.errors import ConditionFailed
from ..domain.ports import Absent, AllOf, Condition, Delete, Equals, Item, Key, Put, Row, TableName, Write
from .change_feed import FEED_SCHEMA, ChangeFeed, FeedRow
from .folder_lock import FolderLock
from .item_codec import decode, encode
from .limits import check_counters, check_key, check_query, check_transaction, last_writes
from .sqlite_file import SqliteFile

_TABLES: dict[TableName, int] = {"memory": 0, "execution": 1}
_BATCH = 500  # writes of one commit of `write_many`: others wait no longer than some 20 ms; keys of one statement

_SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (tbl INTEGER, name BLOB, no INTEGER NOT NULL, PRIMARY KEY (tbl, name))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (partition INTEGER, sort BLOB, item INTEGER NOT NULL, PRIMARY KEY (partition, sort))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (no INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
# Names and sort keys are UTF-8 in BLOBs: compared byte by byte, NUL is like any other, and 0xFF ends every prefix.

_GET = """
SELECT i.data FROM partitions p CROSS JOIN keys k CROSS JOIN items i
WHERE p.tbl = ? AND p.name = ? AND k.partition = p.no AND k.sort = ? AND i.no = k.item
"""
_GET_SOME = """
SELECT k.sort, i.data FROM partitions p CROSS JOIN keys k CROSS JOIN items i
WHERE p.tbl = ? AND p.name = ? AND k.partition = p.no AND k.sort IN ({marks}) AND i.no = k.item
"""
_FIND = """
SELECT p.no, k.item FROM partitions p LEFT JOIN keys k ON k.partition = p.no AND k.sort = ?
WHERE p.tbl = ? AND p.name = ?
"""
_QUERY = """
SELECT k.sort, i.data FROM partitions p CROSS JOIN keys k CROSS JOIN items i
WHERE p.tbl = ? AND p.name = ? AND k.partition = p.no AND k.sort >= ? AND k.sort < ? AND i.no = k.item
ORDER BY k.sort {order} LIMIT ?
"""
_FORGET = """
DELETE FROM partitions
WHERE tbl = ? AND name = ? AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.partition = partitions.no)
"""
_FORWARD, _BACKWARD = _QUERY.format(order="ASC"), _QUERY.format(order="DESC")


class _Room(NamedTuple):
    """Bytes of an item's data, and the item's number."""

    size: int
    item: int


class _Place(NamedTuple):
    """Where a key lies: the numbers of its partition and of its item, None where there is none."""

    partition: int | None
    item: int | None


class SqliteTable:
    """path: the file, made with its folder if it is not there, and held against other processes (`FolderInUse`).

    feed_prefix: inserts into the memory table whose sort key begins so are put on the feed.
    """

    def __init__(self, path: Path | str, *, feed_prefix: str = "U#") -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path.with_name(path.name + ".lock"))
        # Pages of 8 KB: 4 vectors of 1,536 bytes and what lies between them.
        self._file = SqliteFile(path, _SCHEMA + FEED_SCHEMA, page_bytes=8192)
        self._feed = ChangeFeed(self._file, feed_prefix.encode())
        with self._file.reading() as connection:
            self._last_partition: int = connection.execute("SELECT coalesce(max(no), 0) FROM partitions").fetchone()[0]

    def close(self) -> None:
        """Once no call is under way."""
        self._feed.close()
        self._file.close()
        self._lock.release()

    # ------------------------------------------------------------ reading

    def get(self, key: Key) -> Item | None:
        check_key(key)
        with self._file.reading() as connection:
            data = _data(connection, key)
        return None if data is None else decode(data)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        sorts: dict[tuple[TableName, str], list[str]] = defaultdict(list)
        for key in wanted:
            sorts[key.table, key.partition].append(key.sort)
        with self._file.reading() as connection:
            read = {place: _some(connection, *place, some) for place, some in sorts.items()}
        found = {Key(*place, sort.decode()): decode(data) for place, rows in read.items() for sort, data in rows}
        return {key: found[key] for key in wanted if key in found}

    def query(
        self,
        table: TableName,
        partition: str,
        *,
        prefix: str = "",
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        check_query(partition, prefix, after)
        first, end = prefix.encode(), prefix.encode() + b"\xff"
        if after is not None and newest_first:
            end = min(end, after.encode())
        elif after is not None:
            first = max(first, after.encode() + b"\0")
        place = (_TABLES[table], partition.encode(), first, end, -1 if limit is None else limit)
        with self._file.reading() as connection:
            found = connection.execute(_BACKWARD if newest_first else _FORWARD, place).fetchall()
        return [Row(Key(table, partition, sort.decode()), decode(data)) for sort, data in found]

    # ------------------------------------------------------------ writing

    def transact(self, writes: Sequence[Write]) -> None:
        check_transaction(writes)
        encoded = _encoded(writes)
        self._file.write(partial(self._transact, writes=writes, encoded=encoded))

    def _transact(self, connection: sqlite3.Connection, writes: Sequence[Write], encoded: Mapping[Key, bytes]) -> None:
        failed = {}
        for at, write in enumerate(writes):
            if write.condition is not None:
                item = _item(connection, write.key)
                if not _holds(write.condition, item):
                    failed[at] = item
        if failed:
            raise ConditionFailed(failed)
        self._apply(connection, writes, encoded)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        check_key(key)
        check_counters(counters)

        def add(connection: sqlite3.Connection) -> Item:
            present = _item(connection, key)
            if condition is not None and not _holds(condition, present):
                raise ConditionFailed({0: present})
            item = _sum(present or {}, counters)
            self._put(connection, key, encode(item), [])
            return item

        return self._file.write(add, durable=False)

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        kept = last_writes(writes)
        for start in range(0, len(kept), _BATCH):
            batch = kept[start : start + _BATCH]
            encoded = _encoded(batch)
            self._file.write(partial(self._apply, writes=batch, encoded=encoded), durable=False)

    def _apply(self, connection: sqlite3.Connection, writes: Sequence[Write], encoded: Mapping[Key, bytes]) -> None:
        """Carry out puts and deletes, of different keys. New items take the room of deleted ones where they fit: a
        commit deletes what was staged and puts as much, and what is appended would never fill the holes."""
        deleted = [write.key for write in writes if isinstance(write, Delete)]
        room = sorted(room for key in deleted if (room := _remove(connection, key)))
        for write in writes:
            if isinstance(write, Put):
                self._put(connection, write.key, encoded[write.key], room)
        connection.executemany("DELETE FROM items WHERE no = ?", [(item,) for _, item in room])
        for table, partition in {(key.table, key.partition) for key in deleted}:
            _forget_if_empty(connection, table, partition)

    def _put(self, connection: sqlite3.Connection, key: Key, data: bytes, room: list[_Room]) -> None:
        partition, item = _find(connection, key)
        if item is not None:
            connection.execute("UPDATE items SET data = ? WHERE no = ?", (data, item))
            return
        if partition is None:
            partition = self._add_partition(connection, key)
        item = _store(connection, data, room)
        connection.execute("INSERT INTO keys VALUES (?, ?, ?)", (partition, key.sort.encode(), item))
        self._feed.record(connection, key)

    def _add_partition(self, connection: sqlite3.Connection, key: Key) -> int:
        # Counted here, by the one thread that writes: a number is never used twice, not even after a rollback.
        self._last_partition += 1
        place = (_TABLES[key.table], key.partition.encode(), self._last_partition)
        connection.execute("INSERT INTO partitions VALUES (?, ?, ?)", place)
        return self._last_partition

    # ------------------------------------------------------------ the feed

    def feed(self, limit: int) -> list[FeedRow]:
        """The oldest rows that are not done, at most `limit`."""
        return self._feed.rows(limit)

    def feed_waiting(self) -> tuple[int, FeedRow | None]:
        """How many rows are not done, and the oldest of them."""
        return self._feed.waiting()

    def feed_done(self, positions: Iterable[int]) -> None:
        """Take rows off the feed."""
        self._feed.done(positions)

    def wait_for_feed(self, timeout_s: float) -> bool:
        """Whether rows were put on the feed since `feed` last read it to its end; waits for that (see `ChangeFeed`)."""
        return self._feed.wait(timeout_s)


def _data(connection: sqlite3.Connection, key: Key) -> bytes | None:
    place = (_TABLES[key.table], key.partition.encode(), key.sort.encode())
    row = connection.execute(_GET, place).fetchone()
    return row[0] if row else None


def _some(
    connection: sqlite3.Connection, table: TableName, partition: str, sorts: Sequence[str]
) -> list[tuple[bytes, bytes]]:
    """Sort keys and data of what lies at these keys: one statement takes a third of the time of as many as keys."""
    rows = []
    for start in range(0, len(sorts), _BATCH):
        some = [sort.encode() for sort in sorts[start : start + _BATCH]]
        query = _GET_SOME.format(marks=",".join("?" * len(some)))
        rows += connection.execute(query, (_TABLES[table], partition.encode(), *some)).fetchall()
    return rows


def _item(connection: sqlite3.Connection, key: Key) -> Item | None:
    data = _data(connection, key)
    return None if data is None else decode(data)


def _find(connection: sqlite3.Connection, key: Key) -> _Place:
    place = (key.sort.encode(), _TABLES[key.table], key.partition.encode())
    return _Place(*(connection.execute(_FIND, place).fetchone() or (None, None)))


def _store(connection: sqlite3.Connection, data: bytes, room: list[_Room]) -> int:
    """Write the data of a new item, in the smallest room that holds it and is not twice as large, else at the end."""
    at = bisect_left(room, (len(data), 0))
    if at < len(room) and room[at].size <= 2 * len(data):
        item = room.pop(at).item
        connection.execute("UPDATE items SET data = ? WHERE no = ?", (data, item))
        return item
    number: int | None = connection.execute("INSERT INTO items (data) VALUES (?)", (data,)).lastrowid
    assert number is not None
    return number


def _remove(connection: sqlite3.Connection, key: Key) -> _Room | None:
    """Remove a key, if it is there; gives the room of its item, which is not removed yet."""
    partition, item = _find(connection, key)
    if item is None:
        return None
    connection.execute("DELETE FROM keys WHERE partition = ? AND sort = ?", (partition, key.sort.encode()))
    return _Room(*connection.execute("SELECT length(data), no FROM items WHERE no = ?", (item,)).fetchone())


def _forget_if_empty(connection: sqlite3.Connection, table: TableName, partition: str) -> None:
    """Remove the name of a partition, which may name a person, with its last key."""
    connection.execute(_FORGET, (_TABLES[table], partition.encode()))


def _encoded(writes: Iterable[Write]) -> dict[Key, bytes]:
    """In the caller's thread, so that whoever commits only writes."""
    return {write.key: encode(write.item) for write in writes if isinstance(write, Put)}


def _holds(condition: Condition, item: Item | None) -> bool:
    if isinstance(condition, Absent):
        return item is None
    if item is None:
        return False
    equals = condition.conditions if isinstance(condition, AllOf) else (condition,)
    return all(_equal(item.get(each.attribute), each) for each in equals)


def _equal(value: object, equals: Equals) -> bool:
    # In Python True == 1; in DynamoDB a truth value equals no number.
    return isinstance(value, bool) == isinstance(equals.value, bool) and value == equals.value


def _sum(item: Item, counters: Mapping[str, int]) -> Item:
    sums = {}
    for name, number in counters.items():
        present = item.get(name, 0)
        if isinstance(present, bool) or not isinstance(present, int | float):
            raise ValueError(f"attribute {name} is no number")
        sums[name] = present + number
    return item | sums
