"""Every type of event in a transcript, and every kind of problem and refusal, as real calls bring them about, held
against the shapes that the OpenAPI document promises."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from http_api import Api, TurnOverHttp, ok, problem

from agent_memory.runtime.record_shapes import ToolAnswer
from agent_memory.runtime.requests import EventType
from agent_memory.runtime.transcript_shapes import ExecutionShape, Transcript

PINNED = {"max_tokens": 60}
SHORT = {"max_tokens": 100, "max_item_tokens": 100}
LONG = "A story of keys that is told at length. " * 12


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

    found = [*events_of(api, other), *events_of(api, turn)]
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
