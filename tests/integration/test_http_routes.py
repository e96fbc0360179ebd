"""The routes as a harness uses them, each answer held against the shape that the OpenAPI document promises."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from http_api import Api, ok, problem

from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.runtime.shapes import ANSWERS

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def shaped(operation: str, response: httpx.Response, code: int = 200) -> dict[str, Any]:
    body = ok(response, code)
    ANSWERS[operation].model_validate(body)
    return body


@pytest.fixture
def agent(api: Api) -> str:
    return api.configure(memory={"labels": {"room": {"number": 5, "description": "The room."}}})


@pytest.mark.rule("CF-7", "IF-1")
def test_a_configuration_is_stored_read_and_listed(api: Api) -> None:
    path = "/v1/agents/clerk/config"
    made = api.put(path, {"harness": {"sessions": True}}, If_None_Match="*")
    assert shaped("configure", made, 201)["config"]["memory"]["search"] == {
        "mode": "hybrid",
        "max_results": 5,
        "min_score": None,
    }
    again = api.put(path, {}, If_Match='"1"')
    assert (shaped("configure", again)["unchanged"], again.headers["etag"]) == (True, '"1"')
    changed = api.put(path, {"notes": {"enabled": False}}, If_Match='"1"')
    assert (shaped("configure", changed)["version"], changed.headers["etag"]) == (2, '"2"')
    newest = api.get(path)
    assert (shaped("get_config", newest)["version"], newest.headers["etag"]) == (2, '"2"')
    assert shaped("get_config", api.get(path, version=1))["config"]["notes"]["enabled"] is True
    page = shaped("list_config_versions", api.get(f"{path}/versions", limit=1))
    assert [v["version"] for v in page["versions"]] == [2]
    last = shaped("list_config_versions", api.get(f"{path}/versions", limit=1, after=page["next"]))
    assert ([v["version"] for v in last["versions"]], last["next"]) == ([1], None)


@pytest.mark.rule("CF-8")
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "bedrock"])
def test_the_tools_are_offered_in_the_dialect_asked_for(api: Api, agent: str, dialect: str) -> None:
    tools = shaped("get_tools", api.get(f"/v1/agents/{agent}/tools", format=dialect))
    assert (tools["format"], tools["version"], len(tools["tools"])) == (dialect, 1, 4)
    for helper in (api.get(f"/v1/agents/{agent}/tools", **{"for": "helper", "format": dialect}),):
        assert len(shaped("get_tools", helper)["tools"]) == 2


@pytest.mark.rule("TU-1", "TU-3", "TU-10", "IF-4")
def test_what_one_turn_learns_the_next_recalls(api: Api, agent: str) -> None:
    said = [{"role": "user", "text": "Invoices by post, please.", "at": "2026-05-12T10:00:00+02:00"}]
    begun = api.post(f"/v1/agents/{agent}/turns", {"session_id": "s1", "user_id": "u1", "messages": said})
    turn = shaped("begin_turn", begun, 201)
    assert (turn["status"], turn["number"], turn["attempt"], turn["still_ending"]) == ("open", 1, 1, [])
    assert TIME.fullmatch(turn["started_at"])
    path = f"/v1/agents/{agent}/turns/{turn['turn_id']}"

    added = shaped("add_messages", api.post(f"{path}/messages", {"messages": [{"role": "agent", "text": "Noted."}]}))
    assert [m["sequence"] for m in added["messages"]] == [2]
    input = {"summary": "Wants invoices by post.", "kind": "fact", "scope": "user", "labels": {"room": "Büro #1"}}
    saved = shaped("call_tool", api.post(f"{path}/tools/add_memory", {"input": input, "call_id": "c1"}))
    record = saved["output"]["memories"][0]
    assert shaped("recall", api.post(f"{path}/recall", {"query": "invoices"}))["memories"] == []
    assert [m["id"] for m in shaped("get_turn", api.get(path))["memories"]] == [record["id"]]
    ended = shaped("end_turn", api.post(f"{path}/end", {"outcome": "completed"}, wait=25))
    assert (ended["status"], [m["id"] for m in ended["memories"]]) == ("committed", [record["id"]])

    later = api.begin(agent, "s2", user_id="u1")
    recalled = shaped("recall", api.post(f"{later.path}/recall", {"query": "invoices", "explain": True}))
    assert [(m["id"], m["ranks"]["lexical"]) for m in recalled["memories"]] == [(record["id"], 1)]
    assert record["id"] in recalled["block"]

    transcript = shaped("get_transcript", api.get(f"{path}/transcript", type=["message", "execution"]))
    assert [e["type"] for e in transcript["events"]] == ["message", "message", "execution"]
    assert transcript["events"][2]["call_id"] == "c1"
    page = shaped("get_transcript", api.get(f"{path}/transcript", limit=1))
    rest = shaped("get_transcript", api.get(f"{path}/transcript", limit=200, after=page["next"]))
    sequences = [e["sequence"] for e in page["events"] + rest["events"]]
    assert sequences == sorted(set(sequences))
    assert rest["events"][-1]["type"] == "turn.committed"


@pytest.mark.rule("RC-5", "RC-6", "GR-3", "GR-4")
def test_records_are_listed_and_read_with_their_versions(api: Api, agent: str) -> None:
    old = api.remember(agent, "The depot closes at noon.", labels={"room": "Büro #1"})
    new = api.remember(agent, "The depot closes at one.", replaces=old["id"])
    path = f"/v1/agents/{agent}/memories"
    assert [r["id"] for r in shaped("list_memories", api.get(path))["memories"]] == [new["id"]]
    every = shaped("list_memories", api.get(path, status="all"))
    assert (every["degraded"], every["degraded_reason"], every["ranked"]) == (False, None, 0)
    assert [r["id"] for r in every["memories"]] == [new["id"], old["id"]]
    found = shaped("list_memories", api.get(path, status=["ACTIVE", "SUPERSEDED"], **{"label.room": "Büro #1"}))
    assert [r["id"] for r in found["memories"]] == [old["id"]]
    read = api.get(f"{path}/{old['id']}")
    record = shaped("get_memory", read)
    assert (record["status"], record["replaced_by"], read.headers["etag"]) == ("SUPERSEDED", new["id"], '"2"')
    for link in record["written_by"]["links"].values():
        ok(api.get(link))
    versions = shaped("list_memory_versions", api.get(f"{path}/{old['id']}/versions"))
    assert [(v["version"], v["status"]) for v in versions["versions"]] == [(2, "SUPERSEDED"), (1, "ACTIVE")]
    assert shaped("get_memory_version", api.get(f"{path}/{old['id']}/versions/1"))["status"] == "ACTIVE"
    for number in ("3", "0", "x", "01"):
        problem(api.get(f"{path}/{old['id']}/versions/{number}"), 404, "not_found")


@pytest.mark.rule("TU-6")
def test_a_failed_turn_is_tried_again_under_its_number(api: Api, agent: str) -> None:
    first = api.begin(agent, user_id="u1")
    ended = first.end("failed", error="The model did not answer.", messages=[{"role": "system", "text": "Gave up."}])
    assert (ended["status"], ended["reason"]) == ("rolled_back", "failed")
    second = api.begin(agent, None, retry_of=first.id)
    assert (second.made["number"], second.made["attempt"], second.made["user_id"]) == (1, 2, "u1")
    assert second.made["retry_of"] == first.id


@pytest.mark.rule("TL-6")
def test_a_helper_may_search_and_not_write(api: Api, agent: str) -> None:
    turn = api.begin(agent)
    assert "output" in turn.call("search_memory", {}, conversation="helper:h1")
    refused = turn.call("add_memory", {"summary": "x", "kind": "fact"}, conversation="program:p1")
    assert refused["error"]["code"] == "read_only"


@pytest.mark.rule("IF-6")
def test_the_status_tells_what_is_built_and_how_the_index_stands(api: Api, edition: Edition, agent: str) -> None:
    status = shaped("get_status", api.get("/v1/status"))
    assert status["embedder"] == {"model": "hash", "dimensions": 64, "min_score": 0.5, "near_score": 0.583}
    assert status["reviewer"] == {"kind": "rules", "model": "rules"}
    assert [name for name, part in status["parts"].items() if part["built"]] == ["review", "sweep", "decay"]
    assert status["parts"]["sweep"] == {"built": True, "wired": True, "last_run_at": None}
    ok(api.post("/v1/dev/index", {"state": "paused"}))
    api.remember(agent, "The depot closes at noon.")
    index = ok(api.get("/v1/status"))["index"]
    assert (index["state"], index["unindexed"]) == ("lagging", 1)
    ok(api.post("/v1/dev/index", {"state": "off"}))
    assert ok(api.get("/v1/status"))["index"]["state"] == "down"
    ok(api.post("/v1/dev/index", {"state": "on"}))
    edition.settle()
    assert ok(api.get("/v1/status"))["index"] == {"state": "ok", "unindexed": 0, "oldest_s": None}


@pytest.mark.rule("RK-6", "TU-4")
def test_while_the_index_is_off_the_store_answers_and_says_so(api: Api, edition: Edition, agent: str) -> None:
    saved = api.remember(agent, "The depot closes at noon.")
    ok(api.post("/v1/dev/index", {"state": "off"}))
    recalled = api.begin(agent).recall("depot")
    assert ([m["id"] for m in recalled["memories"]], recalled["degraded_reason"]) == ([saved["id"]], "index_down")
    ok(api.post("/v1/dev/index", {"state": "on"}))
    edition.settle()
    recalled = api.begin(agent).recall("depot")
    assert ([m["id"] for m in recalled["memories"]], recalled["degraded"]) == ([saved["id"]], False)


@pytest.mark.rule("RK-6")
def test_while_the_embedder_fails_words_answer_and_it_is_said(api: Api) -> None:
    agent = api.configure(memory={"search": {"mode": "hybrid"}})
    saved = api.remember(agent, "The depot closes at noon.")
    turn = api.begin(agent)
    ok(api.post("/v1/dev/faults", {"embedder": 1}))
    recalled = turn.recall("depot")
    assert ([m["id"] for m in recalled["memories"]], recalled["degraded_reason"]) == ([saved["id"]], "embedder_down")
    assert turn.recall("depot")["degraded"] is False


@pytest.mark.rule("TU-1", "TU-2")
def test_a_commit_whose_answer_was_lost_is_found_when_it_is_asked_again(api: Api, agent: str) -> None:
    turn = api.begin(agent)
    saved = turn.add("The depot closes at noon.")
    ok(api.post("/v1/dev/faults", {"commit_answer_lost": 1}))
    lost = api.post(f"{turn.path}/end", {"outcome": "completed"})
    problem(lost, 503, "unavailable")
    assert lost.headers["retry-after"] == "1"
    assert turn.end()["status"] == "committed"
    assert api.begin(agent).search() == [saved["id"]]


@pytest.mark.rule("LC-1")
def test_the_dev_clock_moves_all_that_time_does(api: Api, agent: str) -> None:
    now = ok(api.post("/v1/dev/clock", {"advance": "1s"}))["now"]
    api.remember(agent, "Here for a day.", expires_at=now.replace(now[:4], str(int(now[:4]) + 1), 1))
    assert len(api.begin(agent).search()) == 1
    ok(api.post("/v1/dev/clock", {"advance": "366d"}))
    assert api.begin(agent).search() == []
    assert len(ok(api.get(f"/v1/agents/{agent}/memories", expired="true"))["memories"]) == 1


@pytest.mark.parametrize(
    ("switch", "body"),
    [
        ("clock", {"advance": "soon"}),
        ("clock", {}),
        ("index", {"state": "gone"}),
        ("faults", {"embedder": -1}),
        ("faults", {"cleanup": 1}),
        ("faults", 5),
    ],
)
def test_a_dev_switch_tells_what_it_takes(api: Api, switch: str, body: Any) -> None:
    assert api.post(f"/v1/dev/{switch}", body).status_code == 400
    problem(api.get(f"/v1/dev/{switch}"), 404, "not_found")


@pytest.mark.rule("IF-7")
def test_every_answer_names_its_request(api: Api) -> None:
    ids = {
        api.get(path).headers["request-id"] for path in ("/v1/status", "/v1/status", "/v1/nothing", "/v1/openapi.json")
    }
    assert len(ids) == 4


@pytest.mark.rule("IF-3")
def test_the_openapi_document_is_served_without_the_dev_switches(api: Api) -> None:
    document = shaped("get_openapi", api.get("/v1/openapi.json"))
    assert not [path for path in document["paths"] if "dev" in path]


def test_an_unexpected_error_is_a_problem_and_no_stack_trace(api: Api, edition: Edition, capfd: Any) -> None:
    broken = Api(Gateway(None).app())
    from agent_memory.runtime import wiring

    try:
        wiring.use(wiring.Wired(None, "none"))  # type: ignore[arg-type]
        body = problem(broken.get("/v1/agents/a/config"), 503, "unavailable")
        assert "NoneType" not in str(body)
    finally:
        wiring.use(wiring.Wired(edition.services, "one machine"))
