"""Every type of event in a transcript, and every kind of problem and refusal, as real calls bring them about, held
against the shapes that the OpenAPI document promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest
from http_api import Api, TurnOverHttp, ok, problem, running

from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.domain.ports import Said
from agent_memory.local.edition import Edition
from agent_memory.runtime.openapi import document
from agent_memory.runtime.record_shapes import ToolAnswer
from agent_memory.runtime.requests import EventType
from agent_memory.runtime.routes import ROUTES
from agent_memory.runtime.shapes import ANSWERS
from agent_memory.runtime.transcript_shapes import ExecutionShape, Transcript

PINNED = {"max_tokens": 60}
SHORT = {"max_tokens": 100, "max_item_tokens": 100}
LONG = "A story of keys that is told at length. " * 12


class Mumbling(RuleReviewer):
    """One whose answer nobody can read where somebody mumbled."""

    def propose(self, asked: Mapping[str, Any], correction: Any = None) -> Said:
        mumbled = any(message["text"] == MUMBLED["text"] for message in asked["messages"])
        return Said("Mumble.", 1, 1) if mumbled else super().propose(asked, correction)


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edition]:
    with running(tmp_path_factory.mktemp("data"), reviewer=Mumbling()) as edition:
        yield edition


@pytest.fixture
def agent(api: Api) -> str:
    return api.configure(memory={"kinds": ["fact", "constraint"], "pinned": PINNED, "recall": SHORT})


def events_of(api: Api, turn: TurnOverHttp) -> list[dict[str, Any]]:
    page = ok(api.get(f"{turn.path}/transcript", limit=200))
    Transcript.model_validate(page)
    events: list[dict[str, Any]] = page["events"]
    return events


def pin_of(words: int) -> str:
    return " ".join(["keys"] * words)


@pytest.mark.rule("TR-1", "IF-3")
def test_each_type_of_event_has_its_shape(api: Api, agent: str) -> None:
    for part in range(2):
        api.remember(agent, f"The keys, part {part}.", content=LONG)
    pinning, other = api.begin(agent), api.begin(agent)
    pinning.add(pin_of(24), pinned=True)
    other.add(pin_of(25), pinned=True)
    pinning.end()
    other.end()  # its pin has no room any more

    turn = api.begin(agent, messages=[{"role": "user", "text": "Where are the keys?"}])
    ok(api.post(f"{turn.path}/messages", {"messages": SAID}))
    turn.recall("keys")
    turn.search("keys")
    turn.call("read_memory", {"id": "no such record"})
    ok(api.post(f"{turn.path}/judgements", {"verdict": "rejected", "feedback": "Too slow."}), 201)
    turn.end("failed")

    learned = api.begin(agent, messages=[{"role": "user", "text": "Please remember that invoices are sent by post."}])
    learned.end()

    found = [event for each in (other, turn, learned) for event in events_of(api, each)]
    assert {event["type"] for event in found} == set(get_args(EventType))
    for event in found:
        if event["type"] == "execution":
            path = f"/v1/agents/{agent}/executions/{event['tool_execution_id']}"
            ExecutionShape.model_validate(ok(api.get(path)))


SAID = [
    {"role": "agent", "text": "", "calls": [{"call_id": "c1", "tool": "look_up", "input": {"order": 7}}]},
    {"role": "tool", "text": "none", "call_id": "c1", "tool": "look_up", "is_error": True},
    {"role": "system", "text": "Be brief.", "purpose": "skill"},
]


@pytest.mark.rule("TL-5", "IF-3")
@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({"summary": "two\nlines", "kind": "fact", "priority": 700}, "invalid_input"),
        ({"summary": "x", "kind": "rumour"}, "kind_not_declared"),
        ({"summary": pin_of(60), "kind": "fact", "pinned": True}, "pin_over_budget"),
        ({"summary": "x", "kind": "fact", "scope": "session", "replaces": "{broader}"}, "broader_target"),
        ({"summary": "x", "kind": "fact", "replaces": "{replaced}"}, "not_active"),
        ({"summary": "x", "kind": "fact", "memory_key": "rule"}, "key_held"),
    ],
)
def test_what_a_refusal_says_besides_has_its_shape(api: Api, agent: str, input: dict[str, Any], code: str) -> None:
    broader = api.remember(agent, "Agent-wide.", scope="agent")["id"]
    replaced = api.remember(agent, "Old.")["id"]
    api.remember(agent, "New.", replaces=replaced)
    api.remember(agent, "Never do that.", kind="constraint", memory_key="rule")
    named = {"{broader}": broader, "{replaced}": replaced}
    answer = api.begin(agent).call("add_memory", {name: named.get(str(given), given) for name, given in input.items()})
    assert ToolAnswer.model_validate(answer).error
    assert answer["error"]["code"] == code


@pytest.mark.rule("IF-1", "RC-7", "GR-8")
def test_a_problem_shows_what_stands(api: Api, agent: str) -> None:
    saved = api.remember(agent, "The keys hang in the hall.")
    path = f"/v1/agents/{agent}/memories/{saved['id']}"
    stands = {"id": saved["id"], "version": 1, "status": "ACTIVE"}
    assert problem(api.post(f"{path}/restore"), 409, "not_restorable")["current"] == stands
    refused = api.request("DELETE", path, headers={"If-Match": '"9"'})
    assert problem(refused, 412, "version_mismatch")["current"] == stands
    assert problem(api.put(f"/v1/agents/{agent}/config", {}, If_Match='"9"'), 412, "version_mismatch")["current"] == {
        "version": 1
    }


# ---------------------------------------------------------------- every route, as the document promises


class Held:
    """Calls whose answers are held against the document: status, headers, and the body against its shape."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.seen: set[str] = set()

    def __call__(self, operation: str, body: Any = None, **given: Any) -> dict[str, Any]:
        (route,) = [route for route in ROUTES if route.operation == operation]
        headers = given.pop("headers", {})
        path = route.resource.format_map({name: given.pop(name) for name in route.parameters})
        sent = {"json": body} if body is not None else {}
        answer = self.api.request(route.method, path, params=given, headers=headers, **sent)
        promised = document()["paths"][route.resource][route.method.lower()]["responses"]
        assert answer.is_success, answer.text
        assert str(answer.status_code) in promised
        always = set(promised[str(answer.status_code)]["headers"]) - {"Idempotency-Replayed"}
        assert {name for name in always if name not in answer.headers} == set()
        ANSWERS[operation].model_validate(answer.json())
        self.seen.add(operation)
        told: dict[str, Any] = answer.json()
        return told


@pytest.mark.rule("IF-3")
def test_each_route_answers_as_the_document_promises(api: Api) -> None:
    held = Held(api)
    agent = "promised"
    scopes = ["session", "agent", "platform"]
    memory = {"enabled": True, "tools": ["add_memory"], "scope": {"read": scopes, "write": scopes}}
    held("configure", {"memory": memory}, agent=agent, headers={"If-None-Match": "*"})
    for operation in ("get_config", "list_config_versions", "get_tools", "list_memories", "list_turns"):
        held(operation, agent=agent)
    turn = held("begin_turn", {"session_id": "s", "messages": SAID}, agent=agent)["turn_id"]
    held("add_messages", {"messages": SAID}, agent=agent, turn=turn)
    inputs = [{"summary": "Be brief.", "kind": "fact"}, PROPOSAL]
    called = [held("call_tool", {"input": given}, agent=agent, turn=turn, tool="add_memory") for given in inputs]
    saved, proposed = (answer["output"]["memories"][0]["id"] for answer in called)
    held("recall", {"query": "brief", "explain": True}, agent=agent, turn=turn)
    held("judge_turn", {"verdict": "accepted"}, agent=agent, turn=turn)
    held("end_turn", {"outcome": "completed", "messages": [MUMBLED]}, agent=agent, turn=turn)
    held("get_turn", agent=agent, turn=turn, wait="25")
    held("review_turn", agent=agent, turn=turn)
    for operation in ("get_turn", "get_transcript"):
        held(operation, agent=agent, turn=turn)
    held("get_execution", agent=agent, id=called[0]["tool_execution_id"])
    for operation in ("list_sessions", "get_usage", "list_memories"):
        held(operation, agent=agent)
    held("get_memory", agent=agent, id=saved)
    held("insert_memory", {"summary": "Be kind.", "kind": "fact", "scope": "agent"}, agent=agent)
    held("insert_memory", {"summary": "Be kind.", "kind": "fact", "scope": "agent"}, agent=agent)  # 200: it is there
    held("delete_memory", agent=agent, id=saved, headers={"If-Match": '"1"'})
    held("restore_memory", agent=agent, id=saved, headers={"If-Match": '"2"', "Idempotency-Key": "once"})
    held("restore_memory", agent=agent, id=saved, headers={"If-Match": '"2"', "Idempotency-Key": "once"})
    held("list_memory_versions", agent=agent, id=saved)
    held("get_memory_version", agent=agent, id=saved, n="2")
    held("list_memories", agent=agent, query="brief", explain="true")
    held("get_platform_memory", id=proposed)
    held("decide_platform_memory", {"decision": "approve"}, id=proposed, headers={"If-Match": '"1"'})
    held("insert_platform_memory", {"summary": "Be fair.", "kind": "guidance", "scope": "platform"})
    held("list_platform_memories")
    held("list_platform_memory_versions", id=proposed)
    held("delete_platform_memory", id=proposed)
    for operation in ("list_agents", "get_status", "get_openapi"):
        held(operation)
    assert held.seen == {route.operation for route in ROUTES}


MUMBLED = {"role": "user", "text": "Mumble, mumble."}
PROPOSAL = {"summary": "Refunds need a receipt.", "kind": "constraint", "scope": "platform"}
