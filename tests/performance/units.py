"""What each route costs in DynamoDB's request units, and in calls that wait for one another (`metered` counts both).

The routes run over the one-machine table, which gets the very requests that DynamoDB would get. The agent has what
makes a recall dear: constraints of three scopes, pinned records, keys that several scopes hold.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from metered import MeteredTable, Rounds, Units
from synthetic import query_of, record_of

from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Key
from agent_memory.local.gateway import Gateway
from agent_memory.operations.index import index_commits
from agent_memory.runtime import upkeep
from agent_memory.runtime.wiring import Wired, services_of, use
from agent_memory.store.records import Records

sys.path.append(str(Path(__file__).parents[1]))
from embedders import HashEmbedder
from turn_ends import AtOnce

DIMENSIONS = 1024  # the deployment's own model's
RECORDS = 150  # of the user, saved and indexed before
AGENT, USER = "support", "u-1"
WRITE_USD, READ_USD = 0.625, 0.125  # a million request units on demand, us-east-1, list price of 2026-11


TABLE = ("get", "get_many", "increment", "query", "transact", "write_many")
"""The calls of a table."""

CONFIGURATION = {
    "memory": {
        "enabled": True,
        "kinds": ["fact", "constraint", "guidance", "preference"],
        "tools": ["add_memory", "read_memory", "delete_memory"],
        "scope": {"read": ["session", "user", "agent"], "write": ["session", "user", "agent", "platform"]},
        "search": {"min_score": -1},
        "pinned": {"max_tokens": 500},
        "extraction": {"every": {"messages": 1000}},
    },
    "history": {"index": "messages"},
}
SELDOM = 1  # the version of the configuration under which no turn here is reviewed; under the next one each is
TEACHING = "From now on, ask for the number first. I prefer short answers without lists."  # two candidates by the rules
KEYS = 5  # each held by a record of the user and by one of the agent
_ROLES = ("user", "agent", "tool", "agent", "user", "agent")
_CALL = {"tool": {"call_id": "call-1", "tool": "lookup"}}

EXAMPLE = {
    "begin, new session": 1,
    "recall": 1,
    "recall, nothing new": 1,
    "tools/add_memory": 1,
    "messages, 6": 1,
    "end, 1 record": 1,
    "index, 1 commit": 1,
}
REVIEWED = {
    **{name: times for name, times in EXAMPLE.items() if not name.startswith(("end", "index"))},
    "end, 1 record, 2 candidates": 1,
    "index, 3 records": 1,
}
"""The turn that the design reckons with, and the indexing that follows it; without a review, and with one by rules."""


@dataclass(slots=True)
class Bench:
    table: MeteredTable
    rounds: Rounds
    app: Any
    spent: dict[str, Units] = field(default_factory=dict)

    def call(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """What the route answers; its units are kept under the name. path: of the agent's, else from `/v1` on."""
        with self.counting(name):
            whole = path if path.startswith("/v1") else f"/v1/agents/{AGENT}{path}"
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            answer = asyncio.run(self._send(method, whole, body, named))
        return answer.raise_for_status().json()

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        self.table.spent, self.rounds.done = Units(), 0
        yield
        self.spent[name] = self.table.spent._replace(rounds=self.rounds.done)

    async def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, json=body, headers=headers)


def measure(folder: Path) -> dict[str, Units]:
    table, embedder, rounds = SqliteTable(folder / "table.db"), HashEmbedder(DIMENSIONS), Rounds()
    vectors = lambda partition: Records(table).vectors_in(partition, embedder.model)  # noqa: E731
    index = SqliteIndex(folder / "index.db", vectors, dimensions=DIMENSIONS)
    metered = MeteredTable(table)
    services = services_of(
        rounds.counting(metered, *TABLE),
        rounds.counting(index, "search", "apply"),
        rounds.counting(embedder, "embed"),
        RuleReviewer(),
        ends := AtOnce(),
        history_index=index,
        together=rounds.together,
    )
    ends.services = services
    use(Wired(services, "measured"))
    bench = Bench(metered, rounds, Gateway().app())
    tell = lambda: index_commits(services, _told(table))  # noqa: E731
    try:
        bench.call("PUT config", "PUT", "/config", CONFIGURATION, If_None_Match="*")
        often = {**CONFIGURATION, "memory": {**CONFIGURATION["memory"], "extraction": {"every": "turn"}}}
        bench.call("PUT config", "PUT", "/config", often, If_Match='"1"')
        _fill(bench, tell)
        turn, record = _example(bench)
        with bench.counting("index, 1 commit"):
            tell()
        _reviewed(bench)
        with bench.counting("index, 3 records"):
            tell()
        _searched(bench)
        _read(bench, turn, record)
        _change(bench)
        tell()
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


def _fill(bench: Bench, tell: Callable[[], object]) -> None:
    """Records of the user, then what every recall shows: three constraints, three pinned records, keys that meet."""
    for number in range(0, RECORDS, 15):
        turn = _begin(bench, "begin", f"s-{number}")
        for at in range(number, number + 15):
            bench.call("tools/add_memory", "POST", f"{turn}/tools/add_memory", {"input": _record(at)})
        bench.call("end, 15 records", "POST", f"{turn}/end", {"outcome": "completed"})
        tell()
    owners = ({"scope": "user", "user_id": USER}, {"scope": "agent"})
    for at in range(3):
        _save(bench, 1000 + at, kind="constraint", **owners[at % 2])
        _save(bench, 2000 + at, pinned=True, **owners[0])
    for at in range(KEYS):
        for owner in owners:
            _save(bench, 3000 + at, memory_key=f"key-{at}", **owner)
    tell()


def _record(number: int) -> dict[str, Any]:
    return {**record_of(USER, number), "scope": "user"}


def _save(bench: Bench, number: int, name: str = "POST memories", **fields: Any) -> str:
    given = record_of(f"{USER} {fields['scope']}", number) | fields
    id: str = bench.call(name, "POST", "/memories", given)["id"]
    return id


def _begin(bench: Bench, name: str, session: str, **fields: Any) -> str:
    """The turn's path."""
    begun = bench.call(name, "POST", "/turns", {"session_id": session, "user_id": USER, **fields})
    return f"/turns/{begun['turn_id']}"


def _example(bench: Bench) -> tuple[str, str]:
    """Take a turn whose record has a key and is pinned, without a review; gives its path and the record."""
    turn = _begin(bench, "begin, new session", "s-new", agent_version=SELDOM)
    bench.call("recall", "POST", f"{turn}/recall", {"query": query_of(1)})
    bench.call("recall, nothing new", "POST", f"{turn}/recall", {"query": query_of(1)})
    record = {**_record(RECORDS), "memory_key": "key-0", "pinned": True}
    added = bench.call("tools/add_memory", "POST", f"{turn}/tools/add_memory", {"input": record})
    id = added["output"]["memories"][0]["id"]
    bench.call("tools/search_memory", "POST", f"{turn}/tools/search_memory", {"input": {"query": query_of(2)}})
    bench.call("tools/read_memory", "POST", f"{turn}/tools/read_memory", {"input": {"id": id}})
    bench.call("messages, 6", "POST", f"{turn}/messages", {"messages": messages_of(1)})
    bench.call("end, 1 record", "POST", f"{turn}/end", {"outcome": "completed"})
    preview = _begin(bench, "begin", "s-new", preview=True)
    bench.call("recall, preview", "POST", f"{preview}/recall", {"query": query_of(1)})
    for name in ("messages, 6, with a key", "messages, 6, repeated"):
        bench.call(name, "POST", f"{preview}/messages", {"messages": messages_of(2)}, Idempotency_Key="k-1")
    judged = {"verdict": "rejected", "feedback": "Ask for the number first."}
    bench.call("judgement", "POST", f"{preview}/judgements", judged)
    bench.call("end, failed", "POST", f"{preview}/end", {"outcome": "failed"})
    return turn, id


def _reviewed(bench: Bench) -> None:
    """The end of the same turn with a review by rules: the call, its steps, and the commit."""
    turn = _begin(bench, "begin, new session", "s-reviewed")
    record = {**_record(RECORDS + 1), "memory_key": "key-1", "pinned": True}
    bench.call("tools/add_memory", "POST", f"{turn}/tools/add_memory", {"input": record})
    first, *rest = messages_of(3)
    taught = {**first, "text": f"{TEACHING} {first['text']}"}
    bench.call("messages, 6", "POST", f"{turn}/messages", {"messages": [taught, *rest]})
    bench.call("end, 1 record, 2 candidates", "POST", f"{turn}/end", {"outcome": "completed"})
    assert bench.call("GET turn", "GET", turn)["review"]["added"] == 2


def _searched(bench: Bench) -> None:
    """What the reviewed turn said, in a later turn, which ends without having changed or said anything."""
    turn = _begin(bench, "begin", "s-reviewed")
    bench.call("tools/search_history", "POST", f"{turn}/tools/search_history", {"input": {"query": query_of(3000)}})
    bench.call("end, nothing", "POST", f"{turn}/end", {"outcome": "completed"})


def messages_of(turn: int) -> list[dict[str, str]]:
    """Six, of some 300 characters each."""
    texts = (" ".join(query_of(1000 * turn + 10 * at + more) for more in range(6)) for at in range(6))
    return [{"role": role, "text": text, **_CALL.get(role, {})} for role, text in zip(_ROLES, texts, strict=True)]


def _read(bench: Bench, turn: str, record: str) -> None:
    events = bench.call("GET transcript", "GET", f"{turn}/transcript")["events"]
    executed = next(event["tool_execution_id"] for event in events if event["type"] == "execution")
    for name, path in {
        "GET turn": turn,
        "GET turns, 10": "/turns?limit=10",
        "GET execution": f"/executions/{executed}",
        "GET sessions, 10": "/sessions?limit=10",
        "GET usage": "/usage",
        "GET memories, 50": "/memories?limit=50",
        "GET memories of a user, 50": f"/memories?user_id={USER}&limit=50",
        "GET memories?query=": "/memories?query=invoice&limit=10",
        "GET memory": f"/memories/{record}",
        "GET versions": f"/memories/{record}/versions",
        "GET tools": "/tools",
        "GET config": "/config",
        "GET agents": "/v1/agents",
    }.items():
        bench.call(name, "GET", path)


def _change(bench: Bench) -> None:
    """What people do, and what they decide on."""
    record = _save(bench, 4000, name="POST memories, one more", scope="user", user_id=USER)
    bench.call("DELETE memory", "DELETE", f"/memories/{record}")
    bench.call("restore", "POST", f"/memories/{record}/restore")
    turn = _begin(bench, "begin", "s-new")
    proposal = {**_record(5000), "scope": "platform", "memory_key": "key-0"}
    added = bench.call("tools/add_memory, a proposal", "POST", f"{turn}/tools/add_memory", {"input": proposal})
    bench.call("end, a proposal", "POST", f"{turn}/end", {"outcome": "completed"})
    path = f"/v1/platform/memories/{added['output']['memories'][0]['id']}"
    bench.call("approval", "POST", f"{path}/approval", {"decision": "approve"}, If_Match='"1"')


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-units-") as folder:
        spent = measure(Path(folder))
    print(f"{RECORDS} records of the user, indexed; 3 constraints, 3 pins, {KEYS} keys that two scopes hold;")
    print(f"vectors of {DIMENSIONS} dimensions; a warm function. rounds: calls that wait for the one before.")
    head = ("read units", "write units", "requests", "rounds", "bytes kept", "USD a million")
    print(f"{'':<34}" + "".join(f"{name:>14}" for name in head))
    for name, units in spent.items():
        _print(name, units)
    for told, example in {"without a review": EXAMPLE, "reviewed": REVIEWED}.items():
        total = Units()
        for name, times in example.items():
            total = total.plus(spent[name], times)
        _print(f"the example turn, {told}", total)


def _print(name: str, units: Units) -> None:
    usd = units.reads * READ_USD + units.writes * WRITE_USD
    print(f"{name:<34}" + "".join(f"{number:>14,}" for number in units) + f"{usd:>14.2f}")


if __name__ == "__main__":
    main()
