"""Lists and what they lead to, over HTTP: each answer as the OpenAPI document has it, each refusal with its code."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from http_api import NOWHERE, Api, faults, ok, problem

from agent_memory.runtime.shapes import ANSWERS


def shaped(operation: str, response: httpx.Response, code: int = 200) -> dict[str, Any]:
    body = ok(response, code)
    ANSWERS[operation].model_validate(body)
    return body


@pytest.fixture
def agent(api: Api) -> str:
    return api.configure(memory={"search": {"mode": "hybrid", "min_score": -1}})


def test_a_run_is_found_and_followed_to_what_it_did(api: Api, agent: str) -> None:
    path = f"/v1/agents/{agent}"
    turn = api.begin(agent, "s1", user_id="u1", execution_id="run-7")
    saved = turn.call("add_memory", {"summary": "The depot closes at noon.", "kind": "fact"}, call_id="c1")
    turn.end()
    (found,) = shaped("list_turns", api.get(f"{path}/turns", execution_id="run-7"))["turns"]
    assert found == ok(api.get(f"{path}/turns/{turn.id}"))
    read = shaped("get_execution", api.get(f"{path}/executions/{saved['tool_execution_id']}"))
    assert (read["turn_id"], read["call_id"]) == (turn.id, "c1")
    told = ok(api.get(f"{path}/turns/{turn.id}/transcript", type="execution"))["events"]
    assert told == [{name: read[name] for name in told[0]}]
    (session,) = shaped("list_sessions", api.get(f"{path}/sessions", user_id="u1"))["sessions"]
    assert (session["session_id"], session["turns"], session["closed_at"]) == ("s1", 1, None)


@pytest.mark.rule("JD-1", "TR-1")
def test_a_judgement_is_answered_and_told(api: Api, agent: str) -> None:
    turn = api.begin(agent)
    path = f"{turn.path}/judgements"
    made = shaped("judge_turn", api.post(path, {"verdict": "rejected", "feedback": "Too long.", "judge": "clerk"}), 201)
    assert (made["turn_id"], made["verdict"], made["lesson"]) == (turn.id, "rejected", True)
    assert shaped("judge_turn", api.post(path, {"verdict": "accepted"}), 201)["lesson"] is False
    (first, _) = ok(api.get(f"{turn.path}/transcript", type="judgement"))["events"]
    assert (first["judgement_id"], first["feedback"], first["judge"]) == (made["judgement_id"], "Too long.", "clerk")
    turn.end()
    problem(api.post(path, {"verdict": "accepted"}), 409, "turn_not_open")
    problem(api.post(f"/v1/agents/{agent}/turns/{NOWHERE}/judgements", {"verdict": "accepted"}), 404, "not_found")


@pytest.mark.rule("JD-1", "IF-1")
def test_an_invalid_judgement_is_refused_with_all_its_faults(api: Api, agent: str) -> None:
    turn = api.begin(agent)
    path = f"{turn.path}/judgements"
    refused = problem(api.post(path, {"verdict": "rejected", "why": "x"}), 400, "invalid_request")
    assert faults(refused) == {"feedback": "invalid_request", "why": "unknown_field"}
    assert faults(problem(api.post(path), 400, "invalid_request")) == {"verdict": "invalid_request"}
    assert ok(api.get(f"{turn.path}/transcript", type="judgement"))["events"] == []


@pytest.mark.rule("TR-1")
@pytest.mark.parametrize("kind", ["judgement", "memory.pinned", "pin.unpinned"])
def test_a_transcript_is_filtered_by_each_kind_of_event(api: Api, agent: str, kind: str) -> None:
    assert ok(api.get(f"{api.begin(agent).path}/transcript", type=kind))["events"] == []


@pytest.mark.rule("RL-6")
def test_usage_is_summed_by_what_is_asked_for(api: Api, agent: str) -> None:
    path = f"/v1/agents/{agent}/usage"
    assert shaped("get_usage", api.get(path)) == {"usage": []}
    api.begin(agent, "s1").recall("depot")
    api.begin(agent, "s2").recall("invoices")
    assert [(each["key"], each["calls"]) for each in shaped("get_usage", api.get(path))["usage"]] == [("embed", 2)]
    by_session = shaped("get_usage", api.get(path, by="session"))["usage"]
    assert [(each["key"], each["calls"]) for each in by_session] == [("s1", 1), ("s2", 1)]
    assert [each["key"] for each in shaped("get_usage", api.get(path, by="user"))["usage"]] == [None]
    assert shaped("get_usage", api.get(path, until="2020-01-01T00:00:00Z")) == {"usage": []}


@pytest.mark.rule("IF-4")
def test_agents_and_sessions_are_paged(api: Api, agent: str) -> None:
    api.configure()
    page = shaped("list_agents", api.get("/v1/agents", limit=1))
    rest = shaped("list_agents", api.get("/v1/agents", limit=200, after=page["next"]))
    ids = [each["agent_id"] for each in page["agents"] + rest["agents"]]
    assert agent in ids
    assert ids == sorted(set(ids))
    for session in ("s1", "s2"):
        api.begin(agent, session)
    path = f"/v1/agents/{agent}/sessions"
    first = shaped("list_sessions", api.get(path, limit=1))
    last = shaped("list_sessions", api.get(path, limit=1, after=first["next"]))
    assert [each["session_id"] for each in first["sessions"] + last["sessions"]] == ["s2", "s1"]
    assert last["next"] is None


@pytest.mark.rule("IF-1", "SC-5")
@pytest.mark.parametrize(
    ("below", "query", "code"),
    [
        ("turns", {"status": "closed"}, "invalid_request"),
        ("turns", {"preview": "yes"}, "invalid_request"),
        ("turns", {"since": "2026-05-12"}, "invalid_request"),
        ("turns", {"session_id": ""}, "invalid_request"),
        ("turns", {"session_id": "a\u0000"}, "invalid_request"),
        ("turns", {"review": "done"}, "invalid_request"),
        ("turns", {"limit": "201"}, "invalid_request"),
        ("sessions", {"workflow_id": "w"}, "unknown_field"),
        ("sessions", {"user_id": "x" * 129}, "invalid_request"),
        ("usage", {"by": "model"}, "invalid_request"),
        ("usage", {"limit": "5"}, "unknown_field"),
        ("usage", {"until": "2026-05-12T10:00:00"}, "invalid_request"),
    ],
)
def test_a_list_refuses_what_it_does_not_take(
    api: Api, agent: str, below: str, query: dict[str, str], code: str
) -> None:
    refused = problem(api.get(f"/v1/agents/{agent}/{below}", **query), 400, code)
    assert list(faults(refused)) == list(query)


@pytest.mark.rule("IF-4", "SC-1")
@pytest.mark.parametrize("below", ["turns", "sessions"])
def test_a_cursor_opens_the_list_it_came_from_and_no_other(api: Api, agent: str, below: str) -> None:
    other = api.configure()
    for session in ("s1", "s2"):
        api.begin(agent, session, user_id="u1")
        api.begin(other, session, user_id="u1")
    path = f"/v1/agents/{agent}/{below}"
    after = ok(api.get(path, limit=1))["next"]
    assert len(ok(api.get(path, limit=5, after=after))[below]) == 1
    for wrong, query in (
        (f"/v1/agents/{other}/{below}", {}),
        (path, {"user_id": "u1"}),
        (f"/v1/agents/{agent}/{'sessions' if below == 'turns' else 'turns'}", {}),
        ("/v1/agents", {}),
    ):
        problem(api.get(wrong, after=after, **query), 400, "invalid_cursor")
    problem(api.get(path, after=after[::-1]), 400, "invalid_cursor")


@pytest.mark.rule("GR-5", "SC-1")
def test_what_another_agent_did_is_not_there(api: Api, agent: str) -> None:
    turn = api.begin(agent, "s1", user_id="u1", execution_id="run-7")
    executed = turn.call("search_memory")["tool_execution_id"]
    other = f"/v1/agents/{api.configure()}"
    for unknown in (executed, turn.id, NOWHERE, "x", executed.lower()):
        problem(api.get(f"{other}/executions/{unknown}"), 404, "not_found")
    problem(api.post(f"{other}/turns/{turn.id}/judgements", {"verdict": "accepted"}), 404, "not_found")
    for query in ({}, {"execution_id": "run-7"}, {"session_id": "s1"}, {"user_id": "u1"}):
        assert ok(api.get(f"{other}/turns", **query))["turns"] == []
    for query in ({}, {"session_id": "s1"}, {"user_id": "u1"}):
        assert ok(api.get(f"{other}/sessions", **query))["sessions"] == []
    assert ok(api.get(f"{other}/usage"))["usage"] == []


@pytest.mark.rule("GR-5")
@pytest.mark.parametrize("below", ["turns", "sessions", "usage", f"executions/{NOWHERE}"])
def test_an_agent_that_is_not_there_is_not_found(api: Api, below: str) -> None:
    problem(api.get(f"/v1/agents/nobody/{below}"), 404, "not_found")
    problem(api.get(f"/v1/agents/platform/{below}"), 404, "not_found")
