"""Whatever is sent is answered: with what was asked for, or with a problem below 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from http_api import NOWHERE, Api
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_WORDS = """
session_id user_id messages role text calls input tool call_id conversation query summary kind content labels scope
replaces priority confidence occurred_at ids limit after id outcome error retry_of agent_version time_zone started_at at
explain memory enabled read write kinds tools search mode recall max_tokens harness retention gate deny extraction every
history index notes transcripts sessions replay_of x
"""
_PARAMETERS = """
limit after scope session_id kind status source expired since until label.a label. labels label.<name> version format
for wait type x
"""
NAMES, PARAMETERS = st.sampled_from(_WORDS.split()), st.sampled_from(_PARAMETERS.split())
TEXTS = st.text(max_size=8) | st.sampled_from(["", "\x00", "fact", "session", NOWHERE, "helper:h", "2026-05-12T10:00Z"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0, -1, 10**40, 1e-320])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), below, max_size=5),
    max_leaves=25,
)
POSTS = ("turns", "turns/{turn}/messages", "turns/{turn}/recall", "turns/{turn}/end")
TOOLS = ("search_memory", "add_memory", "read_memory", "delete_memory")
GETS = ("config", "config/versions", "tools", "turns/{turn}", "turns/{turn}/transcript", "memories")

anything = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def agent(api: Api) -> str:
    return api.configure()


def is_answer(response: Any) -> bool:
    kind = response.headers["content-type"]
    problem = response.status_code >= 400 and kind == "application/problem+json" and response.json()["code"]
    return response.status_code < 500 and (problem or kind == "application/json")


@pytest.mark.rule("IF-1", "CF-1")
@anything
@given(body=VALUES)
def test_any_body_is_answered(api: Api, agent: str, body: Any) -> None:
    turn = api.begin(agent).id
    for path in POSTS:
        answer = api.raw(f"/v1/agents/{agent}/{path.format(turn=turn)}", json.dumps(body))
        assert is_answer(answer), answer.text
    answer = api.request("PUT", f"/v1/agents/{agent}/config", content=json.dumps(body), headers={"If-Match": '"1"'})
    assert is_answer(answer), answer.text


@pytest.mark.rule("TL-5")
@anything
@given(input=VALUES | st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_input_of_a_tool_is_answered_and_recorded(api: Api, agent: str, input: Any) -> None:
    turn = api.begin(agent)
    for tool in TOOLS:
        answer = api.raw(f"{turn.path}/tools/{tool}", json.dumps({"input": input}))
        assert answer.status_code == 200, answer.text
        assert ("output" in answer.json()) != ("error" in answer.json())
    events = api.get(f"{turn.path}/transcript", type="execution").json()["events"]
    assert [event["tool"] for event in events] == list(TOOLS)


@pytest.mark.rule("IF-1", "IF-4")
@anything
@given(query=st.lists(st.tuples(PARAMETERS, TEXTS), max_size=4))
def test_any_query_string_is_answered(api: Api, agent: str, query: list[tuple[str, str]]) -> None:
    turn = api.begin(agent).id
    for path in GETS:
        answer = api.request("GET", f"/v1/agents/{agent}/{path.format(turn=turn)}", params=query)
        assert is_answer(answer), answer.text
