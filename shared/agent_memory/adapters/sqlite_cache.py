"""Which partitions stay in memory: the most recently searched ones, within a number of bytes."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from .sqlite_scopes import CachedScope, Change, VectorSource, View

_FIND = "SELECT no FROM partitions WHERE name = ?"


class ScopeCache:
    def __init__(self, vectors: VectorSource, dimensions: int, limit_bytes: int) -> None:
        self._source = vectors
        self._dimensions = dimensions
        self._limit = limit_bytes
        self._lock = Lock()
        self._scopes: OrderedDict[str, CachedScope] = OrderedDict()  # the last one was searched last
        self._bytes: dict[str, int] = {}
        self._total = 0

    def views(self, connection: sqlite3.Connection, names: Sequence[str], *, with_vectors: bool) -> list[View]:
        """The partitions of these names that have records. Each is whole; two may be of different moments."""
        views = []
        for name in dict.fromkeys(names):
            if scope := self._scope(connection, name):
                views.append(scope.view(connection, self._source if with_vectors else None))
                self._account(scope)
        return views

    def note(self, name: str, changes: Sequence[Change]) -> None:
        """Tell what a commit did, after it. A partition that is not here reads it when it is asked for."""
        with self._lock:
            scope = self._scopes.get(name)
        if scope:
            scope.note(changes)
            self._account(scope)

    def clear(self) -> None:
        with self._lock:
            self._scopes.clear()
            self._bytes.clear()
            self._total = 0

    def _scope(self, connection: sqlite3.Connection, name: str) -> CachedScope | None:
        with self._lock:
            if scope := self._scopes.get(name):
                self._scopes.move_to_end(name)
                return scope
            found = connection.execute(_FIND, (name,)).fetchone()
            return self._scopes.setdefault(name, CachedScope(name, found[0], self._dimensions)) if found else None

    def _account(self, scope: CachedScope) -> None:
        """Count what it has grown by, and let go of those not searched for longest; searches under way keep theirs."""
        with self._lock:
            if self._scopes.get(scope.name) is not scope:
                return
            self._total += scope.size_bytes - self._bytes.get(scope.name, 0)
            self._bytes[scope.name] = scope.size_bytes
            while self._total > self._limit and len(self._scopes) > 1:
                name, _ = self._scopes.popitem(last=False)
                self._total -= self._bytes.pop(name, 0)
