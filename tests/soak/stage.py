"""The product that a run plays against: one edition over a table and an index, with a clock that only tests move, and
faults at its ports. Can be killed: then only what the table and the index hold is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from world import FixedClock, SwitchedIndex, unindexed_keys

from agent_memory.adapters.dynamodb import DynamoDBTable
from agent_memory.adapters.opensearch import OpenSearchIndex
from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Key, SearchIndex, Table
from agent_memory.operations.index import embed_waiting, index_commits
from agent_memory.operations.services import Services
from agent_memory.runtime.wiring import Wired, in_turn, services_of, use
from agent_memory.store.keys import agent_of
from agent_memory.store.records import Records

from .faults import FaultyEmbedder, FaultyTable
from .reviews import Left, Silent

Opened = tuple[Table, SearchIndex, Callable[[], None]]  # and how to let go of them
Open = Callable[[FaultyEmbedder], Opened]


class Stage(AbstractContextManager["Stage"]):
    """open: gives table and index, each time the same ones behind new objects."""

    def __init__(self, open: Open) -> None:
        self.clock = FixedClock()
        self.kills = 0
        self.shown: list[list[str]] = []  # to the reviewer, what each call was shown; a test takes it out
        self._open = open
        self._embedder = FaultyEmbedder(dimensions=8)
        self._closing = ExitStack()
        self._down = (False, False)
        self._start()

    def __exit__(self, *_: object) -> None:
        use(None)
        self._closing.close()

    def kill(self) -> None:
        """All objects go; those of a dead process close nothing themselves, but files must not run out."""
        self.kills += 1
        struck = self.table.struck
        self._closing.close()
        self._embedder = FaultyEmbedder(dimensions=8)
        self._start()
        self.table.struck += struck

    def go_down(self, *, index: bool, embedder: bool) -> None:
        self._down = (index, embedder)
        self.index.down, self._embedder.down = self._down

    @property
    def is_up(self) -> bool:
        return self._down == (False, False)

    def unindexed(self) -> list[Key]:
        return sorted(unindexed_keys(self.table.inner), key=lambda key: key.sort)

    def index_some(self, commits: Sequence[Key]) -> None:
        if not self.index.down:
            index_commits(self.services, list(commits))

    def embed_waiting(self) -> None:
        embed_waiting(self.services)

    def _start(self) -> None:
        table, index, close = self._open(self._embedder)
        self._closing.callback(close)
        self.table, self.index = FaultyTable(table), SwitchedIndex(index)
        self.services: Services = services_of(
            self.table,
            self.index,
            self._embedder,
            Silent(self.shown),
            Left(),
            history_index=self.index,
            together=in_turn,
            clock=self.clock,
        )
        self.go_down(index=self._down[0], embedder=self._down[1])
        use(Wired(self.services, "one machine"))


def one_machine(folder: Path) -> Open:
    def opened(embedder: FaultyEmbedder) -> Opened:
        table = SqliteTable(folder / "store.db")
        records = Records(table)
        vectors = lambda partition: records.vectors_in(partition, embedder.model)  # noqa: E731
        index = SqliteIndex(folder / "index.db", vectors, dimensions=embedder.dimensions)
        return table, index, lambda: _close(index, table)

    return opened


def in_aws(client: Any, node: Any, alias: str) -> Open:
    """DynamoDB as the client has it, and the index of that name on a real node: neither goes when the stage is left."""

    def opened(embedder: FaultyEmbedder) -> Opened:
        table = DynamoDBTable("Memory", "Execution", client)
        index = OpenSearchIndex(node, alias, model=embedder.model, dimensions=embedder.dimensions, agent_of=agent_of)
        index.ensure()
        return table, index, lambda: None

    return opened


def _close(*several: SqliteTable | SqliteIndex) -> None:
    for one in several:
        one.close()
