"""The server as a user starts it, and a client that judges every answer it gives.

What holds of every answer is checked here, once: no status of 500 or above but the 503s that a test has announced, a
`Request-Id` and a content type on each, and problems in their one form. What holds of the log is checked when the
server is dropped.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from embedding_server import ScriptedServer

from agent_memory.runtime.shapes import Problem

START_S = 120  # of patience, on whatever machine this is
LEAVE_S = 5
FASTER_THAN_US = "1000000"  # calls a second: no test is refused for being quick
COMMAND = [sys.executable, "-c", "from agent_memory.cli import main; main()"]
EVERY_SCOPE = ["session", "workflow", "user", "agent"]
DIMENSIONS = 16  # of the scripted model
MARK = "Zanzibar"  # stands in every text that tests save, so that a log which quotes one gives itself away
CONFIG: dict[str, Any] = {
    "memory": {
        "enabled": True,
        "scope": {"read": EVERY_SCOPE, "write": EVERY_SCOPE},
        "tools": ["add_memory", "read_memory", "delete_memory"],
    }
}


def flags(embedder: ScriptedServer, *, min_score: str | None = "0.5") -> list[str]:
    """To have it embed by the scripted model. min_score: None: the server is to measure it."""
    given = ["--embedder", f"openai:{embedder.url}", "--embedder-model", "scripted"]
    given += ["--embedder-dimensions", str(DIMENSIONS)]
    return [*given, "--embedder-min-score", min_score] if min_score else given


class Server:
    """`agent-memory serve` over a folder, with a client. announced: how many answers of 503 the test asked for.

    faults: what is wrong with answers, kept until `check`, since some come to threads."""

    def __init__(self, folder: Path, *flags: str, start: bool = True) -> None:
        self.folder, self.flags = folder, flags
        self.log = folder.with_name(folder.name + ".stderr")
        self.faults: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.announced = 0
        if start:
            self.start()

    # -- the process

    def start(self) -> None:
        command = [*COMMAND, "serve", "--data", str(self.folder), "--port", "0", "--rate", FASTER_THAN_US, *self.flags]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        impatient = threading.Timer(START_S, self.process.kill)
        impatient.start()
        assert self.process.stdout
        line = self.process.stdout.readline()
        impatient.cancel()
        assert line.startswith("listening on http://127.0.0.1:"), self.log.read_text()[-2000:]
        self.http = self.client(line.split()[-1])

    def client(self, url: str) -> httpx.Client:
        limits = httpx.Limits(max_connections=None)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self.judge]}
        return httpx.Client(base_url=url, timeout=60, limits=limits, event_hooks=hooks)

    def kill(self) -> None:
        """SIGKILL: no goodbye."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; gives the exit code. Raises where it has not left in time."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LEAVE_S)

    def drop(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.http.close()

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A plain connection, for what no client would send."""
        url = self.http.base_url
        with socket.create_connection((url.host, url.port or 80), timeout=60) as connected:
            yield connected

    # -- judging

    def judge(self, response: httpx.Response) -> None:
        response.read()
        self.statuses[response.status_code] += 1
        self.faults += [f"{response.request.method} {response.url}: {fault}" for fault in faults_of(response)]

    def check(self) -> None:
        """Every answer so far was in order, and so is the log."""
        faults, self.faults = self.faults, []
        assert not faults, faults[:5]
        assert self.statuses[503] == self.announced, self.statuses
        log = self.log.read_text()
        assert MARK.lower() not in log.lower()
        assert "Traceback" not in log
        assert '"level": "ERROR"' not in log, [line for line in log.splitlines() if "ERROR" in line][:3]

    # -- what nearly every test does

    def post(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        return answered(self.http.post(path, json=body), status)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return answered(self.http.get(path, params=query))

    def switch(self, name: str, **values: Any) -> None:
        self.post(f"/v1/dev/{name}", values)

    def configure(self, agent: str, **memory: Any) -> str:
        body = {"memory": CONFIG["memory"] | memory}
        answered(self.http.put(f"/v1/agents/{agent}/config", json=body, headers={"If-None-Match": "*"}), 201)
        return agent

    def begin(self, agent: str, session: str = "s", **fields: Any) -> Turn:
        return Turn(self, agent, self.post(f"/v1/agents/{agent}/turns", {"session_id": session, **fields}, 201))

    def remember(self, agent: str, summary: str, session: str = "s", **fields: Any) -> str:
        """Save one record in a turn of its own and commit it."""
        turn = self.begin(agent, session)
        saved = turn.add(summary, **fields)
        turn.commit()
        return saved

    def recall(self, agent: str, query: str, session: str = "s") -> dict[str, Any]:
        return self.begin(agent, session).recall(query)

    def pages(self, path: str, items: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after: dict[str, Any] = {}
        while True:
            page = self.get(path, limit=200, **query, **after)
            found += page[items]
            if page["next"] is None:
                return found
            after = {"after": page["next"]}

    def records(self, agent: str, **filters: Any) -> dict[str, dict[str, Any]]:
        """All records that the list shows, by id."""
        return {r["id"]: r for r in self.pages(f"/v1/agents/{agent}/memories", "memories", **filters)}

    def settled(self) -> dict[str, Any]:
        """The state of the index once it has caught up, which it does by itself: asked until then."""
        state = self.get("/v1/status")["index"]
        patience = threading.Event()
        for _ in range(600):
            if state["state"] == "ok":
                break
            patience.wait(0.1)
            state = self.get("/v1/status")["index"]
        assert (state["state"], state["unindexed"]) == ("ok", 0)
        return dict(state)


class Turn:
    def __init__(self, server: Server, agent: str, made: dict[str, Any]) -> None:
        self.server, self.agent, self.made = server, agent, made
        self.id: str = made["turn_id"]
        self.path = f"/v1/agents/{agent}/turns/{self.id}"

    def call(self, tool: str, **input: Any) -> dict[str, Any]:
        return self.server.post(f"{self.path}/tools/{tool}", {"input": input})

    def add(self, summary: str, *, kind: str = "fact", **fields: Any) -> str:
        answer = self.call("add_memory", summary=f"{summary} {MARK}", kind=kind, **fields)
        assert "output" in answer, answer
        id: str = answer["output"]["memories"][0]["id"]
        return id

    def search(self, query: str | None = None, **fields: Any) -> dict[str, Any]:
        output: dict[str, Any] = self.call("search_memory", query=query, **fields)["output"]
        return output

    def recall(self, query: str, **fields: Any) -> dict[str, Any]:
        return self.server.post(f"{self.path}/recall", {"query": query, **fields})

    def end(self, outcome: str = "completed", **fields: Any) -> dict[str, Any]:
        """Waited for: a turn in which something was said is reviewed before it commits."""
        return self.server.post(f"{self.path}/end?wait=25", {"outcome": outcome, **fields})

    def commit(self) -> dict[str, Any]:
        ended = self.end()
        assert ended["status"] == "committed"
        return ended

    def state(self) -> dict[str, Any]:
        return self.server.get(self.path)


def answered(response: httpx.Response, status: int = 200) -> dict[str, Any]:
    assert response.status_code == status, f"{response.status_code}: {response.text[:1000]}"
    body: dict[str, Any] = response.json()
    return body


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body = answered(response, status)
    assert body["code"] == code, body
    return body


def faults_of(response: httpx.Response) -> list[str]:
    """What no answer may be, whatever was asked."""
    faults = []
    if response.status_code >= 500 and response.status_code != 503:
        faults.append(f"status {response.status_code}")
    if not response.headers.get("request-id"):
        faults.append("no Request-Id")
    expected = "application/json" if response.is_success else "application/problem+json"
    if response.headers.get("content-type") != expected:
        faults.append(f"content type {response.headers.get('content-type')}")
    elif response.request.method != "HEAD":
        faults += _faults_of_body(response)
    return faults


def _faults_of_body(response: httpx.Response) -> list[str]:
    try:
        body = response.json()
        if response.is_success:
            return [] if isinstance(body, dict) else ["no object"]
        Problem.model_validate(body)
    except ValueError as error:
        return [f"body: {error}"]
    same = body["status"] == response.status_code and body["request_id"] == response.headers["request-id"]
    return [] if same else ["status or request id differ from the header's"]


def ids(answer: dict[str, Any]) -> list[str]:
    """Of the records that a recall or a search shows."""
    return [memory["id"] for memory in answer["memories"]]


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=START_S, **options)


def told_in_one_line(refused: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error, of a command that would not start."""
    assert refused.returncode == 1, refused.stderr
    assert refused.stdout == ""
    lines = [line for line in refused.stderr.splitlines() if not line.startswith("Loading")]
    assert len(lines) == 1, refused.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


MakeServer = Callable[..., Server]
"""Further flags, and `min_score`."""
