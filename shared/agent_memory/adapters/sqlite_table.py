"""The `Table` port on one SQLite file, for both tables, with a change feed in place of DynamoDB's stream.

Knows the layout, conditions and transactions. Connections and commits are `sqlite_file`'s, the bytes of items
`item_codec`'s, quotas `limits`', the rows of the feed `change_feed`'s.

Layout: the text of a partition is kept once, keys and items apart. A table of items that is filled in the order of
writing has full pages, while one tree sorted by key would hold vectors in pages that are two thirds full; and a key
stands in one place instead of in the table and in its index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
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
_BATCH = 500  # writes of one commit of `write_many`: other threads wait no longer than some 20 ms

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
_FIND = """
SELECT p.no, k.item FROM partitions p LEFT JOIN keys k ON k.partition = p.no AND k.sort = ?
WHERE p.tbl = ? AND p.name = ?
"""
_QUERY = """
SELECT k.sort, i.data FROM partitions p CROSS JOIN keys k CROSS JOIN items i
WHERE p.tbl = ? AND p.name = ? AND k.partition = p.no AND k.sort >= ? AND k.sort < ? AND i.no = k.item
ORDER BY k.sort {order} LIMIT ?
"""
_FORWARD, _BACKWARD = _QUERY.format(order="ASC"), _QUERY.format(order="DESC")


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
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        with self._file.reading() as connection:
            read = {key: _data(connection, key) for key in wanted}
        return {key: decode(data) for key, data in read.items() if data is not None}

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
        self._file.write(lambda connection: self._transact(connection, writes, encoded))

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
            self._apply(connection, [Put(key, item)], {key: encode(item)})
            return item

        return self._file.write(add)

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        kept = last_writes(writes)
        for start in range(0, len(kept), _BATCH):
            batch = kept[start : start + _BATCH]
            encoded = _encoded(batch)
            self._file.write(lambda connection, batch=batch, encoded=encoded: self._apply(connection, batch, encoded))  # type: ignore[misc]

    def _apply(self, connection: sqlite3.Connection, writes: Sequence[Write], encoded: Mapping[Key, bytes]) -> None:
        """Carry out puts and deletes, of different keys. Puts first: a delete looks whether its partition is empty."""
        for write in writes:
            if isinstance(write, Put):
                self._put(connection, write.key, encoded[write.key])
        for write in writes:
            if isinstance(write, Delete):
                _delete(connection, write.key)

    def _put(self, connection: sqlite3.Connection, key: Key, data: bytes) -> None:
        partition, item = _find(connection, key)
        if item is not None:
            connection.execute("UPDATE items SET data = ? WHERE no = ?", (data, item))
            return
        if partition is None:
            partition = self._add_partition(connection, key)
        item = connection.execute("INSERT INTO items (data) VALUES (?)", (data,)).lastrowid
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


def _item(connection: sqlite3.Connection, key: Key) -> Item | None:
    data = _data(connection, key)
    return None if data is None else decode(data)


def _find(connection: sqlite3.Connection, key: Key) -> _Place:
    place = (key.sort.encode(), _TABLES[key.table], key.partition.encode())
    return _Place(*(connection.execute(_FIND, place).fetchone() or (None, None)))


def _delete(connection: sqlite3.Connection, key: Key) -> None:
    """Remove an item if it is there, and the name of its partition (it may name a person) with the last one."""
    partition, item = _find(connection, key)
    if item is None:
        return
    connection.execute("DELETE FROM keys WHERE partition = ? AND sort = ?", (partition, key.sort.encode()))
    connection.execute("DELETE FROM items WHERE no = ?", (item,))
    if not connection.execute("SELECT 1 FROM keys WHERE partition = ? LIMIT 1", (partition,)).fetchone():
        place = (_TABLES[key.table], key.partition.encode())
        connection.execute("DELETE FROM partitions WHERE tbl = ? AND name = ?", place)


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
