"""The change feed of the one-machine edition: keys of new items, as DynamoDB's stream with a filter would give them.

A row is written in the transaction of its item, stays until it is done, and survives a restart. Each comes at least
once, oldest first. The feed does not know who reads it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from threading import Condition
from typing import NamedTuple

from ..domain.ports import Key
from .sqlite_file import SqliteFile

FEED_SCHEMA = """
CREATE TABLE IF NOT EXISTS feed
    (position INTEGER PRIMARY KEY AUTOINCREMENT, partition BLOB NOT NULL, sort BLOB NOT NULL);
"""
_DONE = "DELETE FROM feed WHERE position = ?"


class FeedRow(NamedTuple):
    position: int  # grows with time, and is never used again
    key: Key


class ChangeFeed:
    """prefix: of the sort keys (UTF-8) in the memory table whose inserts are recorded."""

    def __init__(self, file: SqliteFile, prefix: bytes) -> None:
        self._file = file
        self._prefix = prefix
        self._changed = Condition()
        self._recorded = False  # in the transaction under way; touched by the one thread that writes
        self._news = True  # rows may be there that were not read; at first, the last run's
        self._closed = False
        file.after_commit(self._announce)

    def record(self, connection: sqlite3.Connection, key: Key) -> None:
        """Put the key of a new item on the feed, if it belongs there, within the transaction of the item."""
        sort = key.sort.encode()
        if key.table == "memory" and sort.startswith(self._prefix):
            connection.execute("INSERT INTO feed (partition, sort) VALUES (?, ?)", (key.partition.encode(), sort))
            self._recorded = True

    def _announce(self) -> None:
        if self._recorded:
            self._recorded = False
            with self._changed:
                self._news = True
                self._changed.notify_all()

    def rows(self, limit: int) -> list[FeedRow]:
        """The oldest rows that are not done, at most `limit`."""
        with self._changed:
            self._news = False  # before reading: what is committed meanwhile counts as news once more
        with self._file.reading() as connection:
            found = connection.execute("SELECT * FROM feed ORDER BY position LIMIT ?", (limit,)).fetchall()
        if len(found) == limit:
            with self._changed:
                self._news = True
        return [_row(*row) for row in found]

    def waiting(self) -> tuple[int, FeedRow | None]:
        """How many rows are not done, and the oldest of them. Reading this is not reading the feed."""
        with self._file.reading() as connection:
            (count,) = connection.execute("SELECT count(*) FROM feed").fetchone()
            oldest = connection.execute("SELECT * FROM feed ORDER BY position LIMIT 1").fetchone()
        return count, _row(*oldest) if oldest else None

    def done(self, positions: Iterable[int]) -> None:
        """Take rows off the feed; those that are gone already do no harm."""
        rows = [(position,) for position in positions]
        if rows:
            self._file.write(lambda connection: connection.executemany(_DONE, rows), durable=False)

    def wait(self, timeout_s: float) -> bool:
        """Wait until there may be rows that `rows` has not given: at once where some were committed since it last read
        the feed to its end, or nothing was read yet. False when the time is up, or the feed is closed. Rows that were
        read and not done are no news: who wants to try them again does so in its own time."""
        with self._changed:
            self._changed.wait_for(lambda: self._news or self._closed, timeout_s)
            return self._news and not self._closed

    def close(self) -> None:
        """Let go who waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _row(position: int, partition: bytes, sort: bytes) -> FeedRow:
    return FeedRow(position, Key("memory", partition.decode(), sort.decode()))
