"""What the client sends again, when, and how often; against a scripted server. Pauses are counted and not slept."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from scripted_api import DROP, Say, ScriptedApi, problem, scripted_api, turn

from agent_memory.client import (
    AgentMemory,
    Conflict,
    Resending,
    Throttled,
    Unavailable,
    Unreachable,
    UnreadableAnswer,
)
from agent_memory.client.records import Writer

BUSY = problem(503, "unavailable", retry_after="1")
SLOWER = problem(429, "throttled", retry_after="7")
RECALLED = Say(
    body={
        "recorded": False,
        "tool_execution_id": None,
        "conversation": "agent",
        "constraints": [],
        "memories": [],
        "omitted": {"count": 0, "tokens": 0, "ids": []},
        "below_min_score": 0,
        "block": "",
        "usage": None,
        "degraded": False,
        "degraded_reason": None,
        "ranked": 0,
    }
)
CONFIGURED = Say(body={"agent_id": "support", "version": 1, "config": {}, "created_at": "", "created_by": ""})
CALLED = Say(body={"tool_execution_id": "t", "output": {}})

Make = Callable[..., Any]
RECORD = Say(
    body=dict.fromkeys(("content", "replaced_by", "occurred_at", "session_id", "workflow_id", "user_id", "expires_at"))
    | dict.fromkeys(("id", "status", "scope", "kind", "summary", "source", "created_at", "written_at", "agent_id"), "")
    | {"version": 1, "labels": {}, "priority": 50, "replaces": [], "confidence": 1, "expired": False, "about": []}
    | {"confirmed_at": None, "written_by": dict.fromkeys(Writer.__slots__) | {"links": {}}}
)
JUDGED = Say(201, {"judgement_id": "j", "turn_id": "t", "verdict": "accepted", "lesson": False})

READS: list[tuple[str, Say, Make]] = [
    ("config", CONFIGURED, lambda c: c.agent.config()),
    ("memories", Say(body={"memories": [], "next": None}), lambda c: list(c.agent.memories())),
    ("transcript", Say(body={"events": [], "next": None}), lambda c: list(c.turn.transcript())),
    ("refresh", turn(), lambda c: c.turn.refresh()),
]
CHANGES: list[tuple[str, Say, Make]] = [
    ("configure", CONFIGURED, lambda c: c.agent.configure({})),
    ("delete_memory", RECORD, lambda c: c.agent.delete_memory("m", version=1)),
]
POSTS: list[tuple[str, Say, Make]] = [
    ("begin", turn(), lambda c, **key: c.agent.begin(session_id="s", **key)),
    ("add_messages", Say(body={"messages": []}), lambda c, **key: c.turn.add_messages([], **key)),
    ("call_tool", CALLED, lambda c, **key: c.turn.call_tool("add_memory", {}, **key)),
    ("judge", JUDGED, lambda c, **key: c.turn.judge("accepted", **key)),
    ("end", turn("committed"), lambda c, **key: c.turn.end(**key)),
    ("insert", RECORD, lambda c, **key: c.agent.insert_memory("x", kind="fact", scope="agent", **key)),
    ("restore", RECORD, lambda c, **key: c.agent.restore_memory("m", **key)),
    ("platform", RECORD, lambda c, **key: c.memory.platform.insert_memory("x", kind="fact", **key)),
    ("decide", RECORD, lambda c, **key: c.memory.platform.decide("m", "approve", version=1, **key)),
]
ASKS: list[tuple[str, Say, Make]] = [
    ("recall", RECALLED, lambda c, **key: c.turn.recall("keys", **key)),
    ("search", CALLED, lambda c, **key: c.turn.call_tool("search_memory", {}, **key)),
    ("read", CALLED, lambda c, **key: c.turn.call_tool("read_memory", {"id": "m"}, **key)),
]
EVERY = READS + CHANGES + POSTS + ASKS


class Rerouted(httpx.HTTPTransport):
    """port: where calls go instead, once it is set."""

    port: int | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=self.port or request.url.port)
        return super().handle_request(request)


class Client:
    """A client of the scripted server, and a turn that is open. pauses: what it would have slept."""

    def __init__(self, api: ScriptedApi) -> None:
        self.api = api
        self.pauses: list[float] = []
        self.transport = Rerouted()
        resending = Resending(attempts=3, sleep=self.pauses.append)
        self.memory = AgentMemory(api.url, resending=resending, transport=self.transport)
        self.agent = self.memory.agent("support")
        api.says(turn())
        self.turn = self.agent.turn("t")


@pytest.fixture(scope="module")
def api() -> Iterator[ScriptedApi]:
    with scripted_api() as api:
        yield api


@pytest.fixture
def client(api: ScriptedApi) -> Iterator[Client]:
    client = Client(api)
    yield client
    client.memory.close()


def table(rows: list[tuple[str, Say, Make]]) -> Any:
    return pytest.mark.parametrize(("answer", "call"), [row[1:] for row in rows], ids=[row[0] for row in rows])


@pytest.mark.rule("IF-3")
@table(EVERY)
@pytest.mark.parametrize("failure", [BUSY, problem(502, "bad_gateway"), DROP], ids=["503", "502", "dropped"])
def test_every_call_is_sent_again_as_it_was(client: Client, failure: Say, answer: Say, call: Make) -> None:
    client.api.says(failure, answer)
    call(client)
    first, second = client.api.asked
    assert (first.method, first.target, first.body) == (second.method, second.target, second.body)
    assert len(client.pauses) == 1


@pytest.mark.rule("IF-2", "IF-3")
@table(POSTS)
def test_a_post_keeps_one_key_through_its_attempts_and_each_call_has_its_own(
    client: Client, answer: Say, call: Make
) -> None:
    client.api.says(DROP, BUSY, answer)
    call(client)
    call(client)
    *attempts, other = [asked.headers["idempotency-key"] for asked in client.api.asked]
    assert len(attempts) == 3
    assert len({*attempts}) == 1
    assert other not in attempts


@pytest.mark.rule("IF-2")
@table(POSTS + ASKS)
def test_a_key_of_the_callers_own_is_sent_as_it_is(client: Client, answer: Say, call: Make) -> None:
    client.api.says(answer)
    call(client, idempotency_key="order-7/turn!")
    assert [asked.headers["idempotency-key"] for asked in client.api.asked] == ["order-7/turn!"]


@pytest.mark.rule("IF-2")
@pytest.mark.parametrize("key", ["", " ", "a b", "a\n", "ü", "k" * 129])
def test_what_is_no_key_is_not_sent_and_not_quoted(client: Client, key: str) -> None:
    client.api.says(RECALLED)
    with pytest.raises(ValueError, match="takes 1 to 128 visible ASCII characters") as error:
        client.turn.recall("keys", idempotency_key=key)
    assert client.api.asked == []
    assert "k" * 129 not in str(error.value)


@table(READS + CHANGES + ASKS)
def test_what_is_no_post_or_only_asks_has_no_key(client: Client, answer: Say, call: Make) -> None:
    client.api.says(answer)
    call(client)
    assert "idempotency-key" not in client.api.asked[0].headers


@pytest.mark.rule("IF-2")
def test_a_call_whose_first_try_still_runs_is_waited_for(client: Client) -> None:
    client.api.says(DROP, problem(409, "in_progress", retry_after="1"), turn(session_id="s"))
    assert client.agent.begin(session_id="s").state.session_id == "s"
    assert len({asked.headers["idempotency-key"] for asked in client.api.asked}) == 1
    assert len(client.pauses) == 2


def test_an_answer_that_was_kept_is_an_answer(client: Client) -> None:
    kept = turn(session_id="s")
    client.api.says(Say(201, kept.body, {"Idempotency-Replayed": "true"}))
    assert client.agent.begin(session_id="s").state.session_id == "s"


@pytest.mark.rule("IF-3", "IF-7")
@table(EVERY)
def test_a_call_that_is_throttled_is_sent_again_after_the_time_it_is_told(
    client: Client, answer: Say, call: Make
) -> None:
    client.api.says(SLOWER, SLOWER, answer)
    call(client)
    assert len(client.api.asked) == 3
    assert all(7.0 <= pause <= 7.5 for pause in client.pauses)


@table(EVERY)
def test_a_refusal_is_final(client: Client, answer: Say, call: Make) -> None:
    client.api.says(problem(409, "turn_not_open"), answer)
    with pytest.raises(Conflict):
        call(client)
    assert len(client.api.asked) == 1


def test_in_the_end_it_gives_up_with_the_last_error(client: Client) -> None:
    client.api.says(BUSY)
    with pytest.raises(Unavailable) as error:
        client.turn.recall("keys")
    assert len(client.api.asked) == 3
    assert (error.value.request_id, error.value.retry_after_s) == ("r-1", 1.0)


def test_who_is_told_to_wait_too_long_gets_the_error_at_once(client: Client) -> None:
    client.api.says(problem(429, "throttled", retry_after="3600"))
    with pytest.raises(Throttled) as error:
        client.turn.recall("keys")
    assert (len(client.api.asked), client.pauses, error.value.retry_after_s) == (1, [], 3600.0)


@table(EVERY)
def test_a_call_that_reached_nobody_is_tried_again(client: Client, answer: Say, call: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        client.transport.port = taken.getsockname()[1]
        with pytest.raises(Unreachable) as error:
            call(client)
    assert not error.value.was_sent
    assert len(client.pauses) == 2


def test_one_attempt_means_no_other(api: ScriptedApi) -> None:
    api.says(BUSY)
    with AgentMemory(api.url, resending=Resending(attempts=1)) as memory, pytest.raises(Unavailable):
        memory.status()
    assert len(api.asked) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"\xff", b'{"agent_id": 7, "version": "x"}'])
def test_an_answer_that_is_not_this_apis_is_unreadable_and_not_quoted(client: Client, body: bytes) -> None:
    client.api.says(Say(body=body))
    with pytest.raises(UnreadableAnswer) as error:
        client.memory.agent("support").config()
    assert len(client.api.asked) == 1
    assert body.decode(errors="replace") not in str(error.value)
