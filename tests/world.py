"""The product in both editions, driven at the door of its operations: what integration tests share.

A `World` is one edition with a clock that moves only when it is told to, and an index that follows only when it is told
to (`world.index_all()`): a test decides what is indexed and what is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from embedders import HashEmbedder
from turn_ends import AtOnce

from agent_memory.adapters.dynamodb import DynamoDBTable
from agent_memory.adapters.opensearch import OpenSearchIndex
from agent_memory.adapters.opensearch_client import connect
from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.adapters.system import SystemIds
from agent_memory.domain.configuration import parse_config
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import Embedder, IndexAnswer, IndexEntry, IndexQuery, Key, SearchIndex, Table
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.configure import Expected, configure
from agent_memory.operations.end import end
from agent_memory.operations.enter import find_turn
from agent_memory.operations.index import Indexed, embed_waiting, index_commits
from agent_memory.operations.recall import recall
from agent_memory.operations.services import Services
from agent_memory.operations.tools import call_tool
from agent_memory.operations.transcript import transcript
from agent_memory.operations.turns import turn_answer
from agent_memory.store import keys
from agent_memory.store.agents import Agents
from agent_memory.store.calls import Calls
from agent_memory.store.deployment import Deployment
from agent_memory.store.history import History
from agent_memory.store.receipts import Receipts
from agent_memory.store.records import Records
from agent_memory.store.sessions import Sessions
from agent_memory.store.turns import Turns

EVERYTHING = {
    "enabled": True,
    "scope": {"read": ["session", "workflow", "user", "agent"], "write": ["session", "workflow", "user", "agent"]},
    "tools": ["add_memory", "read_memory", "delete_memory"],
    "search": {"min_score": -1},
}


@dataclass
class FixedClock:
    moment: datetime = datetime(2026, 5, 12, 8, tzinfo=UTC)

    def now(self) -> datetime:
        self.moment += timedelta(milliseconds=1)  # two things never happen at once
        return self.moment

    def advance(self, **span: float) -> None:
        self.moment += timedelta(**span)


@dataclass
class SwitchedIndex:
    """An index that can be off; `searches` counts."""

    inner: SearchIndex
    down: bool = False
    searches: int = 0

    def search(self, query: IndexQuery) -> IndexAnswer:
        self.searches += 1
        if self.down:
            raise IndexUnavailable("switched off")
        return self.inner.search(query)

    def apply(self, entries: list[IndexEntry]) -> dict[str, str]:
        if self.down:
            raise IndexUnavailable("switched off")
        return self.inner.apply(entries)


@dataclass
class World:
    services: Services
    table: Table
    clock: FixedClock
    index: SwitchedIndex
    ends: AtOnce

    def configure(self, *, agent: str | None = None, memory: dict[str, Any] | None = None, **rest: Any) -> str:
        agent = agent or "a" + uuid4().hex[:12]
        config = parse_config({"memory": EVERYTHING | (memory or {}), **rest})
        newest = self.services.agents.newest(agent)
        expected = Expected(version=newest.version) if newest else Expected(absent=True)
        configure(self.services, agent, config, expected, caller="tester")
        return agent

    def begin(self, agent: str, session: str | None = "s1", **fields: Any) -> WorldTurn:
        turn = begin(self.services, agent, Beginning(session_id=session, **fields)).turn
        return WorldTurn(self, agent, turn.turn_id)

    def remember(
        self, agent: str, summary: str, session: str = "s1", *, turn: dict[str, Any] | None = None, **fields: Any
    ) -> str:
        """Save one record in a turn of its own and commit it; gives its id."""
        begun = self.begin(agent, session, **(turn or {}))
        saved = begun.add(summary, **fields)
        begun.commit()
        return saved

    def recall(self, agent: str, query: str, session: str = "s1", **fields: Any) -> list[str]:
        return [item["id"] for item in self.begin(agent, session, **fields).recall(query)["memories"]]

    def commits(self) -> list[Key]:
        """Every commit that the index has not shown, oldest first, as the stream would tell of them."""
        return sorted(unindexed_keys(self.table), key=lambda key: key.sort)

    def index_all(self) -> Indexed:
        return index_commits(self.services, self.commits())

    def embed_waiting(self) -> int:
        return embed_waiting(self.services)


@dataclass
class WorldTurn:
    world: World
    agent: str
    id: str
    calls: list[dict[str, Any]] = field(default_factory=list)

    def call(self, tool: str, input: object = None, **fields: Any) -> dict[str, Any]:
        return call_tool(self.world.services, self.agent, self.id, tool, input or {}, **fields)

    def tool(self, tool: str, input: object = None, **fields: Any) -> dict[str, Any]:
        answer = self.call(tool, input, **fields)
        assert "error" not in answer, answer
        output: dict[str, Any] = answer["output"]
        return output

    def refused(self, tool: str, input: object = None, **fields: Any) -> dict[str, Any]:
        answer = self.call(tool, input, **fields)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def add(self, summary: str, *, kind: str = "fact", **fields: Any) -> str:
        id: str = self.tool("add_memory", {"summary": summary, "kind": kind, **fields})["memories"][0]["id"]
        return id

    def remove(self, id: str) -> dict[str, Any]:
        view: dict[str, Any] = self.tool("delete_memory", {"id": id})["memories"][0]
        return view

    def read(self, id: str) -> dict[str, Any]:
        view: dict[str, Any] = self.tool("read_memory", {"id": id})["sources"][0]
        return view

    def search(self, query: str | None = None, **fields: Any) -> list[str]:
        asked = {"query": query} if query is not None else {}
        return [view["id"] for view in self.tool("search_memory", {**asked, **fields})["memories"]]

    def recall(self, query: str, **fields: Any) -> dict[str, Any]:
        return recall(self.world.services, self.agent, self.id, query=query, **fields)

    def shown(self, query: str) -> list[str]:
        return [item["id"] for item in self.recall(query)["memories"]]

    def commit(self) -> dict[str, Any]:
        end(self.world.services, self.agent, self.id, outcome="completed")
        return self.state()

    def roll_back(self) -> dict[str, Any]:
        end(self.world.services, self.agent, self.id, outcome="failed")
        return self.state()

    def state(self) -> dict[str, Any]:
        return turn_answer(self.world.services, find_turn(self.world.services, self.agent, self.id))

    def transcript(self, *types: str) -> list[dict[str, Any]]:
        events, after = [], None
        while True:
            page = transcript(self.world.services, self.agent, self.id, types=types, limit=7, after=after)
            events += page["events"]
            after = page["next"]
            if after is None:
                return events


def world_of(
    table: Table, index: SearchIndex, history_index: SearchIndex, embedder: Embedder, records: Records | None = None
) -> World:
    clock, switched, ends = FixedClock(), SwitchedIndex(index), AtOnce()
    past = SwitchedIndex(history_index)
    services = Services(
        agents=Agents(table),
        records=records or Records(table),
        turns=Turns(table),
        sessions=Sessions(table),
        calls=Calls(table),
        receipts=Receipts(table),
        deployment=Deployment(table),
        history=History(table),
        index=switched,
        history_index=past,
        embedder=embedder,
        reviewer=RuleReviewer(),
        turn_ends=ends,
        clock=clock,
        ids=SystemIds(),
        together=lambda *calls: [call() for call in calls],
    )
    ends.services = services
    return World(services, table, clock, switched, ends)


@contextmanager
def one_machine(folder: Path, embedder: Embedder | None = None) -> Iterator[World]:
    embedder = embedder or HashEmbedder()
    table = SqliteTable(folder / "store.db")
    records = Records(table)
    vectors = lambda partition: records.vectors_in(partition, embedder.model)  # noqa: E731
    index = SqliteIndex(folder / "index.db", vectors, dimensions=embedder.dimensions)
    past = SqliteIndex(
        folder / "history.db",
        partial(History(table).vectors_in, model=embedder.model),
        dimensions=embedder.dimensions,
    )
    yield world_of(table, index, past, embedder, records)
    index.close()
    past.close()
    table.close()


class MadeAtFirstUse:
    """An index that most tests never use: to make and remove one takes a node a third of a second."""

    def __init__(self, index: OpenSearchIndex) -> None:
        self._index = index
        self._is_made = False

    def search(self, query: IndexQuery) -> IndexAnswer:
        return self._made().search(query)

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        return self._made().apply(entries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def _made(self) -> OpenSearchIndex:
        if not self._is_made:
            self._index.ensure()
            self._is_made = True
        return self._index


@contextmanager
def in_aws(client: Any, opensearch_url: str, embedder: Embedder | None = None) -> Iterator[World]:
    """DynamoDB (moto) and a real OpenSearch node."""
    embedder = embedder or HashEmbedder()
    table = DynamoDBTable("Memory", "Execution", client)
    node = connect(opensearch_url)
    aliases = [f"{name}-{uuid4().hex[:12]}" for name in ("memories", "history")]
    index, past = (
        OpenSearchIndex(node, alias, model=embedder.model, dimensions=embedder.dimensions, search_timeout_s=30)
        for alias in aliases
    )
    index.ensure()
    yield world_of(table, index, MadeAtFirstUse(past), embedder)
    for alias in aliases:
        node.indices.delete(index=f"{alias}*", ignore_unavailable=True)


def unindexed_keys(table: Table) -> list[Key]:
    if isinstance(table, SqliteTable):
        return [row.key for row in table.feed(10_000)]
    assert isinstance(table, DynamoDBTable)
    rows = table._client.scan(TableName="Memory")["Items"]
    found = [Key("memory", row["pk"]["S"], row["sk"]["S"]) for row in rows]
    return [key for key in found if key.sort.startswith(keys.UNINDEXED)]


def with_embedder(world: World, embedder: Embedder) -> World:
    return with_services(world, embedder=embedder)


def with_services(world: World, **ports: Any) -> World:
    """The same world with other ports."""
    ends = AtOnce()
    ends.services = replace(world.services, turn_ends=ends, **ports)
    return replace(world, services=ends.services, ends=ends)
