"""Ports that fail when they are told to: with `--dev` alone. Each wraps the real one and else does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Literal

from agent_memory.domain.errors import EmbedderUnavailable, IndexUnavailable, StoreUnavailable
from agent_memory.domain.ports import (
    Condition,
    Delete,
    Embedded,
    Embedder,
    IndexAnswer,
    IndexEntry,
    IndexQuery,
    Item,
    Key,
    Put,
    Row,
    SearchIndex,
    Table,
    TableName,
    Write,
)
from agent_memory.domain.turns import TurnStatus

IndexState = Literal["on", "paused", "off"]


class Counter:
    """How many of the next attempts fail."""

    def __init__(self) -> None:
        self._left = 0
        self._lock = Lock()

    def set(self, count: int) -> None:
        with self._lock:
            self._left = count

    def take(self) -> bool:
        """Whether this attempt is one of them."""
        with self._lock:
            taken = self._left > 0
            self._left -= taken
            return taken


class LosingTable:
    """A table whose next `commits` of turns are carried out, and their answers lost."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.commits = Counter()

    def transact(self, writes: Sequence[Write]) -> None:
        self._table.transact(writes)
        if any(_commits(write) for write in writes) and self.commits.take():
            raise StoreUnavailable("the answer of a commit was lost, as the dev switch asked")

    def get(self, key: Key) -> Item | None:
        return self._table.get(key)

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return self._table.get_many(keys)

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
        return self._table.query(table, partition, prefix=prefix, newest_first=newest_first, after=after, limit=limit)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        return self._table.increment(key, counters, condition=condition)

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        self._table.write_many(writes)


def _commits(write: Write) -> bool:
    return (
        isinstance(write, Put)
        and write.key.table == "execution"
        and write.item.get("status") == TurnStatus.COMMITTED.value
    )


class SwitchedIndex:
    """An index that does not answer while it is `off`; `paused`, it answers and the feed is not read. follows: the one
    whose state is this one's, too."""

    def __init__(self, index: SearchIndex, follows: SwitchedIndex | None = None) -> None:
        self._index = index
        self._follows = follows
        self.state: IndexState = "on"

    def search(self, query: IndexQuery) -> IndexAnswer:
        self._require_on()
        return self._index.search(query)

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        self._require_on()
        return self._index.apply(entries)

    def _require_on(self) -> None:
        if (self._follows or self).state == "off":
            raise IndexUnavailable("the search index is switched off")


class FailingEmbedder:
    """An embedder whose next `calls` fail."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.calls = Counter()

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def floor(self) -> float:
        return self._embedder.floor

    @property
    def window(self) -> int:
        return self._embedder.window

    def knows(self, text: str) -> bool:
        return self._embedder.knows(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        if self.calls.take():
            raise EmbedderUnavailable("the embedder is switched to fail")
        return self._embedder.embed(texts, query=query)
