"""One SQLite file: its settings, the connections to it, and the one thread at a time that writes.

Knows nothing of items. Reads run on connections of their own and see every commit that was answered before they began
(WAL). Writes that wait at the same time share one commit, and so one fsync: that, not SQLite, is what a write costs
(measured: 3 ms of waiting and .2 ms of CPU, against .15 ms for all else).

A write that need not be durable by itself leaves out the fsync. It is in the log before it is answered, so a killed
process loses nothing; a power cut may take it back, together with all that came after it. The next durable commit
makes it durable, since an fsync covers the whole log: nothing that is durable ever rests on something that was lost.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from ..domain.errors import AgentMemoryError, StoreUnavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_WRITER_CACHE_KIB, _READER_CACHE_KIB = 8192, 2048
_LOG_BYTES = 8 * 1024 * 1024  # of the write-ahead log that is kept after a checkpoint


class _Waiting(NamedTuple):
    future: Future[Any]
    work: Work[Any]
    durable: bool


class SqliteFile:
    """path: made if it is not there. schema: run at every opening (`CREATE … IF NOT EXISTS`). Raises `StoreUnavailable`
    for a file that is no database, or that cannot be written."""

    def __init__(self, path: Path, schema: str, *, page_bytes: int) -> None:
        self._path = path
        try:
            self._writer = self._connect(_WRITER_CACHE_KIB, page_bytes)
            self._writer.executescript(schema)
            # A file that may only be read opens all the same, and fails at its first write: here, at an undone one.
            self._writer.executescript("BEGIN; PRAGMA user_version = 0; ROLLBACK")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{path.name}: {error}") from error
        self._waiting: deque[_Waiting] = deque()
        self._level = ""
        self._turn = Lock()
        self._after_commit: list[Callable[[], None]] = []
        self._idle: deque[sqlite3.Connection] = deque()  # the readers; the last one used has the warmest cache

    def _connect(self, cache_kib: int, page_bytes: int | None = None) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=5)
        if page_bytes:
            connection.execute(f"PRAGMA page_size = {page_bytes}")  # of a new file only
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        connection.execute("PRAGMA synchronous = FULL")  # an fsync at each commit; NORMAL: at checkpoints
        connection.execute("PRAGMA secure_delete = FAST")  # deleted text is overwritten where that costs no extra I/O
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        return connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile."""
        try:
            connection = self._idle.pop() if self._idle else self._connect(_READER_CACHE_KIB)
            try:
                yield connection
            finally:
                self._idle.append(connection)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"table: {type(error).__name__}") from error

    def write(self, work: Work[T], *, durable: bool = True) -> T:
        """Run `work` in a transaction and give its result once that is on the disk, or if not `durable`, in the log.

        work: when it refuses (`AgentMemoryError`, `ValueError`) it has written nothing: others share its commit.
        """
        future: Future[T] = Future()
        self._waiting.append(_Waiting(future, work, durable))
        with self._turn:
            if not future.done():
                self._commit_waiting()
        return future.result()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Have `call` run after each commit, in the thread that writes."""
        self._after_commit.append(call)

    def _commit_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._set_level("FULL" if any(each.durable for each in batch) else "NORMAL")
            self._writer.execute("BEGIN IMMEDIATE")
            settle = [_run(each.future, each.work, self._writer) for each in batch]
            self._writer.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):  # nothing to roll back: it did not even begin, or SQLite did so itself
                self._writer.execute("ROLLBACK")
            for each in batch:
                each.future.set_exception(_as_ours(error))
            if not isinstance(error, Exception):
                raise
        else:
            for tell in settle + self._after_commit:
                tell()

    def _set_level(self, level: str) -> None:
        if level != self._level:
            self._writer.execute(f"PRAGMA synchronous = {level}")
            self._level = level

    def close(self) -> None:
        """Once no call is under way. Empties the write-ahead log into the file."""
        with self._turn:
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()


def _run(future: Future[T], work: Work[T], connection: sqlite3.Connection) -> Callable[[], None]:
    """Do the work and give what tells the waiting thread, to be called after the commit."""
    try:
        result = work(connection)
    except (AgentMemoryError, ValueError) as refusal:
        return lambda refusal=refusal: future.set_exception(refusal)  # type: ignore[misc]
    return lambda: future.set_result(result)


def _as_ours(error: BaseException) -> BaseException:
    if not isinstance(error, sqlite3.Error):
        return error
    ours = StoreUnavailable(f"table: {type(error).__name__}")
    ours.__cause__ = error
    return ours
