"""What the HTTP interface refuses, and how: the codes, all faults at once, and never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from http_api import NOWHERE, Api, faults, ok, problem

from agent_memory.domain.cursors import cursor
from agent_memory.local.gateway import Gateway

TURN_ROUTES = ("messages", "recall", "end", "tools/search_memory")


# ---------------------------------------------------------------- paths and methods


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/agents/", "/v1/nothing", "/v2/status", "/v1/status/", "/v1/agents/a/config/", "//v1/status"],
)
def test_an_unknown_path_is_not_found(api: Api, path: str) -> None:
    problem(api.request("GET", path), 404, "not_found")


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("method", ["DELETE", "PATCH", "HEAD", "OPTIONS", "POST", "BREW"])
def test_a_method_that_a_path_does_not_have_is_told_with_those_it_has(api: Api, method: str) -> None:
    answer = api.request(method, "/v1/agents/a/config")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, PUT"
    if method != "HEAD":  # whose answers have no body
        problem(answer, 405, "method_not_allowed")


@pytest.mark.rule("SC-5", "IF-1")
@pytest.mark.parametrize("agent", ["a b", "a%23b", "a.b", "ä", "x" * 65, "platform", "a%2Fb", "a%00"])
def test_what_is_no_agents_id_is_not_found(api: Api, agent: str) -> None:
    problem(api.request("GET", f"/v1/agents/{agent}/config"), 404, "not_found")
    problem(api.put(f"/v1/agents/{agent}/config", {}, If_None_Match="*"), 404, "not_found")


@pytest.mark.rule("IF-1")
def test_a_ulid_in_lower_case_is_another_id(api: Api) -> None:
    turn = api.begin(api.configure())
    for id in (turn.id.lower(), turn.id[:-1], turn.id + "0", "8" + turn.id[1:], turn.id[:-1] + "U", "x"):
        problem(api.get(f"/v1/agents/{turn.agent}/turns/{id}"), 404, "not_found")
        problem(api.get(f"/v1/agents/{turn.agent}/memories/{id}"), 404, "not_found")


@pytest.mark.rule("IF-1")
def test_what_does_not_exist_is_not_found_on_every_route(api: Api) -> None:
    agent = api.configure()
    for name in (agent, "nobody"):
        turn = f"/v1/agents/{name}/turns/{NOWHERE}"
        problem(api.get(turn), 404, "not_found")
        problem(api.get(f"{turn}/transcript"), 404, "not_found")
        problem(api.post(f"{turn}/messages", {"messages": [{"role": "user", "text": "Hello."}]}), 404, "not_found")
        problem(api.post(f"{turn}/recall", {"query": "x"}), 404, "not_found")
        problem(api.post(f"{turn}/tools/search_memory", {"input": {}}), 404, "not_found")
        problem(api.post(f"{turn}/end", {"outcome": "completed"}), 404, "not_found")
        for path in (f"memories/{NOWHERE}", f"memories/{NOWHERE}/versions", f"memories/{NOWHERE}/versions/1"):
            problem(api.get(f"/v1/agents/{name}/{path}"), 404, "not_found")
    for path in ("config", "config/versions", "tools", "memories"):
        problem(api.get(f"/v1/agents/nobody/{path}"), 404, "not_found")
    problem(api.post("/v1/agents/nobody/turns", {"session_id": "s"}), 404, "not_found")
    problem(api.get(f"/v1/agents/{agent}/config", version=2), 404, "not_found")


@pytest.mark.rule("SC-1", "IF-1")
def test_another_agents_turn_and_record_are_not_found(api: Api) -> None:
    mine, other = api.configure(), api.configure()
    turn, record = api.begin(mine), api.remember(mine, "The depot closes at noon.", scope="agent")
    problem(api.get(f"/v1/agents/{other}/turns/{turn.id}"), 404, "not_found")
    problem(api.post(f"/v1/agents/{other}/turns/{turn.id}/end", {"outcome": "completed"}), 404, "not_found")
    problem(api.get(f"/v1/agents/{other}/memories/{record['id']}"), 404, "not_found")
    problem(api.post(f"/v1/agents/{other}/turns", {"session_id": "s1", "retry_of": turn.id}), 404, "not_found")


@pytest.mark.rule("TL-5")
def test_a_tool_that_is_not_built_is_not_found(api: Api) -> None:
    turn = api.begin(api.configure())
    for tool in ("note_list", "note_add", "Search_memory", "x" * 300, "%F0%9F%A6%8A"):
        problem(api.post(f"{turn.path}/tools/{tool}", {"input": {}}), 404, "not_found")


# ---------------------------------------------------------------- bodies

BROKEN = [
    b"{",
    b"nothing",
    b'{"query": "x"} {}',
    b"{'query': 'x'}",
    b'{"query": "\xff"}',
    b'{"query": "\xed\xa0\x80"}',
    b'{"query": NaN}',
    b'{"query": -Infinity}',
    b'{"query": 1e999}',
    b'{"query": ' + b"9" * 5000 + b"}",
    b'{"query": "a", "query": "b"}',
    b'\xef\xbb\xbf{"query": "x"}',
    b'{"query": "a\nb"}',
    b"[" * 100_000,
    b'{"query": ' + b"[" * 500 + b"]" * 500 + b"}",
    b'{"query": ' + b'{"a":' * 90 + b"1" + b"}" * 90 + b"}",
]


@pytest.mark.rule("IF-1", "TL-5")
@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("route", TURN_ROUTES)
def test_a_body_that_is_no_json_is_refused_as_a_whole(api: Api, broken_turn: str, route: str, body: bytes) -> None:
    assert faults(problem(api.raw(f"{broken_turn}/{route}", body), 400, "invalid_request")) == {"": "invalid_request"}


@pytest.fixture(scope="module")
def broken_turn(api: Api) -> str:
    return api.begin(api.configure()).path


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("body", ["[]", '"x"', "5", "null", "true", "[[]]"])
def test_a_body_that_is_no_object_is_refused(api: Api, broken_turn: str, body: str) -> None:
    for route in TURN_ROUTES:
        assert "" in faults(problem(api.raw(f"{broken_turn}/{route}", body), 400, "invalid_request"))
    configured = api.request("PUT", "/v1/agents/never/config", content=body, headers={"If-None-Match": "*"})
    problem(configured, 400, "invalid_request")


@pytest.mark.rule("IF-1", "TU-9")
def test_wrong_types_everywhere_are_told_all_at_once(api: Api) -> None:
    agent = api.configure()
    wrong: dict[str, Any] = {
        "session_id": 5,
        "workflow_id": ["w"],
        "user_id": "u\u0000",
        "execution_id": "",
        "invocation_id": "x" * 129,
        "agent_version": True,
        "retry_of": {},
        "started_at": "2026-05-12T10:00:00",
        "time_zone": "Europe/Nowhere",
        "messages": [{"role": "user"}, {"role": "nobody", "text": 7}, 5, {"role": "tool", "text": "x", "calls": []}],
        "preview": "yes",
        "replay_of": 5,
    }
    told = faults(problem(api.post(f"/v1/agents/{agent}/turns", wrong), 400, "invalid_request"))
    assert {name for name in wrong if name != "messages"} <= set(told)
    assert {"messages[0].text", "messages[1].role", "messages[2]", "messages[3].call_id", "messages[3].tool"} <= set(
        told
    )
    assert told["messages[3].calls"] == "unknown_field"


@pytest.mark.rule("CF-1", "IF-1")
def test_faults_of_body_query_and_headers_stand_in_one_answer(api: Api) -> None:
    wrong = {"sessions": "yes", "memory": {"scope": {"read": ["nowhere"]}, "kinds": "fact"}, "colour": 1}
    answer = api.request(
        "PUT", "/v1/agents/a/config", json=wrong, params={"dry_run": "true"}, headers={"If-None-Match": '"1"'}
    )
    told = faults(problem(answer, 400, "invalid_request"))
    assert set(told) == {
        "sessions", "memory.scope.read[0]", "memory.kinds", "colour", "dry_run", "If-None-Match"
    }  # fmt: skip


@pytest.mark.rule("IF-1")
def test_a_body_whose_only_faults_are_unknown_fields_says_so(api: Api, broken_turn: str) -> None:
    for route, body in (
        ("recall", {"query": "x", "limit": 5}),
        ("end", {"outcome": "completed", "review": True}),
        ("tools/search_memory", {"input": {}, "user_id": "alice"}),
        ("messages", {"messages": [{"role": "user", "text": "Hello."}], "turn": 1}),
    ):
        assert set(faults(problem(api.post(f"{broken_turn}/{route}", body), 400, "unknown_field"))) == {list(body)[-1]}


@pytest.mark.rule("IF-1")
def test_what_belongs_to_parts_that_are_not_built_is_unknown(api: Api) -> None:
    agent = api.configure()
    for path in (f"/v1/agents/{agent}/events", "/v1/events"):
        assert api.post(path, {}).status_code in (404, 405)
    for path in ("export", "merges"):
        problem(api.get(f"/v1/agents/{agent}/{path}"), 404, "not_found")


@pytest.mark.rule("RC-1", "TU-10")
def test_a_lone_surrogate_is_refused_by_its_place(api: Api, broken_turn: str) -> None:
    body = '{"messages": [{"role": "user", "text": "a\\ud800b"}, {"role": "user", "text": "fine"}], "\\udc00": 1}'
    told = faults(problem(api.raw(f"{broken_turn}/messages", body), 400, "invalid_request"))
    assert told["messages[0].text"] == "invalid_request"
    assert len(told) == 2
    assert "query" in faults(problem(api.raw(f"{broken_turn}/recall", '{"query": "\\ud83d"}'), 400, "invalid_request"))


@pytest.mark.rule("TL-5", "RC-1")
@pytest.mark.parametrize(
    "input",
    [
        '{"query": "\\ud800"}',
        '{"\\ud800": "\\ud800"}',
        "5",
        "[]",
        '"x"',
        '{"ids": {"a": ["\\udfff", 1e300]}}',
        '{"limit": ' + "9" * 60 + "}",
        '{"deep": ' + "[" * 60 + "]" * 60 + "}",
    ],
    ids=range(8),
)
def test_a_fault_of_the_input_is_the_models_to_read_and_is_recorded(api: Api, input: str) -> None:
    turn = api.begin(api.configure())
    answer = ok(api.raw(f"{turn.path}/tools/search_memory", f'{{"input": {input}}}'))
    assert answer["error"]["code"] == "invalid_input"
    events = ok(api.get(f"{turn.path}/transcript", type="execution"))["events"]
    assert [event["tool_execution_id"] for event in events] == [answer["tool_execution_id"]]


@pytest.mark.rule("RC-1")
def test_nul_is_a_character_like_others(api: Api) -> None:
    agent = api.configure()
    saved = api.remember(agent, "The code is \u0000.", content="a\u0000b")
    turn = api.begin(agent)
    assert turn.search("code") == [saved["id"]] == turn.search()
    assert ok(api.get(f"/v1/agents/{agent}/memories/{saved['id']}"))["content"] == "a\u0000b"
    assert api.post(f"/v1/agents/{agent}/turns", {"session_id": "a\u0000b"}).status_code == 400


@pytest.mark.rule("IF-7")
def test_a_body_that_is_too_large_is_refused_with_the_limit(api: Api, broken_turn: str) -> None:
    large = json.dumps({"query": "x" * 2_000_000})
    assert "1,048,576" in problem(api.raw(f"{broken_turn}/recall", large), 413, "too_large")["detail"]
    assert "1,048,576" in problem(api.raw(f"{broken_turn}/tools/search_memory", large), 413, "too_large")["detail"]
    problem(api.raw(f"{broken_turn}/recall", b"\xff" * 2_000_000), 413, "too_large")
    body = {"messages": [{"role": "user", "text": "y" * 180_000}] * 31}
    assert "5,242,880" in problem(api.post(f"{broken_turn}/messages", body), 413, "too_large")["detail"]
    ok(api.post(f"{broken_turn}/messages", {"messages": body["messages"][:20]}))


@pytest.mark.rule("IF-7")
def test_more_than_a_hundred_messages_a_call_are_refused_with_the_number(api: Api, broken_turn: str) -> None:
    body = {"messages": [{"role": "user", "text": "Hello."}] * 101}
    answer = problem(api.post(f"{broken_turn}/messages", body), 400, "invalid_request")
    assert "100" in answer["faults"][0]["message"]


@pytest.mark.rule("RL-7")
def test_a_recall_takes_exactly_one_of_query_and_messages(api: Api, broken_turn: str) -> None:
    said = [{"role": "user", "text": "Where is the depot?"}]
    for body in ({}, {"query": "x", "messages": said}, {"query": None}):
        problem(api.post(f"{broken_turn}/recall", body), 400, "invalid_request")
    for body in ({"query": ""}, {"messages": said}, {"query": "x", "messages": None}):
        ok(api.post(f"{broken_turn}/recall", body))


# ---------------------------------------------------------------- query strings


@pytest.mark.rule("IF-1", "IF-7", "CF-1")
@pytest.mark.parametrize(
    ("path", "query", "at"),
    [
        ("memories", "limit=", "limit"),
        ("memories", "limit=0", "limit"),
        ("memories", "limit=201", "limit"),
        ("memories", "limit=-1", "limit"),
        ("memories", "limit=2.5", "limit"),
        ("memories", "limit=%2B5", "limit"),
        ("memories", "limit=1_0", "limit"),
        ("memories", "limit=٥", "limit"),
        ("memories", "limit=5&limit=6", "limit"),
        ("memories", "kind=Fact", "kind"),
        ("memories", "status=active", "status[0]"),
        ("memories", "status=ACTIVE&status=", "status"),
        ("memories", "expired=1", "expired"),
        ("memories", "expired=True", "expired"),
        ("memories", "since=2026-05-12", "since"),
        ("memories", "until=yesterday", "until"),
        ("memories", "scope=everywhere", "scope"),
        ("memories", "session_id=a%00b", "session_id"),
        ("memories", "label.room=", "label.room"),
        ("memories", "label.room=kitchen", "label.room"),
        ("memories", "label.=kitchen", "label."),
        ("memories", "labels=kitchen", "labels"),
        ("memories", "colour=red", "colour"),
        ("memories", "Limit=5", "Limit"),
        ("config", "version=0", "version"),
        ("config", "version=new", "version"),
        ("config/versions", "limit=201", "limit"),
        ("tools", "format=toml", "format"),
        ("tools", "for=everyone", "for"),
        ("tools", "audience=agent", "audience"),
    ],
)
def test_a_query_parameter_that_is_wrong_is_told_by_its_name(api: Api, path: str, query: str, at: str) -> None:
    agent = api.configure()
    answer = api.request("GET", f"/v1/agents/{agent}/{path}?{query}")
    assert answer.status_code == 400, answer.text
    assert list(faults(answer.json())) == [at]


@pytest.mark.rule("IF-1")
def test_a_query_string_that_is_no_utf_8_is_refused(api: Api) -> None:
    agent = api.configure()
    problem(api.request("GET", f"/v1/agents/{agent}/memories?session_id=%ff"), 400, "invalid_request")
    problem(api.request("GET", f"/v1/agents/{agent}/memories?session_id=%ed%a0%80"), 400, "invalid_request")


@pytest.mark.rule("IF-4")
def test_a_cursor_that_is_altered_or_anothers_is_refused(api: Api) -> None:
    agent = api.configure()
    for n in range(3):
        api.remember(agent, f"Note {n}.")
    path = f"/v1/agents/{agent}/memories"
    given = ok(api.get(path, limit=1))["next"]
    for wrong in ("x", given[:-4], given + "A", ("B" if given[0] == "A" else "A") + given[1:], "ä", "%"):
        problem(api.get(path, after=wrong), 400, "invalid_cursor")
    problem(api.get(path, after=given, kind="fact"), 400, "invalid_cursor")
    problem(api.get(f"/v1/agents/{agent}/config/versions", after=given), 400, "invalid_cursor")
    problem(api.get(f"{api.begin(agent).path}/transcript", after=given), 400, "invalid_cursor")
    problem(api.get(f"/v1/agents/{api.configure()}/memories", after=given), 400, "invalid_cursor")


@pytest.mark.rule("IF-4")
@pytest.mark.parametrize("where", ["x", "1.5", "-5", "9" * 30, "\x00", "é"])
def test_a_cursor_that_was_made_up_checksum_and_all_is_refused(api: Api, where: str) -> None:
    agent = api.configure()
    saved, turn = api.remember(agent, "Invoices by post.")["id"], api.begin(agent)
    for path, binding in (
        (f"{turn.path}/transcript", ["transcript", agent, turn.id, []]),
        (f"/v1/agents/{agent}/memories/{saved}/versions", ["versions", agent, saved]),
        (f"/v1/agents/{agent}/config/versions", ["config", agent]),
    ):
        problem(api.get(path, after=cursor(where, binding)), 400, "invalid_cursor")


# ---------------------------------------------------------------- versions


@pytest.mark.rule("CF-7")
def test_a_configuration_is_replaced_only_by_who_names_the_version(api: Api) -> None:
    agent = api.configure()
    path, body = f"/v1/agents/{agent}/config", {"memory": {"enabled": False}}
    problem(api.put(path, body), 428, "if_match_required")
    for wrong in (
        {"If_None_Match": "*"},
        {"If_Match": '"2"'},
        {"If_Match": "1"},
        {"If_Match": "*"},
        {"If_Match": 'W/"1"'},
    ):
        assert problem(api.put(path, body, **wrong), 412, "version_mismatch")["current"] == {"version": 1}
    answer = api.put(path, body, If_Match='"1"')
    assert (ok(answer)["version"], answer.headers["etag"]) == (2, '"2"')
    assert problem(api.put(f"/v1/agents/{agent}x/config", body, If_Match='"1"'), 412, "version_mismatch")[
        "current"
    ] == {"version": None}


@pytest.mark.rule("CF-1", "CF-4")
def test_what_is_well_formed_and_not_allowed_is_told_apart(api: Api) -> None:
    agent = api.configure(memory={"labels": {"room": {"number": 5, "description": "The room."}}})
    path = f"/v1/agents/{agent}/config"
    answer = problem(
        api.put(path, {"sessions": False, "memory": {"enabled": True}}, If_Match='"1"'), 422, "not_allowed"
    )
    assert "memory.scope.read" in faults(answer)
    answer = problem(api.put(path, {"memory": {"labels": {}}}, If_Match='"1"'), 422, "label_changed")
    assert faults(answer) == {"memory.labels.room": "label_changed"}


# ---------------------------------------------------------------- turns


@pytest.mark.rule("TU-9")
def test_a_session_is_required_where_there_are_sessions_and_refused_where_there_are_none(api: Api) -> None:
    with_sessions = api.configure()
    without = api.configure(memory={"scope": {"read": ["user"], "write": ["user"]}}, sessions=False)
    problem(api.post(f"/v1/agents/{with_sessions}/turns", {}), 422, "session_required")
    problem(api.post(f"/v1/agents/{without}/turns", {"session_id": "s"}), 422, "session_not_allowed")
    assert api.begin(without, None).made["number"] is None


@pytest.mark.rule("TU-2", "TU-6")
def test_an_ended_turn_takes_nothing_more(api: Api) -> None:
    agent = api.configure()
    turn = api.begin(agent)
    assert turn.end()["status"] == "committed"
    said = {"messages": [{"role": "user", "text": "Hello."}]}
    problem(api.post(f"{turn.path}/messages", said), 409, "turn_not_open")
    problem(api.post(f"{turn.path}/recall", {"query": "x"}), 409, "turn_not_open")
    problem(api.post(f"{turn.path}/tools/search_memory", {"input": {}}), 409, "turn_not_open")
    problem(api.post(f"{turn.path}/end", {"outcome": "failed"}), 409, "outcome_differs")
    problem(api.post(f"/v1/agents/{agent}/turns", {"retry_of": turn.id}), 409, "not_retryable")
    assert turn.end()["status"] == "committed"


@pytest.mark.rule("TU-6")
def test_what_a_retry_and_a_version_may_not_say(api: Api) -> None:
    agent = api.configure()
    turn = api.begin(agent)
    turn.end("failed")
    path = f"/v1/agents/{agent}/turns"
    problem(api.post(path, {"retry_of": turn.id, "session_id": "another"}), 422, "retry_mismatch")
    problem(api.post(path, {"session_id": "s1", "agent_version": 7}), 422, "unknown_version")
    problem(api.post(path, {"retry_of": NOWHERE}), 404, "not_found")
    problem(api.post(path, {"retry_of": "no id at all#TURN"}), 404, "not_found")


@pytest.mark.rule("HI-5", "TU-6")
def test_what_a_replay_may_not_say(api: Api) -> None:
    agent = api.configure()
    turn = api.begin(agent)
    path = f"/v1/agents/{agent}/turns"
    problem(api.post(path, {"replay_of": turn.id, "session_id": "another"}), 422, "retry_mismatch")
    problem(api.post(path, {"replay_of": turn.id, "preview": False}), 422, "replay_is_preview")
    problem(api.post(path, {"replay_of": turn.id, "agent_version": 7}), 422, "unknown_version")
    problem(api.post(path, {"replay_of": NOWHERE}), 404, "not_found")
    problem(api.post(path, {"replay_of": "no id at all#TURN"}), 404, "not_found")
    again = api.begin(agent, None, replay_of=turn.id)
    told = (again.made["replay_of"], again.made["preview"], again.made["number"], again.made["still_ending"])
    assert told == (turn.id, True, 1, [])


@pytest.mark.rule("IF-7")
def test_a_turn_takes_two_thousand_messages(api: Api) -> None:
    turn = api.begin(api.configure())
    hundred = {"messages": [{"role": "user", "text": "Hello."}] * 100}
    for _ in range(20):
        ok(api.post(f"{turn.path}/messages", hundred))
    one = {"messages": hundred["messages"][:1]}
    problem(api.post(f"{turn.path}/messages", one), 409, "turn_full")
    problem(api.post(f"{turn.path}/end", {"outcome": "completed", **one}), 409, "turn_full")
    assert turn.end()["status"] == "committed"


# ---------------------------------------------------------------- who may ask


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Host": "elsewhere.example"},
        {"Host": "elsewhere.example:8080", "Origin": "http://elsewhere.example:8080"},
        {"Host": "[::1"},
    ],
)
def test_a_web_page_of_another_site_is_refused(api: Api, headers: dict[str, str]) -> None:
    problem(api.request("GET", "/v1/status", headers=headers), 403, "forbidden")


def test_programs_of_this_machine_are_not_taken_for_web_pages(api: Api) -> None:
    for host in ("127.0.0.1:8080", "localhost:8080", "[::1]:8080", "127.0.0.1"):
        ok(api.request("GET", "/v1/status", headers={"Host": host}))
        ok(api.request("GET", "/v1/status", headers={"Host": host, "Origin": f"http://{host}"}))


def test_without_dev_there_are_no_switches(api: Api) -> None:
    plain = Api(Gateway(None).app())
    for name in ("clock", "index", "faults", "run", "nothing"):
        problem(plain.post(f"/v1/dev/{name}", {}), 404, "not_found")
    problem(plain.get("/v1/dev/nothing"), 404, "not_found")
    assert api.get("/v1/dev/nothing").status_code == 200
