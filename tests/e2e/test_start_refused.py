"""What a server cannot start over is said in one line, and nothing is left running."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from embedding_server import ScriptedServer
from server import LEAVE_S, MakeServer, Server, flags, problem, run, told_in_one_line
from wire import greeted, head, raw

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24
FAST = ["--embedder", "openai:http://127.0.0.1:9/v1", "--embedder-model", "nobody", "--embedder-dimensions", "16"]


def as_no_master() -> None:
    """In the child, before it starts: not even root may write what it has no leave to (capabilities(7))."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if libc.prctl(PR_CAPBSET_DROP, capability) != 0:
            os._exit(77)


def start(folder: Path, **options: Any) -> str:
    refused = run("serve", "--data", str(folder), "--port", "0", *FAST, **options)
    if refused.returncode == 77:
        pytest.skip("root may write everywhere here")
    return told_in_one_line(refused)


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory, embedder: ScriptedServer) -> Path:
    """A folder that a server has worked in."""
    server = Server(tmp_path_factory.mktemp("start") / "data", *flags(embedder))
    server.configure("a")
    turn = server.begin("a")
    for n in range(15):
        turn.add(f"The depot {n}.", content="A long story. " * 40)
    turn.commit()
    assert server.stop() == 0
    return server.folder


@pytest.fixture
def used(worked_in: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(worked_in, tmp_path / "used"))


def cut(database: bytes) -> bytes:
    return database[:20_000]


def scrambled(database: bytes) -> bytes:
    return database[:8192] + b"\xa5" * (len(database) - 8192)


def replaced(database: bytes) -> bytes:
    return b"this is no database " * 500


@pytest.mark.rule("IF-5")
@pytest.mark.parametrize("spoil", [cut, scrambled, replaced])
def test_a_database_that_is_spoilt_is_refused_and_left_as_it_is(used: Path, spoil: Callable[[bytes], bytes]) -> None:
    file = used / "memory.sqlite"
    file.write_bytes(spoil(file.read_bytes()))
    spoilt = file.read_bytes()
    assert str(used) in start(used)
    assert str(used) in told_in_one_line(run("reindex", "--data", str(used), *FAST))
    assert file.read_bytes() == spoilt


@pytest.mark.rule("IF-5")
def test_a_path_that_can_be_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "file" in start(tmp_path / "file" / "below")
    refused = run("serve", "--data", str(tmp_path / "file"), "--port", "0", *FAST)
    assert refused.returncode == 2
    assert "is a file" in refused.stderr.splitlines()[-1]
    (tmp_path / "memory.sqlite").mkdir()
    assert str(tmp_path) in start(tmp_path)


needs_linux = pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root may write everywhere here")


@needs_linux
@pytest.mark.rule("IF-5")
@pytest.mark.parametrize("what", ["folder", "database", "parent"])
def test_a_folder_that_may_only_be_read_is_refused(used: Path, what: str) -> None:
    options = {"preexec_fn": as_no_master} if os.geteuid() == 0 else {}
    if what == "database":
        (used / "memory.sqlite").chmod(0o400)
    else:
        used.chmod(0o500)
        for file in used.iterdir():
            file.chmod(0o400)
    try:
        assert str(used) in start(used / "new" if what == "parent" else used, **options)
    finally:
        used.chmod(0o700)


@pytest.mark.rule("IF-5")
def test_a_port_in_use_is_refused(serve: MakeServer, tmp_path: Path) -> None:
    port = str(serve().http.base_url.port)
    refused = run("serve", "--data", str(tmp_path / "other"), "--port", port, *FAST)
    assert port in told_in_one_line(refused)


@pytest.mark.rule("IF-5")
def test_of_servers_started_on_one_folder_at_once_one_serves_and_the_rest_name_it(serve: MakeServer) -> None:
    server = serve()
    with ThreadPoolExecutor(3) as threads:
        for line in threads.map(lambda _: start(server.folder), range(3)):
            assert f"in use by process {server.process.pid}" in line
    assert server.get("/v1/status")["edition"] == "one machine"
    server.kill()
    server.start()  # a lock that a dead process held is no lock


@pytest.mark.rule("IF-5", "TU-1", "TU-2")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_leave_it_answers_what_is_in_flight(serve: MakeServer, number: int) -> None:
    server = serve()
    agent = server.configure("leaving")
    turns = [server.begin(agent, f"s{n}") for n in range(8)]
    saved = {turn.id: turn.add("The depot closes at noon.") for turn in turns}
    body = json.dumps({"outcome": "completed"}).encode()
    answers: dict[str, httpx.Response] = {}
    connections = [server.connection() for _ in turns]
    opened = [connection.__enter__() for connection in connections]
    for turn, connection in zip(turns, opened, strict=True):
        greeted(connection)
        connection.sendall(head("POST", f"{turn.path}/end", f"Content-Length: {len(body)}") + body[:3])
    server.get("/v1/dev/nothing")  # by now all of them are being read
    server.process.send_signal(number)
    for turn, connection in zip(turns, opened, strict=True):
        answers[turn.id] = raw(connection, body[3:])
    for connection in connections:
        connection.__exit__(None, None, None)
    assert server.process.wait(LEAVE_S) == 0
    assert {answer.json()["status"] for answer in answers.values()} == {"committed"}
    server.start()
    assert set(server.records(agent)) == set(saved.values())


@pytest.mark.rule("IF-5")
def test_it_leaves_though_callers_hang(serve: MakeServer) -> None:
    server = serve()
    with server.connection() as silent, server.connection() as slow:
        greeted(silent)
        greeted(slow)
        slow.sendall(head("POST", "/v1/agents/a/turns", "Content-Length: 100") + b"{")
        server.get("/v1/dev/nothing")
        assert server.stop() == 0
        told = raw(slow, b"")
        server.judge(told)
        server.announced += 1
        problem(told, 503, "unavailable")
        assert silent.recv(1) == b""
