"""The data folder of the one-machine edition: the table's file, the index's file, and whether the index is whole.

The table is the truth. An index that is missing, broken, of another embedding model or half built is thrown away and
built again from the table; until it is whole it counts as one that does not answer, so nothing is silently missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import Embedder, IndexAnswer, IndexEntry, IndexQuery
from agent_memory.operations.index import rebuild
from agent_memory.operations.services import Services
from agent_memory.store.keys import UNINDEXED
from agent_memory.store.records import Records

TABLE_FILE = "memory.sqlite"


class Folder:
    """path: made if it is not there, and held against other processes. Raises `FolderInUse`."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.table = SqliteTable(path / TABLE_FILE, feed_prefix=UNINDEXED)
        self._indices: list[FolderIndex] = []

    def index(self, embedder: Embedder) -> FolderIndex:
        """The index for this model; each model has a file of its own, since their vectors do not compare."""
        name = re.sub("[^a-z0-9]+", "-", embedder.model.lower()).strip("-")[:80]
        index = FolderIndex(self.path / f"index-{name}-{embedder.dimensions}.sqlite", self.table, embedder)
        self._indices.append(index)
        return index

    def close(self) -> None:
        """Once no call is under way."""
        for index in self._indices:
            index.close()
        self.table.close()


class FolderIndex:
    """The index in a file. `whole`: whether it holds all that the table had when it was built; what was committed since
    comes by the feed."""

    def __init__(self, path: Path, table: SqliteTable, embedder: Embedder) -> None:
        self._path = path
        self._mark = path.with_suffix(".whole")
        # All vectors are the table's; the index keeps none of its own.
        self._vectors_in = partial(Records(table).vectors_in, model=embedder.model)
        self._dimensions = embedder.dimensions
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
        """Fill it from the table; gives how many records each page held. Whole once the last page is in."""
        for agent_id in services.agents.ids():
            yield from (records for records, _ in rebuild(services, agent_id))
        self._mark.touch()
        self.whole = True

    def close(self) -> None:
        self._index.close()

    def _open(self) -> SqliteIndex:
        if not self.whole:
            self._remove()
        try:
            return SqliteIndex(self._path, self._vectors_in, dimensions=self._dimensions)
        except IndexUnavailable:  # no database any more
            self._remove()
            return SqliteIndex(self._path, self._vectors_in, dimensions=self._dimensions)

    def _remove(self) -> None:
        self._forget_whole()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _forget_whole(self) -> None:
        self.whole = False
        self._mark.unlink(missing_ok=True)
