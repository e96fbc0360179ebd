"""What each route costs in DynamoDB's request units, counted by the sizes of the items it reads and writes.

Knows how DynamoDB counts ("Read and write operations" in its guide). The routes run over the one-machine table, which
gets the very requests that DynamoDB would get. moto answers `ReturnConsumedCapacity` with constants (a query .5 or 1
whatever it read, a transaction 2 an action whatever it wrote), so it cannot be asked.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from synthetic import query_of, record_of

from agent_memory.adapters.limits import check_put
from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Check, Condition, Delete, Item, Key, Put, Row, Table, TableName, Write
from agent_memory.local.gateway import Gateway
from agent_memory.operations.index import index_commits
from agent_memory.runtime import upkeep
from agent_memory.runtime.wiring import Wired, in_turn, services_of, use
from agent_memory.store.records import Records

sys.path.append(str(Path(__file__).parents[1]))
from embedders import HashEmbedder

DIMENSIONS = 1024  # the deployment's own model's
RECORDS = 150  # of the user, saved and indexed before
AGENT, USER = "support", "u-1"
READ_BYTES, WRITE_BYTES, PAGE_BYTES = 4096, 1024, 1024 * 1024  # of a read unit, a write unit, a page of a query
ITEM_BYTES = 100  # that each item takes in storage beside its size
WRITE_USD, READ_USD = 0.625, 0.125  # a million request units on demand, us-east-1, list price of 2026-11


class Units(NamedTuple):
    """kept_bytes: by how much the tables grew, as DynamoDB charges storage (100 bytes more for each item)."""

    reads: int = 0
    writes: int = 0
    requests: int = 0
    kept_bytes: int = 0

    def plus(self, other: Units, times: int = 1) -> Units:
        return Units(*(mine + times * its for mine, its in zip(self, other, strict=True)))


@dataclass(slots=True)
class MeteredTable:
    """A table that counts. All its reads are consistent, as the port demands: a unit for each 4 KB."""

    inner: Table
    spent: Units = field(default_factory=Units)

    def get(self, key: Key) -> Item | None:
        item = self.inner.get(key)
        self._add(reads=_read_units(_size(key, item)))
        return item

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Each item is rounded up for itself; one that is absent costs a unit."""
        wanted = list(dict.fromkeys(keys))
        found = self.inner.get_many(wanted)
        for start in range(0, len(wanted), 100):
            batch = wanted[start : start + 100]
            self._add(reads=sum(_read_units(_size(key, found.get(key))) for key in batch))
        return found

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
        """The items of a page are summed, then rounded up; an empty page costs a unit."""
        rows = self.inner.query(table, partition, prefix=prefix, newest_first=newest_first, after=after, limit=limit)
        size = sum(_size(row.key, row.item) for row in rows)
        self._add(reads=_read_units(size), requests=max(1, ceil(size / PAGE_BYTES)))
        return rows

    def transact(self, writes: Sequence[Write]) -> None:
        """Twice the units of each action. A check counts as a write of what it looks at, as the service was seen to do
        (Hicks, "What a conditional DynamoDB transaction actually costs")."""
        self._write(writes, factor=2)
        self.inner.transact(writes)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        before = _size(key, self.inner.get(key))
        item = self.inner.increment(key, counters, condition=condition)
        after = _size(key, item)
        self._add(writes=_write_units(max(before, after)), kept_bytes=_kept(after) - _kept(before))
        return item

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        for start in range(0, len(writes), 25):
            self._write(writes[start : start + 25])
        self.inner.write_many(writes)

    def _write(self, writes: Sequence[Write], factor: int = 1) -> None:
        """Each costs by the larger of what was there and what is put in its place."""
        units = kept = 0
        for write in writes:
            before = after = _size(write.key, self.inner.get(write.key))
            if not isinstance(write, Check):
                after = _size(write.key, write.item if isinstance(write, Put) else None)
            units += factor * _write_units(max(before, after))
            kept += _kept(after) - _kept(before)
        self._add(writes=units, kept_bytes=kept)

    def _add(self, *, reads: int = 0, writes: int = 0, requests: int = 1, kept_bytes: int = 0) -> None:
        self.spent = self.spent.plus(Units(reads, writes, requests, kept_bytes))


def _size(key: Key, item: Item | None) -> int:
    """The writer's stamp of 38 bytes included, also where an item has none."""
    return 0 if item is None else check_put(key, item)


def _kept(size: int) -> int:
    return size + ITEM_BYTES if size else 0


def _read_units(size: int) -> int:
    return max(1, ceil(size / READ_BYTES))


def _write_units(size: int) -> int:
    return max(1, ceil(size / WRITE_BYTES))


# ---------------------------------------------------------------- the routes


@dataclass(slots=True)
class Bench:
    table: MeteredTable
    app: Any
    spent: dict[str, Units] = field(default_factory=dict)

    def call(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """What the route answers; its units are kept under the name."""
        with self.counting(name):
            answer = asyncio.run(self._send(method, f"/v1/agents/{AGENT}{path}", body, headers))
        return answer.raise_for_status().json()

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        self.table.spent = Units()
        yield
        self.spent[name] = self.table.spent

    async def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, json=body, headers=headers)


CONFIGURATION = {
    "memory": {
        "enabled": True,
        "tools": ["add_memory", "read_memory", "delete_memory"],
        "scope": {"read": ["session", "user", "agent"], "write": ["session", "user", "agent"]},
        "search": {"min_score": -1},
    }
}
_ROLES = ("user", "agent", "tool", "agent", "user", "agent")
_CALL = {"tool": {"call_id": "call-1", "tool": "lookup"}}


def messages_of(turn: int) -> list[dict[str, str]]:
    """Six, of some 300 characters each."""
    texts = (" ".join(query_of(1000 * turn + 10 * at + more) for more in range(6)) for at in range(6))
    return [{"role": role, "text": text, **_CALL.get(role, {})} for role, text in zip(_ROLES, texts, strict=True)]


EXAMPLE = {"begin": 1, "recall": 2, "tools/add_memory": 1, "messages, 6": 1, "end, 1 record": 1, "index, 1 commit": 1}
"""The turn that the design reckons with, as far as its parts exist, and the indexing that follows it."""


def measure(folder: Path) -> dict[str, Units]:
    table, embedder = SqliteTable(folder / "table.db"), HashEmbedder(DIMENSIONS)
    vectors = lambda partition: Records(table).vectors_in(partition, embedder.model)  # noqa: E731
    index = SqliteIndex(folder / "index.db", vectors, dimensions=DIMENSIONS)
    metered = MeteredTable(table)
    services = services_of(metered, index, embedder, together=in_turn)
    use(Wired(services, "measured"))
    bench = Bench(metered, Gateway().app())
    try:
        bench.call("PUT config", "PUT", "/config", CONFIGURATION, **{"If-None-Match": "*"})
        for number in range(0, RECORDS, 15):
            _turn(bench, [record_of(USER, at) for at in range(number, number + 15)])
            index_commits(services, _told(table))
        saved = _turn(bench, [record_of(USER, RECORDS)])
        with bench.counting("index, 1 commit"):
            index_commits(services, _told(table))
        _read(bench, *saved)
        with bench.counting("upkeep, nothing due"):
            upkeep.run(lambda: True, leave=("floor",))  # the deployment's model ships with its floor
    finally:
        use(None)
        index.close()
        table.close()
    return bench.spent


def _told(table: SqliteTable) -> list[Key]:
    """What the stream would tell of, once."""
    rows = table.feed(100)
    table.feed_done(row.position for row in rows)
    return [row.key for row in rows]


def _turn(bench: Bench, records: Sequence[Mapping[str, str]]) -> tuple[str, str, str]:
    """Take the example turn with these records; gives its path, the last record's id, and that of its execution."""
    begun = bench.call("begin", "POST", "/turns", {"session_id": "s-1", "user_id": USER})
    turn = f"/turns/{begun['turn_id']}"
    bench.call("recall", "POST", f"{turn}/recall", {"query": query_of(1)})
    for record in records:
        added = bench.call("tools/add_memory", "POST", f"{turn}/tools/add_memory", {"input": record})
    bench.call("tools/search_memory", "POST", f"{turn}/tools/search_memory", {"input": {"query": query_of(2)}})
    id = added["output"]["memories"][0]["id"]
    bench.call("tools/read_memory", "POST", f"{turn}/tools/read_memory", {"input": {"id": id}})
    bench.call("messages, 6", "POST", f"{turn}/messages", {"messages": messages_of(len(bench.spent))})
    bench.call("judgements", "POST", f"{turn}/judgements", {"verdict": "rejected", "feedback": "Ask first."})
    bench.call("end, 1 record", "POST", f"{turn}/end", {"outcome": "completed"})
    return turn, id, added["tool_execution_id"]


def _read(bench: Bench, turn: str, record: str, execution: str) -> None:
    bench.call("GET turn", "GET", turn)
    bench.call("GET transcript", "GET", f"{turn}/transcript")
    bench.call("GET execution", "GET", f"/executions/{execution}")
    bench.call("GET turns, 10", "GET", "/turns?limit=10")
    bench.call("GET sessions", "GET", "/sessions")
    bench.call("GET usage", "GET", "/usage")
    bench.call("GET memories, 50", "GET", "/memories?limit=50")
    bench.call("GET memories of a user, 50", "GET", f"/memories?user_id={USER}&limit=50")
    bench.call("GET memory", "GET", f"/memories/{record}")
    bench.call("GET versions", "GET", f"/memories/{record}/versions")
    bench.call("GET tools", "GET", "/tools")
    bench.call("GET config", "GET", "/config")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-units-") as folder:
        spent = measure(Path(folder))
    print(f"{RECORDS} records of the user, indexed; vectors of {DIMENSIONS} dimensions; a warm function")
    print(f"{'':<34}{'read units':>12}{'write units':>13}{'requests':>10}{'bytes kept':>12}{'USD a million':>15}")
    for name, units in spent.items():
        _print(name, units)
    total = Units()
    for name, times in EXAMPLE.items():
        total = total.plus(spent[name], times)
    _print("the example turn, without review", total)


def _print(name: str, units: Units) -> None:
    usd = units.reads * READ_USD + units.writes * WRITE_USD
    print(f"{name:<34}{units.reads:>12}{units.writes:>13}{units.requests:>10}{units.kept_bytes:>12,}{usd:>15.2f}")


if __name__ == "__main__":
    main()
