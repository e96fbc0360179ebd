"""What is kept of calls with an Idempotency-Key, over both tables (IF-2)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from http_api import Api, ok
from turn_ends import AtOnce
from world import World

from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.errors import ConditionFailed
from agent_memory.local.gateway import Gateway
from agent_memory.runtime import wiring
from agent_memory.runtime.wiring import services_of
from agent_memory.store import keys
from agent_memory.store.receipts import (
    CHUNK_BYTES,
    KEPT_S,
    LEASE_S,
    MAX_BYTES,
    Asked,
    Claim,
    Differs,
    Kept,
    Receipts,
    Running,
)

ASKED = Asked("a#turn#t", "c" * 64, "b" * 64)
OTHER = Asked("a#turn#t", "c" * 64, "d" * 64)


def claimed(receipts: Receipts, world: World, token: str, asked: Asked = ASKED) -> Claim:
    claim = receipts.claim(asked, token, world.clock.now())
    assert isinstance(claim, Claim), claim
    return claim


@pytest.fixture
def receipts(world: World) -> Receipts:
    return Receipts(world.table)


@pytest.mark.rule("IF-2")
def test_a_call_is_claimed_once_until_its_lease_ends(world: World, receipts: Receipts) -> None:
    first = claimed(receipts, world, "1")
    assert receipts.claim(ASKED, "2", world.clock.now()) == Running()
    assert receipts.claim(OTHER, "2", world.clock.now()) == Differs()
    world.clock.advance(seconds=LEASE_S + 1)
    second = claimed(receipts, world, "2", OTHER)
    assert (receipts.holds(first), receipts.holds(second)) == (False, True)
    with pytest.raises(ConditionFailed):
        receipts.keep(first, b"late", world.clock.now())
    receipts.release(first, world.clock.now())
    assert receipts.claim(OTHER, "3", world.clock.now()) == Running()


@pytest.mark.rule("IF-2")
def test_a_kept_answer_comes_back_for_24_hours(world: World, receipts: Receipts) -> None:
    claim = claimed(receipts, world, "1")
    receipts.keep(claim, b"answer", world.clock.now())
    receipts.release(claim, world.clock.now())  # of no avail: the answer stands
    for _ in range(2):
        assert receipts.claim(ASKED, "2", world.clock.now()) == Kept(b"answer")
        assert receipts.claim(OTHER, "2", world.clock.now()) == Differs()
        world.clock.advance(seconds=KEPT_S - 60)
    claimed(receipts, world, "3", OTHER)


@pytest.mark.rule("IF-2")
def test_a_released_call_is_anybodys(world: World, receipts: Receipts) -> None:
    receipts.release(claimed(receipts, world, "1"), world.clock.now())
    claimed(receipts, world, "2", OTHER)


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize("size", [1, CHUNK_BYTES, CHUNK_BYTES + 1, MAX_BYTES])
def test_an_answer_of_any_length_comes_back_whole(world: World, receipts: Receipts, size: int) -> None:
    packed = bytes(n % 251 for n in range(size))
    receipts.keep(claimed(receipts, world, "1"), packed, world.clock.now())
    assert receipts.claim(ASKED, "2", world.clock.now()) == Kept(packed)


@pytest.mark.rule("IF-2")
def test_an_answer_that_no_transaction_takes_frees_the_key(world: World, receipts: Receipts) -> None:
    receipts.keep(claimed(receipts, world, "1"), bytes(MAX_BYTES + 1), world.clock.now())
    claimed(receipts, world, "2", OTHER)


@pytest.mark.rule("IF-2")
def test_what_a_server_that_is_gone_left_running_is_dead(world: World) -> None:
    before, after = Receipts(world.table, server="before"), Receipts(world.table, server="after")
    gone = claimed(before, world, "1")
    assert before.claim(ASKED, "2", world.clock.now()) == Running()
    claimed(after, world, "3")
    assert not before.holds(gone)
    after.keep(claimed(after, world, "4", Asked("p", "k", "b")), b"answer", world.clock.now())
    again = Receipts(world.table, server="again")
    assert again.claim(Asked("p", "k", "b"), "5", world.clock.now()) == Kept(b"answer")


@pytest.fixture
def api(world: World) -> Iterator[Api]:
    wiring.use(wiring.Wired(world.services, "test"))
    yield Api(Gateway().app())
    wiring.use(None)


@pytest.mark.rule("IF-2")
def test_a_whole_turn_said_twice_is_one_turn(world: World, api: Api) -> None:
    agent = api.configure()

    def said(path: str, body: object, key: str) -> dict[str, object]:
        answers = [api.request("POST", path, json=body, headers={"Idempotency-Key": key}) for _ in range(2)]
        assert answers[0].text == answers[1].text
        assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None, "true"]
        return ok(answers[1], answers[0].status_code)

    turn = said(f"/v1/agents/{agent}/turns", {"session_id": "s"}, "1")
    path = f"/v1/agents/{agent}/turns/{turn['turn_id']}"
    said(f"{path}/messages", {"messages": [{"role": "user", "text": "By post, please."}]}, "2")
    said(f"{path}/tools/add_memory", {"input": {"summary": "Wants post.", "kind": "fact", "scope": "agent"}}, "3")
    said(f"{path}/judgements", {"verdict": "accepted"}, "4")
    said(f"{path}/recall", {"query": "post"}, "5")
    said(f"{path}/tools/search_memory", {"input": {"query": "post"}}, "6")
    ended = said(f"{path}/end", {"outcome": "completed"}, "7")
    assert len(ended["memories"]) == 1  # type: ignore[arg-type]
    kinds = [event["type"] for event in ok(api.get(f"{path}/transcript", limit=200))["events"]]
    assert [kinds.count(kind) for kind in ("message", "execution", "judgement", "turn.committed")] == [1, 2, 1, 1]


class Counting:
    """A table that writes down the names of its calls."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self._table, name)


@pytest.mark.rule("IF-2")
def test_a_key_costs_one_transaction_and_a_repetition_that_alone(machine: World) -> None:
    ports, table = machine.services, Counting(machine.table)
    counted = services_of(
        table,
        ports.index,
        ports.embedder,
        ports.reviewer,
        AtOnce(),
        history_index=ports.history_index,
        together=ports.together,
        clock=ports.clock,
    )
    wiring.use(wiring.Wired(counted, "test"))
    api = Api(Gateway().app())
    agent = api.configure()
    turn = api.begin(agent)

    def cost(path: str, body: object, **headers: str) -> list[str]:
        table.calls.clear()
        assert api.request("POST", path, json=body, headers=headers).is_success
        return list(table.calls)

    said = {"messages": [{"role": "user", "text": "By post, please."}]}
    depot = {"query": "depot"}
    first, second = ({"input": {"summary": f"The depot closes at {hour}.", "kind": "fact"}} for hour in ("six", "ten"))
    key = {"Idempotency-Key": "k"}
    for path, body, other in [
        (f"/v1/agents/{agent}/turns", {"session_id": "s1"}, {"session_id": "s1"}),
        (f"{turn.path}/messages", said, said),
        (f"{turn.path}/tools/add_memory", first, second),
        (f"{turn.path}/tools/search_memory", {"input": depot}, {"input": depot}),
    ]:
        plain = ["transact" if call == "write_many" else call for call in cost(path, body)]
        assert cost(path, other, **key) == ["transact", *plain], path
        assert cost(path, other, **key) == ["transact"], path
    shows_nothing = cost(f"{turn.path}/recall", depot)  # and so writes nothing, but for the answer that is kept
    assert cost(f"{turn.path}/recall", depot, **key) == ["transact", *shows_nothing, "transact"]
    wiring.use(None)


@pytest.mark.rule("IF-2", "LC-4")
def test_a_row_holds_no_key_and_lies_where_an_erasure_finds_it(world: World, api: Api) -> None:
    agent = api.configure()
    headers = {"Idempotency-Key": "a-very-telling-key"}
    begun = ok(api.request("POST", f"/v1/agents/{agent}/turns", json={"session_id": "s"}, headers=headers), 201)
    body = {"messages": [{"role": "user", "text": "By post."}]}
    ok(api.request("POST", f"/v1/agents/{agent}/turns/{begun['turn_id']}/messages", json=body, headers=headers))
    shards = {keys.receipts(agent, f"{digit:x}") for digit in range(16)}
    partitions = [keys.turn_partition(agent, begun["turn_id"]), *shards]
    rows = [row for each in partitions for row in world.table.query("execution", each, prefix=keys.RECEIPT)]
    assert len(rows) == 2
    assert "telling" not in str(rows)
    for row in rows:
        left = row.item[keys.EXPIRES] - world.clock.now().timestamp()
        assert abs(left - KEPT_S) < 10


@pytest.mark.rule("IF-2")
def test_on_one_machine_the_sweep_removes_what_is_kept_no_more(machine: World) -> None:
    table, clock, receipts = machine.table, machine.clock, Receipts(machine.table)
    assert isinstance(table, SqliteTable)
    receipts.keep(claimed(receipts, machine, "1"), bytes(CHUNK_BYTES + 1), clock.now())
    table.purge(clock.now())
    assert len(table.query("execution", ASKED.partition)) == 2
    table.purge(clock.now() + timedelta(seconds=KEPT_S))
    assert table.query("execution", ASKED.partition) == []
