"""The server as a process: how it starts, how it ends, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

START_S = 120  # of patience: the model loads, on whatever machine this is
LEAVE_S = 5
COMMAND = [sys.executable, "-c", "from agent_memory.cli import main; main()"]
CONFIG = {"memory": {"enabled": True, "tools": ["add_memory"], "search": {"mode": "lexical"}}}


class Server:
    """`agent-memory serve` over a folder."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder, self.flags = folder, flags
        self.log = folder.with_name(folder.name + ".stderr")
        self.start()

    def start(self) -> None:
        command = [*COMMAND, "serve", "--data", str(self.folder), "--port", "0", *self.flags]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        impatient = threading.Timer(START_S, self.process.kill)
        impatient.start()
        assert self.process.stdout
        self.line = self.process.stdout.readline()
        impatient.cancel()
        assert self.line.startswith("listening on http://127.0.0.1:"), self.log.read_text()[-2000:]
        self.http = httpx.Client(base_url=self.line.split()[-1], timeout=60)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LEAVE_S)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def configure(self, agent: str) -> None:
        answer = self.http.put(f"/v1/agents/{agent}/config", json=CONFIG, headers={"If-None-Match": "*"})
        assert answer.status_code == 201

    def begin(self, agent: str, session: str = "s") -> str:
        return f"/v1/agents/{agent}/turns/{self.post(f'/v1/agents/{agent}/turns', {'session_id': session})['turn_id']}"

    def add(self, turn: str, summary: str) -> str:
        added = self.post(f"{turn}/tools/add_memory", {"input": {"summary": summary, "kind": "fact"}})
        id: str = added["output"]["memories"][0]["id"]
        return id

    def found(self, agent: str, query: str, session: str = "s") -> list[str]:
        recalled = self.post(f"{self.begin(agent, session)}/recall", {"query": query})
        return [memory["id"] for memory in recalled["memories"]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "data", "--dev")
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=START_S)


@pytest.mark.rule("IF-5")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_one_line_and_leaves_when_asked(server: Server, number: int) -> None:
    assert server.http.get("/v1/status").json()["edition"] == "one machine"
    assert server.stop(number) == 0
    assert server.process.stdout
    assert server.process.stdout.read() == ""


@pytest.mark.rule("IF-5")
def test_it_answers_what_is_in_flight_and_waits_for_nobody_who_hangs(server: Server) -> None:
    server.configure("a")
    turn = server.begin("a")
    body = json.dumps({"outcome": "completed"}).encode()
    head = f"POST {turn}/end HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    address = (server.http.base_url.host, server.http.base_url.port)
    with socket.create_connection(address) as finishing, socket.create_connection(address) as hanging:
        finishing.sendall(head + body[:5])
        hanging.sendall(head + body[:5])
        server.http.get("/v1/dev/nothing")  # by now both are being read
        server.process.send_signal(signal.SIGTERM)
        finishing.sendall(body[5:])
        answer = finishing.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"status":"committed"' in answer
        assert server.process.wait(LEAVE_S) == 0


@pytest.mark.rule("TU-1", "TU-2")
def test_a_caller_who_hangs_up_undoes_nothing(server: Server) -> None:
    server.configure("a")
    turn = server.begin("a")
    saved = server.add(turn, "The depot closes at noon.")
    body = json.dumps({"outcome": "completed"}).encode()
    with socket.create_connection((server.http.base_url.host, server.http.base_url.port)) as connection:
        head = f"POST {turn}/end HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body)
    assert server.post(f"{turn}/end", {"outcome": "completed"})["status"] == "committed"
    assert server.found("a", "depot") == [saved]


@pytest.mark.rule("IF-5")
def test_a_folder_in_use_is_refused_naming_the_process(server: Server) -> None:
    for command in (["serve", "--port", "0"], ["reindex"]):
        second = run(*command, "--data", str(server.folder))
        assert second.returncode == 1
        assert second.stdout == ""
        assert len(second.stderr.strip().splitlines()) == 1
        assert str(server.process.pid) in second.stderr
    assert server.http.get("/v1/status").status_code == 200


def test_a_port_in_use_is_refused_in_one_line(server: Server, tmp_path: Path) -> None:
    second = run("serve", "--data", str(tmp_path / "other"), "--port", str(server.http.base_url.port))
    assert (second.returncode, second.stdout) == (1, "")
    assert str(server.http.base_url.port) in second.stderr


@pytest.mark.rule("TU-1", "TU-4")
def test_a_kill_while_turns_commit_loses_nothing_that_was_answered(server: Server) -> None:
    server.configure("a")
    answered: dict[str, str] = {}
    enough = threading.Event()

    def work(worker: int) -> None:
        try:
            for n in range(1000):
                session = f"{worker}-{n}"
                turn = server.begin("a", session)
                first, second = server.add(turn, "The first depot."), server.add(turn, "The second depot.")
                if server.post(f"{turn}/end", {"outcome": "completed"})["status"] == "committed":
                    answered[first], answered[second] = session, session
                if len(answered) > 40:
                    enough.set()
        except httpx.HTTPError:
            return  # killed

    with ThreadPoolExecutor(4) as workers:
        for worker in range(4):
            workers.submit(work, worker)
        assert enough.wait(START_S)
        server.process.kill()
        server.process.wait()
    server.start()
    for id, session in answered.items():
        assert id in server.found("a", "depot", session)
    listed, after = [], None
    while True:
        page = server.http.get("/v1/agents/a/memories", params={"limit": 200} | ({"after": after} if after else {}))
        listed += page.json()["memories"]
        if not (after := page.json()["next"]):
            break
    by_turn: dict[str, int] = {}
    for record in listed:
        turn_id = record["written_by"]["turn_id"]
        by_turn[turn_id] = by_turn.get(turn_id, 0) + 1
    assert set(by_turn.values()) == {2}  # a turn is there wholly or not at all
    assert answered.keys() <= {record["id"] for record in listed}


@pytest.mark.rule("RK-5", "RK-6")
def test_an_index_that_is_lost_is_built_again_from_the_table(server: Server) -> None:
    server.configure("a")
    turn = server.begin("a")
    saved = server.add(turn, "The depot closes at noon.")
    server.post(f"{turn}/end", {"outcome": "completed"})
    assert server.stop() == 0
    for file in server.folder.glob("index-*.sqlite*"):
        file.unlink()
    server.start()
    assert server.found("a", "depot") == [saved]
    server.stop()
    for file in server.folder.glob("index-*.sqlite"):
        file.write_bytes(b"this is no database " * 500)
    rebuilt = run("reindex", "--data", str(server.folder))
    assert (rebuilt.returncode, rebuilt.stdout.strip()) == (0, "The index holds 1 records.\nThe index holds 0 turns.")
    server.start()
    assert server.found("a", "depot") == [saved]


def test_the_dev_clock_is_kept_over_a_restart(server: Server) -> None:
    ahead = server.post("/v1/dev/clock", {"advance": "1000d"})["now"]
    server.stop()
    server.start()
    assert server.post("/v1/dev/clock", {"advance": "1s"})["now"] > ahead
    server.configure("a")
    assert server.http.get("/v1/agents/a/config").json()["created_at"][:19] >= ahead[:19]


@pytest.mark.rule("IF-1", "IF-7")
def test_no_log_holds_what_a_caller_said(server: Server) -> None:
    server.configure("a")
    turn = server.begin("a", "secretsession")
    server.add(turn, "The secretword opens the depot.")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    header = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    server.http.post(f"{turn}/recall", json={"query": "secretword"}, headers=header)
    server.http.post(f"{turn}/recall", json={"secretfield": "secretword"})
    server.http.post(f"{turn}/recall", content=b'{"secretword": ')
    server.http.get("/v1/agents/a/memories", params={"session_id": "secretsession", "secretname": "x"})
    server.stop()
    log = server.log.read_text()
    assert "secret" not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    traced = [line for line in lines if line.get("trace_id") == trace]
    assert [(line["message"], line["turn_id"]) for line in traced] == [("request", turn.rsplit("/", 1)[1])]


@pytest.mark.rule("EX-8")
@pytest.mark.parametrize(
    ("flags", "kind", "model"),
    [
        ([], "rules", "rules"),
        (["--reviewer", "openai:http://127.0.0.1:1", "--reviewer-model", "scripted"], "openai", "scripted"),
        (["--reviewer", "bedrock:a.model"], "bedrock", "a.model"),
    ],
)
def test_who_reviews_is_chosen_at_the_start_and_says_who_it_is(
    tmp_path: Path, flags: list[str], kind: str, model: str
) -> None:
    """Nobody is asked before there is something to review: no server need answer, and no region be set."""
    server = Server(tmp_path / "data", *flags)
    try:
        assert server.http.get("/v1/status").json()["reviewer"] == {"kind": kind, "model": model}
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--principals", "nowhere"], "does not exist"),
        (["--tokens", "x"], "No such option"),
        (["--embedder", "magic"], "local, openai:<base url> or bedrock:<model>"),
        (["--embedder", "openai:http://127.0.0.1:1"], "name of its model"),
        (["--embedder-min-score", "2"], "-1<=x<=1"),
        (["--reviewer", "magic"], "rules, openai:<base url> or bedrock:<model>"),
        (["--reviewer", "openai:http://127.0.0.1:1"], "name of its model"),
        (["--reviewer-model", "magic"], "no model"),
        (["--reviewer", "bedrock:a.model", "--reviewer-model", "magic"], "behind the colon"),
        (["--port", "99999"], "0<=x<=65535"),
    ],
)
def test_an_option_that_is_wrong_is_told_with_what_it_takes(tmp_path: Path, arguments: list[str], says: str) -> None:
    refused = run("serve", "--data", str(tmp_path / "data"), *arguments)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refused = run("serve", "--data", str(tmp_path / "data"), "--port", "0")
    tmp_path.chmod(0o700)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
