"""Calls that come twice with one Idempotency-Key: one effect, one answer (IF-2). What takes a kill is in e2e."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import httpx
import pytest
from embedders import HashEmbedder
from http_api import Api, TurnOverHttp, faults, ok, problem, running
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.errors import StoreUnavailable
from agent_memory.domain.ports import Embedded
from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.runtime import wiring
from agent_memory.runtime.receipts import key_of
from agent_memory.runtime.wiring import services_of
from agent_memory.store import keys
from agent_memory.store.receipts import CHUNK_BYTES

SAID = {"messages": [{"role": "user", "text": "By post, please."}]}
FACT = {"input": {"summary": "The depot closes at noon.", "kind": "fact"}}


def keyed(api: Api, path: str, body: Any = None, key: str = "k", **options: Any) -> httpx.Response:
    return api.request("POST", path, json=body or {}, headers={"Idempotency-Key": key}, **options)


def replayed(response: httpx.Response) -> bool:
    return response.headers.get("Idempotency-Replayed") == "true"


def same(first: httpx.Response, second: httpx.Response) -> bool:
    """The second is the first one again, and says so."""
    own = ("request-id", "idempotency-replayed")
    headers = [{name: value for name, value in r.headers.items() if name not in own} for r in (first, second)]
    return (
        (first.status_code, first.text, headers[0]) == (second.status_code, second.text, headers[1])
        and not replayed(first)
        and replayed(second)
        and first.headers["request-id"] != second.headers["request-id"]
    )


def events(api: Api, turn: TurnOverHttp, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(api.get(f"{turn.path}/transcript", type=kind, limit=200))["events"]
    return found


@pytest.fixture(scope="module")
def agent(api: Api) -> str:
    return api.configure()


@pytest.fixture
def turn(api: Api, agent: str) -> TurnOverHttp:
    return api.begin(agent)


# ---------------------------------------------------------------- one effect, one answer


@pytest.mark.rule("IF-2")
def test_a_turn_begun_twice_with_one_key_is_begun_once(api: Api) -> None:
    path = f"/v1/agents/{api.configure()}/turns"
    first, second = (keyed(api, path, {"session_id": "s"} | SAID) for _ in range(2))
    assert first.status_code == 201
    assert same(first, second)
    assert ok(api.post(path, {"session_id": "s"}), 201)["number"] == 2


@pytest.mark.rule("IF-2")
def test_messages_sent_twice_with_one_key_are_kept_once(api: Api, turn: TurnOverHttp) -> None:
    assert same(*(keyed(api, f"{turn.path}/messages", SAID) for _ in range(2)))
    assert len(events(api, turn, "message")) == 1


@pytest.mark.rule("IF-2")
def test_a_record_saved_twice_with_one_key_is_saved_once(api: Api, turn: TurnOverHttp) -> None:
    first, second = (keyed(api, f"{turn.path}/tools/add_memory", FACT) for _ in range(2))
    assert same(first, second)
    assert not first.json()["output"]["duplicate"]
    assert len(events(api, turn, "execution")) == 1
    assert len(turn.end()["memories"]) == 1


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize("tool", ["search_memory", "read_memory", "delete_memory", "add_memory"])
def test_any_tool_called_twice_with_one_key_is_one_execution(api: Api, turn: TurnOverHttp, tool: str) -> None:
    id = turn.add("The depot closes at noon.")["id"]
    by_id = {"input": {"id": id}}
    input = {"search_memory": {"input": {}}, "add_memory": FACT}.get(tool, by_id)  # add: a duplicate
    before = len(events(api, turn, "execution"))
    assert same(*(keyed(api, f"{turn.path}/tools/{tool}", input) for _ in range(2)))
    assert len(events(api, turn, "execution")) == before + 1


@pytest.mark.rule("IF-2")
def test_the_error_of_a_tool_is_kept(api: Api, turn: TurnOverHttp) -> None:
    first, second = (keyed(api, f"{turn.path}/tools/read_memory", {"input": {"id": "x"}}) for _ in range(2))
    assert same(first, second)
    assert first.json()["error"]["code"]
    assert len(events(api, turn, "execution")) == 1


@pytest.mark.rule("IF-2")
def test_a_recall_made_twice_with_one_key_is_one_recall(api: Api, agent: str) -> None:
    api.remember(agent, "The depot closes at noon.")
    turn = api.begin(agent)
    first, second = (keyed(api, f"{turn.path}/recall", {"query": "depot"}) for _ in range(2))
    assert same(first, second)
    assert first.json()["memories"]
    assert len(events(api, turn, "execution")) == 1


@pytest.mark.rule("IF-2", "TU-2")
@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_an_end_sent_twice_with_one_key_is_answered_the_same(api: Api, turn: TurnOverHttp, outcome: str) -> None:
    turn.add("The depot closes at noon.")
    assert same(*(keyed(api, f"{turn.path}/end", {"outcome": outcome} | SAID) for _ in range(2)))
    assert len(events(api, turn, "message")) == 1


@pytest.mark.rule("IF-2")
def test_an_end_that_stood_already_is_kept_too(api: Api, turn: TurnOverHttp) -> None:
    turn.end()
    assert same(*(keyed(api, f"{turn.path}/end", {"outcome": "completed"}) for _ in range(2)))


@pytest.mark.rule("IF-2")
def test_the_first_answer_stands_whatever_became_of_the_turn_since(api: Api, turn: TurnOverHttp) -> None:
    first = keyed(api, f"{turn.path}/messages", SAID)
    turn.end()
    assert same(first, keyed(api, f"{turn.path}/messages", SAID))
    problem(keyed(api, f"{turn.path}/messages", SAID, key="other"), 409, "turn_not_open")


@pytest.mark.rule("IF-2")
def test_an_answer_too_long_for_one_row_comes_back_whole(api: Api) -> None:
    agent = api.configure(memory={"recall": {"max_tokens": 50_000, "max_item_tokens": 50_000}})
    turn = api.begin(agent)
    chance = Random(7)
    for n in range(14):  # what no compression shortens below some 17 bits a character
        turn.add(f"Number {n}.", content="".join(chr(0x20000 + chance.randrange(42_000)) for _ in range(16_000)))
    first, second = (keyed(api, f"{turn.path}/tools/search_memory", {"input": {"limit": 50}}) for _ in range(2))
    assert same(first, second)
    assert len(zlib.compress(first.content)) > CHUNK_BYTES


# ---------------------------------------------------------------- what a key belongs to


@pytest.mark.rule("IF-2")
def test_without_a_key_every_call_counts(api: Api, turn: TurnOverHttp) -> None:
    for _ in range(2):
        assert not replayed(api.post(f"{turn.path}/messages", SAID))
    assert len(events(api, turn, "message")) == 2


@pytest.mark.rule("IF-2")
def test_a_key_belongs_to_its_path(api: Api, agent: str, turn: TurnOverHttp) -> None:
    other = api.begin(agent)
    paths = [f"{t.path}/{call}" for t in (turn, other) for call in ("messages", "recall")]
    bodies = [SAID, {"query": "x"}] * 2
    assert not any(replayed(keyed(api, path, body)) for path, body in zip(paths, bodies, strict=True))
    assert all(replayed(keyed(api, path, body)) for path, body in zip(paths, bodies, strict=True))


@pytest.mark.rule("IF-2")
def test_a_key_belongs_to_its_tool(api: Api, turn: TurnOverHttp) -> None:
    tools = [f"{turn.path}/tools/{name}" for name in ("search_memory", "read_memory")]
    assert not any(replayed(keyed(api, path, {"input": {}})) for path in tools)


@pytest.mark.rule("IF-2")
def test_other_methods_take_no_key(api: Api, turn: TurnOverHttp) -> None:
    for key in ("k", "two words", ""):
        read = api.request("GET", turn.path, headers={"Idempotency-Key": key})
        assert (read.status_code, replayed(read)) == (200, False)


@pytest.mark.rule("IF-2")
def test_a_key_with_another_body_is_refused_and_changes_nothing(api: Api, turn: TurnOverHttp) -> None:
    path = f"{turn.path}/messages"
    first = keyed(api, path, SAID)
    other = {"messages": [{"role": "user", "text": "By mail."}]}
    problem(keyed(api, path, other), 422, "idempotency_mismatch")
    assert same(first, keyed(api, path, SAID))
    assert len(events(api, turn, "message")) == 1


def spelled(api: Api, path: str, text: str) -> httpx.Response:
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    return api.request("POST", path, content=text, headers=headers)


@pytest.mark.rule("IF-2")
def test_bodies_are_compared_as_json_values(api: Api, turn: TurnOverHttp) -> None:
    path = f"{turn.path}/tools/search_memory"
    first = spelled(api, path, '{"input": {"limit": 5, "query": "\\u0061"}, "conversation": "agent"}')
    assert same(first, spelled(api, path, '{"conversation":"agent",\n"input":{"query":"a","limit":5.0}}'))
    for other in ('{"input": {"limit": 5, "query": "a"}}', '{"input": {"limit": 6, "query": "a"}}'):
        problem(spelled(api, path, other), 422, "idempotency_mismatch")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def reordered(value: Any) -> Any:
    """The same value, with the names in another order, and whole numbers as floats where they are exact."""
    if isinstance(value, dict):
        return {name: reordered(inner) for name, inner in reversed(value.items())}
    if isinstance(value, list):
        return [reordered(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


def as_json(value: Any) -> Any:
    """What Python takes for equal and JSON does not is made different: true and 1."""
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    return ("bool", value) if isinstance(value, bool) else value


@pytest.mark.rule("IF-2")
@given(JSON)
def test_the_order_of_names_and_the_spelling_of_numbers_do_not_matter(value: Any) -> None:
    assert key_of("k", value) == key_of("k", reordered(value))


@pytest.mark.rule("IF-2")
@given(JSON, JSON)
def test_different_values_are_different_bodies(one: Any, other: Any) -> None:
    assert (key_of("k", one) == key_of("k", other)) == (as_json(one) == as_json(other))


# ---------------------------------------------------------------- the form of a key


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize("key", ["", "two words", "k" * 129, "clé", "ключ", "a\tb", "k\x7f"], ids=ascii)
def test_what_is_no_key_is_refused(api: Api, turn: TurnOverHttp, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode())]
    refused = problem(api.request("POST", f"{turn.path}/messages", json=SAID, headers=headers), 400, "invalid_request")
    assert faults(refused) == {"Idempotency-Key": "invalid_request"}
    assert not key or key not in str(refused)
    assert events(api, turn, "message") == []


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize("key", ["!", "~" * 128, '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "a,b;c=d"])
def test_a_key_is_any_visible_ascii(api: Api, turn: TurnOverHttp, key: str) -> None:
    assert same(*(keyed(api, f"{turn.path}/messages", SAID, key=key) for _ in range(2)))


@pytest.mark.rule("IF-1", "IF-2")
def test_a_fault_of_the_key_is_told_with_those_of_the_body(api: Api, turn: TurnOverHttp) -> None:
    refused = problem(
        keyed(api, f"{turn.path}/end", {"outcome": "x"}, key="two words", params={"wait": "y"}), 400, "invalid_request"
    )
    assert set(faults(refused)) == {"wait", "outcome", "Idempotency-Key"}


# ---------------------------------------------------------------- what is not kept


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [({"messages": []}, 400, "invalid_request"), ({"message": []}, 400, "unknown_field")],
    ids=["fault", "unknown"],
)
def test_a_key_is_free_after_a_refused_body(
    api: Api, turn: TurnOverHttp, wrong: dict[str, Any], status: int, code: str
) -> None:
    assert keyed(api, f"{turn.path}/messages", wrong).status_code == status
    first = keyed(api, f"{turn.path}/messages", SAID)
    assert same(first, keyed(api, f"{turn.path}/messages", SAID))


@pytest.mark.rule("IF-2")
def test_a_key_is_free_after_a_refusal_by_the_operation(api: Api, agent: str) -> None:
    path = f"/v1/agents/{agent}/turns"
    problem(keyed(api, path, {"session_id": "s", "agent_version": 99}), 422, "unknown_version")
    begun = keyed(api, path, {"session_id": "s"})  # another body, too
    assert (begun.status_code, replayed(begun)) == (201, False)
    assert same(begun, keyed(api, path, {"session_id": "s"}))


@pytest.mark.rule("IF-2")
def test_a_key_of_an_agent_that_is_not_there_is_free_once_it_is(api: Api) -> None:
    path = "/v1/agents/not-yet/turns"
    problem(keyed(api, path, {"session_id": "s"}), 404, "not_found")
    api.configure("not-yet")
    assert keyed(api, path, {"session_id": "s"}).status_code == 201


class UnreadTable:
    """A table whose next `lost` queries are not answered."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def query(self, *where: Any, **options: Any) -> Any:
        if self.lost:
            self.lost -= 1
            raise StoreUnavailable("a page was not read")
        return self._table.query(*where, **options)


@pytest.fixture
def switched_table(edition: Edition) -> Iterator[UnreadTable]:
    ports = edition.services
    table = UnreadTable(edition.switches.table if edition.switches else None)
    others = (ports.index, ports.embedder, ports.reviewer, ports.turn_ends)
    own = services_of(table, *others, history_index=ports.history_index, together=ports.together, clock=ports.clock)
    wiring.use(wiring.Wired(own, "one machine"))
    yield table
    wiring.use(wiring.Wired(ports, "one machine"))


@pytest.mark.rule("IF-2", "TL-5")
def test_unavailable_is_not_kept(api: Api, edition: Edition, turn: TurnOverHttp, switched_table: UnreadTable) -> None:
    path = f"{turn.path}/tools/search_memory"
    switched_table.lost = 1
    failed = keyed(api, path, {"input": {}})
    assert ok(failed)["error"]["code"] == "unavailable"
    first = keyed(api, path, {"input": {}})
    assert "output" in ok(first)
    assert same(first, keyed(api, path, {"input": {}}))


# ---------------------------------------------------------------- faults in the middle


@pytest.mark.rule("IF-2", "TU-1")
def test_a_commit_whose_answer_was_lost_is_found(api: Api) -> None:
    turn = api.begin(api.configure(memory={"extraction": {"every": {"messages": 1000}}}))  # the call itself commits
    turn.add("The depot closes early on Fridays.")
    ok(api.post("/v1/dev/faults", {"commit_answer_lost": 1}))
    problem(keyed(api, f"{turn.path}/end", {"outcome": "completed"} | SAID), 503, "unavailable")
    found = keyed(api, f"{turn.path}/end", {"outcome": "completed"} | SAID)
    assert replayed(found)
    assert (ok(found)["status"], len(ok(found)["memories"])) == ("committed", 1)
    assert len(events(api, turn, "message")) == 1


class WaitingEmbedder(HashEmbedder):
    """Waits in the middle of a call, where a test wants to see two at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = False
        self.entered, self.go_on = Event(), Event()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        if self.waits:
            self.entered.set()
            assert self.go_on.wait(60)
        return super().embed(texts, query=query)


@pytest.fixture
def waiting(tmp_path: Path, edition: Edition) -> Iterator[tuple[Api, WaitingEmbedder]]:
    embedder = WaitingEmbedder()
    with running(tmp_path, lambda _: embedder) as own:
        yield Api(Gateway(own.switches).app()), embedder
        embedder.go_on.set()
    wiring.use(wiring.Wired(edition.services, "one machine"))


def during(embedder: WaitingEmbedder, call: Callable[[], Any], meanwhile: Callable[[], None]) -> Any:
    """The result of `call`, which waits in its middle until `meanwhile` is done."""
    embedder.waits = True
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(call)
        assert embedder.entered.wait(60)
        embedder.waits = False
        meanwhile()
        embedder.go_on.set()
        return running.result()


@pytest.mark.rule("IF-2")
def test_while_the_first_runs_the_second_is_told_so(waiting: tuple[Api, WaitingEmbedder]) -> None:
    api, embedder = waiting
    turn = api.begin(api.configure(memory={"search": {"mode": "hybrid"}}))
    path = f"{turn.path}/tools/add_memory"

    def meanwhile() -> None:
        second = keyed(api, path, FACT)
        problem(second, 409, "in_progress")
        assert second.headers["Retry-After"] == "1"
        other = {"input": {"summary": "Another.", "kind": "fact"}}
        problem(keyed(api, path, other), 422, "idempotency_mismatch")
        assert not replayed(keyed(api, path, other, key="other"))

    first = during(embedder, lambda: keyed(api, path, FACT), meanwhile)
    assert same(first, keyed(api, path, FACT))
    assert len(turn.end()["memories"]) == 2


@pytest.mark.rule("IF-2")
def test_one_that_is_slower_than_its_lease_has_no_effect_once_another_has_taken_over(
    waiting: tuple[Api, WaitingEmbedder],
) -> None:
    api, embedder = waiting
    turn = api.begin(api.configure(memory={"search": {"mode": "hybrid"}}))
    path = f"{turn.path}/tools/add_memory"
    taken: list[httpx.Response] = []

    def meanwhile() -> None:
        ok(api.post("/v1/dev/clock", {"advance": "5m"}))
        taken.append(keyed(api, path, FACT))

    slow = during(embedder, lambda: keyed(api, path, FACT), meanwhile)
    problem(slow, 409, "in_progress")
    assert same(taken[0], keyed(api, path, FACT))
    assert len(turn.end()["memories"]) == 1


@pytest.mark.rule("IF-2")
def test_a_search_that_is_slower_than_its_lease_is_not_answered_beside_the_one_that_took_over(
    waiting: tuple[Api, WaitingEmbedder],
) -> None:
    api, embedder = waiting
    turn = api.begin(api.configure(memory={"search": {"mode": "hybrid"}}))
    path, body = f"{turn.path}/tools/search_memory", {"input": {"query": "depot"}}
    taken: list[httpx.Response] = []

    def meanwhile() -> None:
        ok(api.post("/v1/dev/clock", {"advance": "5m"}))
        taken.append(keyed(api, path, body))

    problem(during(embedder, lambda: keyed(api, path, body), meanwhile), 409, "in_progress")
    assert same(taken[0], keyed(api, path, body))
    assert len(events(api, turn, "execution")) == 1


# ---------------------------------------------------------------- time


@pytest.mark.rule("IF-2")
def test_a_key_is_free_after_24_hours(api: Api, agent: str) -> None:
    path = f"/v1/agents/{agent}/turns"
    first = keyed(api, path, {"session_id": "day"}, key="day")
    ok(api.post("/v1/dev/clock", {"advance": "86395s"}))
    assert same(first, keyed(api, path, {"session_id": "day"}, key="day"))
    ok(api.post("/v1/dev/clock", {"advance": "10s"}))
    later = keyed(api, path, {"session_id": "another day"}, key="day")
    assert (later.status_code, replayed(later)) == (201, False)
    assert later.json()["turn_id"] != first.json()["turn_id"]
    assert same(later, keyed(api, path, {"session_id": "another day"}, key="day"))


@pytest.mark.rule("IF-2")
def test_the_sweep_removes_what_no_key_finds_any_more(api: Api, edition: Edition) -> None:
    agent = api.configure()
    assert keyed(api, f"/v1/agents/{agent}/turns", {"session_id": "s"}).status_code == 201
    partitions = {keys.receipts(agent, f"{digit:x}") for digit in range(16)}
    assert edition.switches is not None
    table = edition.switches.table

    def rows() -> int:
        ok(api.post("/v1/dev/run", {"job": "sweep"}))
        return sum(len(table.query("execution", partition)) for partition in partitions)

    assert rows() == 1
    ok(api.post("/v1/dev/clock", {"advance": "25h"}))
    assert rows() == 0
