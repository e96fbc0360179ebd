"""Ids that are another's, that look like another's, or that are bent to be taken for something else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from urllib.parse import quote

import httpx
import pytest
from server import Server, Turn, answered, ids, problem
from wire import head, raw, received

ALIKE = ["a", "ab", "a#b", "a%23b", "a%2523b", "a%b", "a%25b", "A", "a ", "a/b", "a/../b", "á", "a\u0301", "session#a"]
Call = Callable[[str], httpx.Response]


def every_way_into_a_turn(server: Server, agent: str) -> dict[str, Call]:
    """By name, what takes the path of a turn."""
    http = server.http

    def of(id: str) -> str:
        return f"/v1/agents/{agent}/turns/{id}"

    return {
        "read": lambda id: http.get(of(id)),
        "transcript": lambda id: http.get(f"{of(id)}/transcript"),
        "messages": lambda id: http.post(f"{of(id)}/messages", json={"messages": [{"role": "user", "text": "Hello."}]}),
        "recall": lambda id: http.post(f"{of(id)}/recall", json={"query": "depot"}),
        "search": lambda id: http.post(f"{of(id)}/tools/search_memory", json={"input": {"query": "depot"}}),
        "add": lambda id: http.post(f"{of(id)}/tools/add_memory", json={"input": {"summary": "x", "kind": "fact"}}),
        "commit": lambda id: http.post(f"{of(id)}/end", json={"outcome": "completed"}),
        "roll back": lambda id: http.post(f"{of(id)}/end", json={"outcome": "failed"}),
        "retry": lambda id: http.post(f"/v1/agents/{agent}/turns", json={"session_id": "s", "retry_of": id}),
        "replay": lambda id: http.post(f"/v1/agents/{agent}/turns", json={"session_id": "s", "replay_of": id}),
    }


def every_way_to_a_record(server: Server, agent: str) -> dict[str, Call]:
    path = f"/v1/agents/{agent}/memories"
    return {
        "read": lambda id: server.http.get(f"{path}/{id}"),
        "versions": lambda id: server.http.get(f"{path}/{id}/versions"),
        "version": lambda id: server.http.get(f"{path}/{id}/versions/1"),
    }


@pytest.mark.rule("SC-1", "SC-2", "SC-5", "TL-3", "IF-1")
def test_another_agents_turns_and_records_do_not_exist(server: Server) -> None:
    mine, other = server.configure("keeper"), server.configure("keeper2")
    turn = server.begin(mine)
    record = server.remember(mine, "The depot closes at noon.", scope="agent")
    staged = turn.add("The depot is red.", scope="agent")
    before = turn.state()
    for call in every_way_into_a_turn(server, other).values():
        problem(call(turn.id), 404, "not_found")
    for id in (record, staged):
        for call in every_way_to_a_record(server, other).values():
            problem(call(id), 404, "not_found")
        theirs = server.begin(other)
        assert theirs.call("read_memory", id=id)["error"]["code"] == "not_found"
        assert theirs.call("delete_memory", id=id)["error"]["code"] == "not_found"
        replacing = theirs.call("add_memory", summary="Mine now.", kind="fact", scope="agent", replaces=id)
        assert replacing["error"]["code"] == "not_found"
        assert theirs.search(ids=[id])["missing"] == [id]
        assert ids(theirs.search("depot")) == ids(theirs.search()) == ids(theirs.recall("depot")) == []
    assert server.records(other, status="all") == {}
    assert turn.state() == before
    for call in every_way_to_a_record(server, mine).values():
        problem(call(staged), 404, "not_found")  # a staged record exists for its own turn alone
    turn.commit()


@pytest.mark.rule("SC-2", "SC-5")
@pytest.mark.parametrize("scope", ["session", "workflow", "user"])
def test_ids_that_look_alike_are_different_owners(server: Server, scope: str) -> None:
    agent = server.configure(f"alike-{scope}")

    def begun(owner: str) -> Turn:
        return server.begin(agent, **{"session": "s"} | {"session" if scope == "session" else f"{scope}_id": owner})

    saved: dict[str, str] = {}
    for owner in ALIKE:
        turn = begun(owner)
        saved[owner] = turn.add("The depot closes at noon.", scope=scope)
        turn.commit()
    for owner in ALIKE:
        turn = begun(owner)
        assert ids(turn.recall("depot")) == ids(turn.search("depot")) == ids(turn.search()) == [saved[owner]]
        assert list(server.records(agent, scope=scope, **{f"{scope}_id": owner})) == [saved[owner]]
    for owner, other in list(permutations(ALIKE, 2))[:: len(ALIKE) - 1]:
        turn = begun(owner)
        assert turn.call("read_memory", id=saved[other])["error"]["code"] == "not_found"
        assert turn.call("delete_memory", id=saved[other])["error"]["code"] == "not_found"


@pytest.mark.rule("SC-5", "IF-1")
def test_a_path_that_is_bent_leads_nowhere(server: Server) -> None:
    agent = server.configure("bent")
    record = server.remember(agent, "The depot closes at noon.", scope="agent")
    turn = server.begin(agent)
    straight = [f"/v1/agents/{agent}/config", f"/v1/agents/{agent}/turns/{turn.id}"]
    straight += [f"/v1/agents/{agent}/memories/{record}", f"/v1/agents/{agent}/memories", "/v1/status"]
    for path in straight:
        assert ask(server, path).status_code == 200
        last = path.rsplit("/", 1)
        for bent in (
            path + "/",
            path + "//",
            path + "/.",
            path + "%2F",
            path + "%00",
            path + "%20",
            path + ";x=1",
            "/" + path,
            "%2F".join(last),
            "%2f".join(last),
            "//".join(last),
            "/x/%2e%2e/".join(last),
            "/x/../".join(last),
            "/./".join(last),
            "/%2e/".join(last),
            "\\".join(last),
            path.replace("/v1", "/V1"),
            path.replace("/v1", "/v1/v1"),
            path.replace(last[1], quote(quote(last[1][0]) + "%25") + last[1][1:]),
            path + "%ff",
            path + "%u002e",
            "http://127.0.0.1" + path,
        ):
            problem(ask(server, bent), 404, "not_found")
    for id in (turn.id.lower(), turn.id[:-1], turn.id + "0", turn.id[:-1] + "%4", "%00" * 26, "*", "."):
        problem(ask(server, f"/v1/agents/{agent}/turns/{id}"), 404, "not_found")
    problem(ask(server, f"/v1/agents/{agent}/memories/{record.lower()}"), 404, "not_found")


@pytest.mark.rule("SC-5", "IF-1")
def test_an_escape_that_spells_the_same_path_is_the_same_path(server: Server) -> None:
    agent = server.configure("spelled")
    assert ask(server, "/v1/agents/%73pelled/config").json()["agent_id"] == agent


def ask(server: Server, path: str, *headers: str, method: str = "GET") -> httpx.Response:
    """As it stands: no client tidies it up."""
    with server.connection() as connection:
        response = raw(connection, head(method, path, *headers))
    server.judge(response)
    return response


@pytest.mark.rule("IF-1", "CF-7")
def test_headers_that_other_servers_obey_do_nothing(server: Server) -> None:
    agent = server.configure("headers")
    path = f"/v1/agents/{agent}/config"
    for header in (
        "X-HTTP-Method-Override: DELETE",
        "X-HTTP-Method: PUT",
        "X-Original-URL: /v1/agents/other/config",
        "X-Rewrite-URL: /v1/agents/other/config",
        "X-Forwarded-Host: elsewhere.example",
        "X-Forwarded-For: 10.0.0.1",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Prefix: /v2",
        "Request-Id: mine",
        "Accept: text/html",
        "Accept-Encoding: gzip, br",
        "Range: bytes=0-3",
        'If-None-Match: "1"',
        "Cookie: " + "a=b; " * 500,
        "Upgrade: websocket\r\nConnection: upgrade",
        "Traceparent: 00-zz-\x7f-01",
    ):
        answer = ask(server, path, header)
        assert (answer.status_code, answer.json()["agent_id"]) == (200, agent)
        assert answer.headers["request-id"] != "mine"


@pytest.mark.rule("IF-1")
def test_what_is_no_http_is_answered_as_a_problem_too(server: Server) -> None:
    post = f"/v1/agents/{server.configure('nohttp')}/turns"
    for sent in (
        b"HELLO\r\n\r\n",
        b"GET /v1/status\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\n\r\n",
        b"GET /v1/st\xc3\xa4tus HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /v1/ status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\x00" * 70_000,
        head("GET", "/v1/status", "No colon here"),
        head("GET", "/v1/status", "Host: 127.0.0.1"),
        head("GET", "/v1/status", "X: a\x00b"),
        head("GET", "/v1/status", "X: " + "y" * 200_000),
        head("GET", "/v1/agents?after=" + "y" * 200_000),
        head("POST", post, "Content-Length: many"),
        head("POST", post, "Content-Length: -1"),
        head("POST", post, "Content-Length: 2", "Content-Length: 3") + b"{}",
        head("POST", post, "Transfer-Encoding: chunked") + b"two\r\n{}\r\n0\r\n\r\n",
        head("POST", post, "Transfer-Encoding: chunked") + b"2\r\n{}oops\r\n",
        head("POST", post, "Transfer-Encoding: gzip") + b"{}",
        head("GET", "/nowhere", "Transfer-Encoding: chunked") + b"zz\r\n",
    ):
        with server.connection() as connection:
            response = raw(connection, sent)
        server.judge(response)
        problem(response, 404 if b"/nowhere" in sent and response.status_code == 404 else 400, "invalid_request")
    answered(server.http.get("/v1/status"))


@pytest.mark.rule("IF-1")
def test_two_requests_in_one_packet_are_two_requests(server: Server) -> None:
    agent = server.configure("pipelined")
    get = f"GET /v1/agents/{agent}/config HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with server.connection() as connection:
        connection.sendall(get + get + head("GET", "/v1/status"))
        assert received(connection).count(b"HTTP/1.1 200 OK") == 3
