"""Bodies that break a careless server: too large, too deep, cut off, of the wrong kind everywhere."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from server import Server, Turn, answered, ids, problem
from wire import as_json, head, raw

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def agent(shared: Server) -> str:
    return shared.configure("bodies", search={"mode": "lexical"})


@pytest.fixture
def turn(server: Server, agent: str) -> Turn:
    return server.begin(agent)


def faults(body: dict[str, Any]) -> dict[str, str]:
    return {fault["path"]: fault["code"] for fault in body["faults"]}


@pytest.mark.rule("RC-1", "TU-10")
def test_nul_is_kept_like_any_other_character(server: Server, turn: Turn) -> None:
    saved = turn.add("Gate \0 code.", content="\0\0 the \0 end")
    server.post(f"{turn.path}/messages", {"messages": [{"role": "user", "text": "a\0b"}]})
    assert ids(turn.search("gate")) == [saved]
    turn.commit()
    record = server.records(turn.agent)[saved]
    assert (record["summary"][:8], record["content"]) == ("Gate \0 c", "\0\0 the \0 end")
    assert server.get(f"{turn.path}/transcript", type="message")["events"][0]["text"] == "a\0b"


@pytest.mark.rule("RC-1", "IF-1", "TL-5")
def test_lone_surrogates_are_refused_wherever_they_stand(server: Server, turn: Turn) -> None:
    lone = "\\ud800"
    for path, body in (
        (f"/v1/agents/{turn.agent}/turns", f'{{"session_id": "{lone}", "user_id": "{lone}", "{lone}": "{lone}"}}'),
        (f"{turn.path}/recall", f'{{"query": "{lone}", "conversation": "helper:{lone}"}}'),
        (f"{turn.path}/messages", f'{{"messages": [{{"role": "user", "text": "{lone}"}}, {{"role": "{lone}"}}]}}'),
        (f"{turn.path}/end", f'{{"outcome": "failed", "error": "{lone}", "{lone}": 1}}'),
        (f"{turn.path}/tools/search_memory", f'{{"input": {{}}, "call_id": "{lone}", "{lone}": 1}}'),
    ):
        refused = answered(server.http.post(path, content=body, headers=JSON), 400)
        assert len(refused["faults"]) >= 2
    calls = [{"call_id": "c", "tool": "t", "input": {"deep": ["LONE", {"LONE": 1}]}}]
    said = as_json({"messages": [{"role": "agent", "text": "x", "calls": calls}]}).replace(b"LONE", lone.encode())
    assert server.http.post(f"{turn.path}/messages", content=said, headers=JSON).status_code in (200, 400)
    for input in ({"summary": "LONE", "kind": "fact"}, {"LONE": "LONE"}, {"labels": {"LONE": "LONE"}, "kind": "LONE"}):
        body = as_json({"input": input}).replace(b"LONE", lone.encode())
        told = answered(server.http.post(f"{turn.path}/tools/add_memory", content=body, headers=JSON))
        assert told["error"]["code"] == "invalid_input"
    answered(server.http.get(f"{turn.path}/transcript"))
    assert turn.state()["status"] == "open"


@pytest.mark.rule("IF-7", "IF-1")
def test_a_body_over_its_limit_is_refused_with_the_limit(server: Server, turn: Turn) -> None:
    large = as_json({"query": "x" * 2_000_000})
    for path in ("recall", "tools/search_memory"):
        refused = problem(server.http.post(f"{turn.path}/{path}", content=large, headers=JSON), 413, "too_large")
        assert "1,048,576" in refused["detail"]
    config = server.http.put(f"/v1/agents/{turn.agent}/config", content=large, headers={**JSON, "If-Match": '"1"'})
    problem(config, 413, "too_large")
    said = [{"role": "user", "text": "y" * 190_000}]
    answered(server.http.post(f"{turn.path}/messages", json={"messages": said * 27}))
    for path, body in (
        (f"{turn.path}/messages", {}),
        (f"{turn.path}/end", {"outcome": "completed"}),
        (f"/v1/agents/{turn.agent}/turns", {"session_id": "s"}),
    ):
        refused = problem(server.http.post(path, json={**body, "messages": said * 28}), 413, "too_large")
        assert "5,242,880" in refused["detail"]
    assert turn.state()["status"] == "open"  # an invalid body leaves the turn open
    assert len(server.pages(f"{turn.path}/transcript", "events", type="message")) == 27


@pytest.mark.rule("IF-7")
def test_a_body_without_a_length_is_measured_as_it_comes(server: Server, turn: Turn) -> None:
    def pieces(body: bytes, size: int) -> Iterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    answered(server.http.post(f"{turn.path}/recall", content=pieces(b'{"query": "x"}', 1), headers=JSON))
    for length in (2_000_000, 20_000_000):
        endless = pieces(as_json({"query": "x" * length}), 100_000)
        problem(server.http.post(f"{turn.path}/recall", content=endless, headers=JSON), 413, "too_large")


@pytest.mark.rule("IF-1", "TL-5")
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe{}",
        b'{"query": "\xed\xa0\x80"}',
        b'{"query": NaN}',
        b'{"query": 1e999}',
        b'{"query": ' + b"9" * 5000 + b"}",
        b'{"query": "a", "query": "b"}',
        b'{"a": {"b": 1, "b": 2}}',
        b"[" * 400_000,
        b'{"a":' * 150_000,
        b'{"query": ' + b"[" * 400 + b"]" * 400 + b"}",
        b"null",
        b"[]",
        b'"query"',
        b'{"query": "x"} ,',
        b"query=x",
        b"<query>x</query>",
    ],
    ids=range(17),
)
def test_a_body_that_is_no_json_object_is_refused_on_every_route(server: Server, turn: Turn, body: bytes) -> None:
    paths = [f"{turn.path}/{path}" for path in ("messages", "recall", "tools/search_memory", "end")]
    for path in (*paths, f"/v1/agents/{turn.agent}/turns"):
        assert "" in faults(problem(server.http.post(path, content=body), 400, "invalid_request"))
    assert turn.state()["status"] == "open"


@pytest.mark.rule("IF-1")
def test_no_body_is_an_empty_object(server: Server, turn: Turn) -> None:
    assert set(faults(problem(server.http.post(f"{turn.path}/end"), 400, "invalid_request"))) == {"outcome"}
    told = answered(server.http.post(f"{turn.path}/tools/add_memory", content=b" \n"))
    assert {fault["argument"] for fault in told["error"]["details"]["faults"]} == {"summary", "kind"}


@pytest.mark.rule("IF-1")
def test_the_content_type_decides_nothing(server: Server, turn: Turn) -> None:
    """What is taken is JSON, whatever it is called; what is not JSON is refused, whatever it is called."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense", ""):
        answer = server.http.post(f"{turn.path}/recall", content=b'{"query": "x"}', headers={"Content-Type": kind})
        assert answered(answer)["memories"] == []
    encoded = {**JSON, "Content-Encoding": "gzip"}
    problem(server.http.post(f"{turn.path}/recall", content=b"\x1f\x8b\x08", headers=encoded), 400, "invalid_request")


WRONG: list[Any] = [None, True, -1, 1.5, 10**30, "", "x" * 3000, "\0", [], [[]], {}, {"a": {}}]


@pytest.mark.rule("IF-1", "CF-1")
def test_wrong_types_everywhere_at_once_are_all_told_each_by_its_path(server: Server, turn: Turn) -> None:
    beginning = {
        "session_id": 5,
        "workflow_id": ["w"],
        "user_id": {"id": "u"},
        "execution_id": "",
        "invocation_id": "x" * 129,
        "agent_version": "newest",
        "retry_of": [],
        "replay_of": 5,
        "started_at": "yesterday",
        "time_zone": "Mars/Base",
        "messages": [{"role": "nobody"}, 5, {"role": "user", "text": 5, "at": "now", "purpose": "fun", "extra": 1}],
        "extra": None,
    }
    told = faults(problem(server.http.post(f"/v1/agents/{turn.agent}/turns", json=beginning), 400, "invalid_request"))
    within = {f"messages[2].{name}" for name in ("text", "at", "purpose", "extra")}
    assert set(told) >= {*(set(beginning) - {"messages"}), "messages[0].role", "messages[1]", *within}
    assert told["extra"] == told["messages[2].extra"] == "unknown_field"
    config = {
        "sessions": "yes",
        "memory": {
            "enabled": 1,
            "scope": {"read": ["nowhere", "session", 5], "write": "session"},
            "kinds": ["Fact", "fact", 7],
            "labels": {"room": {"number": 99, "description": ""}},
            "tools": ["fly"],
            "search": {"mode": "magic", "max_results": 0, "min_score": 2},
            "recall": {"max_tokens": 1, "max_item_tokens": "all"},
            "retention": {"scope": {"session": "soon"}},
            "extra": {},
        },
        "notes": [],
        "transcripts": {"retention": 90},
    }
    answer = server.http.put(f"/v1/agents/{turn.agent}/config", json=config, headers={"If-Match": '"1"'})
    told = faults(problem(answer, 400, "invalid_request"))
    settings = "enabled scope.read[0] scope.read[2] scope.write kinds[0] kinds[2] labels.room.number tools[0] extra"
    settings += " labels.room.description search.mode search.max_results search.min_score recall.max_tokens"
    settings += " recall.max_item_tokens retention.scope.session"
    assert set(told) >= {f"memory.{name}" for name in settings.split()}
    assert set(told) >= {"sessions", "notes", "transcripts.retention"}


@pytest.mark.rule("TL-5", "IF-1")
@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_any_value_in_any_place_is_answered(server: Server, turn: Turn, wrong: Any) -> None:
    """A fault of a body is 400, one of a tool's input the model's to read; neither ends the turn."""
    arguments = ["summary", "content", "kind", "labels", "scope", "replaces", "priority", "confidence"]
    arguments += ["occurred_at", "expires_at", "query", "ids", "id", "limit", "after", "nothing"]
    for tool in ("add_memory", "search_memory", "read_memory", "delete_memory"):
        for input in (wrong, dict.fromkeys(arguments, wrong), {"labels": {"a": wrong}, "ids": [wrong]}):
            told = answered(server.http.post(f"{turn.path}/tools/{tool}", json={"input": input}))
            assert ("error" in told) != ("output" in told)
    for field in ("query", "messages", "conversation", "explain"):
        assert server.http.post(f"{turn.path}/recall", json={field: wrong}).status_code in (200, 400)
    for field in ("outcome", "error", "messages"):
        answered(server.http.post(f"{turn.path}/end", json={field: wrong}), 400)
    said = {"role": "agent", "text": "x", "calls": [{"call_id": "c", "tool": "t", "input": wrong}], "at": wrong}
    assert server.http.post(f"{turn.path}/messages", json={"messages": [said]}).status_code in (200, 400)
    assert turn.state()["status"] == "open"


@pytest.mark.rule("IF-1", "IF-7")
def test_a_query_string_of_any_length_is_answered(server: Server, turn: Turn) -> None:
    for query in (
        "limit=" + "9" * 20_000,
        "after=" + "A" * 50_000,
        "&".join(f"x{n}=1" for n in range(5000)),
        "status=ACTIVE&" * 3000 + "status=ACTIVE",
        "label." + "a" * 30_000 + "=b",
        "&" * 40_000,
        "=" * 40_000,
        "%" * 40_000,
        "%00=%00",
        "limit=1;limit=2",
    ):
        answer = server.http.get(f"/v1/agents/{turn.agent}/memories?{query}")
        assert answer.status_code in (200, 400)
        assert len(answer.content) < 100_000


@pytest.mark.rule("TU-1", "TU-2")
@pytest.mark.parametrize("reset", [False, True])
def test_a_caller_who_hangs_up_while_sending_has_not_called(server: Server, turn: Turn, reset: bool) -> None:
    saved = turn.add(f"The depot closes at noon, {reset}.")
    body = as_json({"outcome": "completed"})
    for sent in (b"", body[:5], body[:-1]):
        for framing in (f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"):
            chunk = b"%x\r\n%s\r\n" % (len(sent), sent) if sent and "chunked" in framing else sent
            with server.connection() as connection:
                if reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(head("POST", f"{turn.path}/end", framing) + chunk)
                server.get("/v1/dev/nothing")
    assert turn.state()["status"] == "open"
    assert [memory["id"] for memory in turn.commit()["memories"]] == [saved]


@pytest.mark.rule("TU-1", "TU-2")
@pytest.mark.parametrize("reset", [False, True])
def test_a_caller_who_hangs_up_before_the_answer_has_called(server: Server, agent: str, reset: bool) -> None:
    body = as_json({"outcome": "completed"})
    for n in range(5):
        turn = server.begin(agent, f"hung up {reset} {n}")
        saved = turn.add("The depot closes at noon.")
        with server.connection() as connection:
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(head("POST", f"{turn.path}/end", f"Content-Length: {len(body)}") + body)
        assert [memory["id"] for memory in turn.commit()["memories"]] == [saved]
        assert list(server.records(agent, session_id=turn.made["session_id"])) == [saved]


@pytest.mark.rule("IF-7")
def test_what_is_too_long_for_any_route_is_read_to_its_end_and_refused(server: Server, turn: Turn) -> None:
    length = 8_000_000
    with server.connection() as connection:
        answer = raw(connection, head("POST", f"{turn.path}/recall", f"Content-Length: {length}") + b" " * length)
    server.judge(answer)
    problem(answer, 413, "too_large")


def test_json_is_told_as_it_was_given(server: Server, turn: Turn) -> None:
    """Kept to the character: escapes, emoji, bidi marks and what looks like markup."""
    text = 'Wörter "quoted" \\ / \u2028 🦊 </script> {"a": [1]} \u200f ﷽ \t'
    server.post(f"{turn.path}/messages", {"messages": [{"role": "user", "text": text}]})
    (event,) = server.get(f"{turn.path}/transcript", type="message")["events"]
    assert event["text"] == text == json.loads(json.dumps(text))
