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

Make = Callable[["Client"], Any]
REPEATABLE: list[tuple[str, Say, Make]] = [
    ("configure", CONFIGURED, lambda c: c.agent.configure({})),
    ("config", CONFIGURED, lambda c: c.agent.config()),
    ("memories", Say(body={"memories": [], "next": None}), lambda c: list(c.agent.memories())),
    ("transcript", Say(body={"events": [], "next": None}), lambda c: list(c.turn.transcript())),
    ("recall", RECALLED, lambda c: c.turn.recall("keys")),
    ("search", CALLED, lambda c: c.turn.call_tool("search_memory", {})),
    ("read", CALLED, lambda c: c.turn.call_tool("read_memory", {})),
    ("delete", CALLED, lambda c: c.turn.call_tool("delete_memory", {})),
    ("refresh", turn(), lambda c: c.turn.refresh()),
    ("end", turn("committed"), lambda c: c.turn.end()),
]
NOT_REPEATABLE: list[tuple[str, Say, Make]] = [
    ("begin", turn(), lambda c: c.agent.begin(session_id="s")),
    ("add_messages", Say(body={"messages": []}), lambda c: c.turn.add_messages([])),
    ("add", CALLED, lambda c: c.turn.call_tool("add_memory", {})),
    ("unknown tool", CALLED, lambda c: c.turn.call_tool("pin_memory", {})),
]
EVERY = REPEATABLE + NOT_REPEATABLE


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
@table(REPEATABLE)
@pytest.mark.parametrize("failure", [BUSY, problem(502, "bad_gateway"), DROP], ids=["503", "502", "dropped"])
def test_a_call_that_does_no_more_when_it_comes_twice_is_sent_again(
    client: Client, failure: Say, answer: Say, call: Make
) -> None:
    client.api.says(failure, answer)
    call(client)
    first, second = client.api.asked
    assert (first.method, first.target, first.body) == (second.method, second.target, second.body)
    assert len(client.pauses) == 1


@pytest.mark.rule("IF-3")
@table(NOT_REPEATABLE)
@pytest.mark.parametrize("failure", [BUSY, DROP], ids=["503", "dropped"])
def test_any_other_is_not_sent_again_when_it_may_have_been_carried_out(
    client: Client, failure: Say, answer: Say, call: Make
) -> None:
    client.api.says(failure, answer)
    with pytest.raises(Unavailable) as error:
        call(client)
    assert len(client.api.asked) == 1
    assert isinstance(error.value, Unreachable) is failure.drop
    if isinstance(error.value, Unreachable):
        assert error.value.was_sent


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
