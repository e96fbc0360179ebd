"""The same operations on OpenSearch and moto, in this process, at 1,000 records.

moto is no measure of DynamoDB: it is one process of Python, reads the whole table for a query and copies it for a
transaction. The block tells how many calls an operation makes of either, and how long the node takes for its part.
Saving 1,000 records through moto would take an hour, so they are saved on one machine and their items are copied.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from latency_load import AGENT, grow
from moto import mock_aws
from synthetic import BIG, DIMENSIONS, FIFTY, SMALL, SyntheticEmbedder, query_of, record_of
from timing import percentile
from turn_ends import AtOnce

from agent_memory.adapters.dynamodb import DynamoDBTable
from agent_memory.adapters.dynamodb_client import dynamodb_client
from agent_memory.adapters.opensearch import OpenSearchIndex
from agent_memory.adapters.opensearch_client import OpenSearchServer
from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import IndexAnswer, IndexEntry, IndexQuery, Put, TableName
from agent_memory.local.folder import TABLE_FILE
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.end import end
from agent_memory.operations.index import rebuild
from agent_memory.operations.recall import recall
from agent_memory.operations.services import Services
from agent_memory.operations.tools import call_tool
from agent_memory.runtime.wiring import in_turn, services_of

sys.path.append(str(Path(__file__).parents[1]))
from opensearch_node.node import NodeMissing, running_node

SIZE = 1_000
_RECALLS = 30
_TURNS = {1: 3, 15: 1}
_TABLES: dict[int, TableName] = {0: "memory", 1: "execution"}  # as the SQLite file numbers them


class TimedIndex:
    """seconds: of each search."""

    def __init__(self, inner: OpenSearchIndex) -> None:
        self.inner = inner
        self.seconds: list[float] = []

    def search(self, query: IndexQuery) -> IndexAnswer:
        begun = time.perf_counter()
        answer = self.inner.search(query)
        self.seconds.append(time.perf_counter() - begun)
        return answer

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        return self.inner.apply(entries)


def report_cloud() -> None:
    print(f"\n== OpenSearch and moto, {SIZE:,} records, in process ==")
    with ExitStack() as stack:
        try:
            url = os.environ.get("OPENSEARCH_URL") or stack.enter_context(running_node())
        except NodeMissing as reason:
            print(f"left out: {reason}")
            return
        services, index, calls = stack.enter_context(filled(url))
        print_recalls(services, index, calls)
        print_turns(services, calls)


@contextmanager
def filled(url: str) -> Iterator[tuple[Services, TimedIndex, Counter[str]]]:
    """Services over both with all records in; the last counts the calls of DynamoDB."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    with mock_aws(), tempfile.TemporaryDirectory(prefix="bench-latency-") as folder:
        client = dynamodb_client(region="eu-central-1")
        calls = counted(client)
        create_tables(client, "Memory", "Execution")
        table = DynamoDBTable("Memory", "Execution", client)
        print("saving on one machine and copying", file=sys.stderr)
        grow(Path(folder), 0, SIZE, lambda _: None)
        copy(Path(folder) / TABLE_FILE, table)
        node, alias = OpenSearchServer(url), f"bench-{uuid4().hex[:12]}"
        index = TimedIndex(OpenSearchIndex(node, alias, model="synthetic", dimensions=DIMENSIONS))
        index.inner.ensure()
        # In turn, since moto is not safe with threads.
        ends = AtOnce()
        services = services_of(
            table, index, SyntheticEmbedder(), RuleReviewer(), ends, history_index=index, together=in_turn
        )
        ends.services = services
        sum(records for records, _ in rebuild(services, AGENT))
        yield services, index, calls
        node.request("DELETE", f"{alias}-*")


def counted(client: Any) -> Counter[str]:
    calls: Counter[str] = Counter()
    client.meta.events.register("before-call.dynamodb", lambda model, **_: calls.update([model.name]))
    return calls


def create_tables(client: Any, *names: str) -> None:
    for name in names:
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )


def copy(path: Path, table: DynamoDBTable) -> None:
    """All of the memory table, and nothing of the execution table: what turns leave there is read by none."""
    connection = sqlite3.connect(path)
    names = [name.decode() for (name,) in connection.execute("SELECT name FROM partitions WHERE tbl = 0")]
    connection.close()
    source = SqliteTable(path)
    for name in names:
        table.write_many([Put(row.key, row.item) for row in source.query("memory", name)])
    source.close()


def print_recalls(services: Services, index: TimedIndex, calls: Counter[str]) -> None:
    print(f"{'ms':<18}{'p50':>8}{'p95':>8}{'node p50':>10}  calls of DynamoDB")
    for scope, owner in (("small", SMALL[0]), ("big", BIG), ("fifty", FIFTY)):
        turn = begin(services, AGENT, Beginning(session_id="reading", user_id=owner)).turn.turn_id
        recall(services, AGENT, turn, query=query_of(0))
        calls.clear()
        index.seconds.clear()
        seconds = []
        for number in range(_RECALLS):
            begun = time.perf_counter()
            recall(services, AGENT, turn, query=query_of(number))
            seconds.append(time.perf_counter() - begun)
        p50, p95 = (1000 * percentile(seconds, percent) for percent in (50, 95))
        node = 1000 * percentile(index.seconds, 50)
        made = ", ".join(f"{count / _RECALLS:g} {name}" for name, count in sorted(calls.items()))
        print(f"{'recall, ' + scope:<18}{p50:>8.1f}{p95:>8.1f}{node:>10.1f}  {made}", flush=True)


def print_turns(services: Services, calls: Counter[str]) -> None:
    for adds, turns in _TURNS.items():
        calls.clear()
        begun = time.perf_counter()
        for number in range(turns):
            save_turn(services, adds, number)
        per_second = turns / (time.perf_counter() - begun)
        made = sum(calls.values()) / turns
        print(
            f"turns of {adds:<2} add(s)  {per_second:>6.2f} a second, {made:.0f} calls of DynamoDB a turn", flush=True
        )


def save_turn(services: Services, adds: int, number: int) -> None:
    turn = begin(services, AGENT, Beginning(session_id="writing", user_id=f"writer of {adds}")).turn
    for add in range(adds):
        answer = call_tool(services, AGENT, turn.turn_id, "add_memory", record_of("writer", SIZE * number + add))
        assert "error" not in answer, answer
    end(services, AGENT, turn.turn_id, outcome="completed")
