"""The data folder of the one-machine edition: the table's file, the indices' files, and whether each index is whole.

The table is the truth. An index that is missing, broken, of another embedding model or half built is thrown away and
built again from the table; until it is whole it counts as one that does not answer, so nothing is silently missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from agent_memory.adapters.sqlite_index import CACHE_BYTES, SqliteIndex
from agent_memory.adapters.sqlite_scopes import VectorSource
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import Embedder, IndexAnswer, IndexEntry, IndexQuery
from agent_memory.operations.index import rebuild
from agent_memory.operations.index_history import rebuild_history
from agent_memory.operations.services import Services
from agent_memory.store.history import History
from agent_memory.store.keys import UNINDEXED
from agent_memory.store.records import Records

TABLE_FILE = "memory.sqlite"
HISTORY_CACHE_BYTES = 64 * 1024 * 1024  # a search reads one session's: seldom more than 1 MB

VectorsOf = Callable[..., Iterator[tuple[str, tuple[bytes, ...]]]]
Rebuild = Callable[[Services, str], Iterator[tuple[int, str]]]


class Folder:
    """path: made if it is not there, and held against other processes. Raises `FolderInUse`."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.table = SqliteTable(path / TABLE_FILE, feed_prefix=UNINDEXED)
        self._indices: list[FolderIndex] = []

    def index(self, embedder: Embedder) -> FolderIndex:
        """The index for this model; each model has a file of its own, since their vectors do not compare."""
        return self._opened("index", embedder, Records(self.table).vectors_in, rebuild)

    def history_index(self, embedder: Embedder) -> FolderIndex:
        vectors = History(self.table).vectors_in
        return self._opened("history", embedder, vectors, rebuild_history, cache_bytes=HISTORY_CACHE_BYTES)

    def _opened(
        self,
        prefix: str,
        embedder: Embedder,
        vectors: VectorsOf,
        rebuild: Rebuild,
        *,
        cache_bytes: int = CACHE_BYTES,
    ) -> FolderIndex:
        name = re.sub("[^a-z0-9]+", "-", embedder.model.lower()).strip("-")[:80]
        path = self.path / f"{prefix}-{name}-{embedder.dimensions}.sqlite"
        of_model = partial(vectors, model=embedder.model)
        index = FolderIndex(path, of_model, embedder.dimensions, rebuild, cache_bytes)
        self._indices.append(index)
        return index

    def close(self) -> None:
        """Once no call is under way."""
        for index in self._indices:
            index.close()
        self.table.close()


class FolderIndex:
    """The index in a file. `whole`: whether it holds all that the table had when it was built; what was committed since
    comes by the feed. vectors: all are the table's, the index keeps none of its own; rebuild: fills it from there."""

    def __init__(
        self, path: Path, vectors: VectorSource, dimensions: int, rebuild: Rebuild, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._path = path
        self._mark = path.with_suffix(".whole")
        self._rebuild = rebuild
        self._make = partial(SqliteIndex, path, vectors, dimensions=dimensions, cache_bytes=cache_bytes)
        self.whole = path.exists() and self._mark.exists()
        self._index = self._open()

    def search(self, query: IndexQuery) -> IndexAnswer:
        if not self.whole:
            raise IndexUnavailable("the search index is being built from the table")
        return self._index.search(query)

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        return self._index.apply(entries)

    def discard(self) -> None:
        """Empty it: what follows is `build`."""
        self._forget_whole()
        self._index.clear()

    def build(self, services: Services) -> Iterable[int]:
        """Fill it from the table; gives how much each page held. Whole once the last page is in."""
        for agent_id in services.agents.ids():
            yield from (count for count, _ in self._rebuild(services, agent_id))
        self._mark.touch()
        self.whole = True

    def close(self) -> None:
        self._index.close()

    def _open(self) -> SqliteIndex:
        if not self.whole:
            self._remove()
        try:
            return self._make()
        except IndexUnavailable:  # no database any more
            self._remove()
            return self._make()

    def _remove(self) -> None:
        self._forget_whole()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _forget_whole(self) -> None:
        self.whole = False
        self._mark.unlink(missing_ok=True)
