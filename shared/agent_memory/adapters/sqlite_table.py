"""The `Table` port on one SQLite file, for both tables, with a change feed in place of DynamoDB's stream.

Knows conditions and transactions. Connections and commits are `sqlite_file`'s, where rows lie `sqlite_rows`', the bytes
of items `item_codec`'s, quotas `limits`', the rows of the feed `change_feed`'s.

A transaction is on the disk before it is answered. An increment and `write_many` are in the log, which a killed process
leaves behind, and on the disk with the next transaction (see `sqlite_file`): numbers that were reserved, vectors, and
what was shown are nothing by themselves. Waiting for the disk would cost a recall, which does one of each, some 6 ms.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from ..domain.errors import ConditionFailed
from ..domain.ports import Condition, Delete, Item, Key, Put, Row, TableName, Write
from .change_feed import FEED_SCHEMA, ChangeFeed, FeedRow
from .conditions import holds, with_counters
from .folder_lock import FolderLock
from .item_codec import decode, encode
from .limits import check_counters, check_key, check_query, check_transaction, last_writes
from .sqlite_expiry import EXPIRY_SCHEMA, note, purge
from .sqlite_file import SqliteFile
from .sqlite_rows import PAGE_BYTES, ROWS_SCHEMA, RowWriter, read_one, read_range, read_some

_BATCH = 500  # writes of one commit of `write_many`: others wait no longer than some 20 ms


class SqliteTable:
    """path: the file, made with its folder if it is not there, and held against other processes (`FolderInUse`).

    feed_prefix: inserts into the memory table whose sort key begins so are put on the feed.
    """

    def __init__(self, path: Path | str, *, feed_prefix: str = "U#") -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path.with_name(path.name + ".lock"))
        try:
            self._file = SqliteFile(path, ROWS_SCHEMA + FEED_SCHEMA + EXPIRY_SCHEMA, page_bytes=PAGE_BYTES)
        except BaseException:
            self._lock.release()
            raise
        self._feed = ChangeFeed(self._file, feed_prefix.encode())
        with self._file.reading() as connection:
            self._rows = RowWriter(connection, self._feed.record)

    def close(self) -> None:
        """Once no call is under way."""
        self._feed.close()
        self._file.close()
        self._lock.release()

    # ------------------------------------------------------------ reading

    def get(self, key: Key) -> Item | None:
        check_key(key)
        with self._file.reading() as connection:
            return _item(connection, key)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        wanted = list(dict.fromkeys(keys))
        sorts: dict[tuple[TableName, str], list[str]] = defaultdict(list)
        for key in wanted:
            check_key(key)
            sorts[key.table, key.partition].append(key.sort)
        with self._file.reading() as connection:
            read = {place: read_some(connection, *place, some) for place, some in sorts.items()}
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
        with self._file.reading() as connection:
            rows = read_range(
                connection, table, partition, prefix=prefix, newest_first=newest_first, after=after, limit=limit
            )
        return [Row(Key(table, partition, sort.decode()), decode(data)) for sort, data in rows]

    # ------------------------------------------------------------ writing

    def transact(self, writes: Sequence[Write]) -> None:
        check_transaction(writes)
        # Encoded in the caller's thread, so that whoever commits only writes.
        puts, deleted = _puts(writes), _deleted(writes)

        def commit(connection: sqlite3.Connection) -> None:
            if failed := _failed(connection, writes):
                raise ConditionFailed(failed)
            self._rows.apply(connection, puts, deleted)
            note(connection, writes)

        self._file.write(commit)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        check_key(key)
        check_counters(counters)

        def add(connection: sqlite3.Connection) -> Item:
            present = _item(connection, key)
            if condition is not None and not holds(condition, present):
                raise ConditionFailed({0: present})
            item = with_counters(present, counters)
            self._rows.apply(connection, {key: encode(item)})
            return item

        return self._file.write(add, durable=False)

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        kept = last_writes(writes)
        for start in range(0, len(kept), _BATCH):
            batch = kept[start : start + _BATCH]
            self._file.write(partial(self._write, batch, _puts(batch)), durable=False)

    def _write(self, writes: Sequence[Put | Delete], puts: Mapping[Key, bytes], connection: sqlite3.Connection) -> None:
        self._rows.apply(connection, puts, _deleted(writes))
        note(connection, writes)

    def purge(self, now: datetime) -> int:
        """Remove rows whose `expires_ttl` is over, as DynamoDB does by itself; gives how many were due."""
        looked_at = [_BATCH]
        while looked_at[-1] == _BATCH:
            due = partial(purge, rows=self._rows, now_s=int(now.timestamp()), limit=_BATCH)
            looked_at.append(self._file.write(due, durable=False))
        return sum(looked_at[1:])

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


def _item(connection: sqlite3.Connection, key: Key) -> Item | None:
    data = read_one(connection, key)
    return None if data is None else decode(data)


def _puts(writes: Iterable[Write]) -> dict[Key, bytes]:
    return {write.key: encode(write.item) for write in writes if isinstance(write, Put)}


def _deleted(writes: Iterable[Write]) -> list[Key]:
    return [write.key for write in writes if isinstance(write, Delete)]


def _failed(connection: sqlite3.Connection, writes: Iterable[Write]) -> dict[int, Item | None]:
    """What stands at the keys whose conditions do not hold, by position."""
    failed = {}
    for at, write in enumerate(writes):
        if write.condition is not None:
            item = _item(connection, write.key)
            if not holds(write.condition, item):
                failed[at] = item
    return failed
