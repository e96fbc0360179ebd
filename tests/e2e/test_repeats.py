"""Calls with an Idempotency-Key that are sent again after a kill: each has had one effect, or has it now (IF-2)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event
from typing import Any

import httpx
import pytest
from embedding_server import Hang, ScriptedServer
from server import MARK, MakeServer, Server, answered

AGENT = "keyed"
WORKERS = 4
TURNS = 6


def keyed(server: Server, path: str, body: dict[str, Any], key: str) -> httpx.Response:
    return server.http.post(path, json=body, headers={"Idempotency-Key": key})


@pytest.mark.rule("IF-2", "IF-5")
def test_a_call_that_a_kill_broke_off_is_carried_out_when_it_comes_again(
    serve: MakeServer, embedder: ScriptedServer
) -> None:
    """At once, though its lease has not ended: the server that gave it is gone."""
    server = serve()
    server.configure(AGENT)
    turn = server.begin(AGENT)
    path, body = f"{turn.path}/tools/add_memory", {"input": {"summary": f"Noon. {MARK}", "kind": "fact"}}
    reached = Event()

    def hangs(_: dict[str, Any]) -> tuple[int, Any]:
        reached.set()
        raise Hang

    embedder.script = hangs
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(keyed, server, path, body, "k")
        assert reached.wait(60)
        assert answered(keyed(server, path, body, "k"), 409)["code"] == "in_progress"
        server.kill()
        assert isinstance(waiting.exception(), httpx.TransportError)
    embedder.script = embedder.answer
    server.start()
    first, second = (keyed(server, path, body, "k") for _ in range(2))
    assert "Idempotency-Replayed" not in first.headers
    assert (second.headers["Idempotency-Replayed"], second.text) == ("true", first.text)
    assert len(turn.state()["memories"]) == 1


@pytest.mark.rule("IF-2", "IF-5")
def test_what_was_answered_before_a_kill_is_answered_the_same_after_it(serve: MakeServer) -> None:
    server = serve()
    server.configure(AGENT)
    path, body = f"/v1/agents/{AGENT}/turns", {"session_id": "s"}
    first = keyed(server, path, body, "k")
    server.kill()
    server.start()
    second = keyed(server, path, body, "k")
    assert (second.status_code, second.text) == (201, first.text)
    assert second.headers["Idempotency-Replayed"] == "true"


@dataclass
class Worker:
    """Plays turns call by call, each with a key of its own, and sends again what was not answered."""

    server: Server
    name: str
    calls: Iterator[int]
    fatal: int
    reached: Event
    turns: list[str] = field(default_factory=list)
    keys: Iterator[int] = field(default_factory=count)
    waiting: tuple[str, dict[str, Any], str] | None = None

    def play(self) -> None:
        """Until the server is killed, or all is done."""
        try:
            while len(self.turns) < TURNS:
                self.turn()
        except httpx.TransportError:
            return
        finally:
            self.reached.set()

    def turn(self) -> None:
        begun = self.send(f"/v1/agents/{AGENT}/turns", {"session_id": self.name})
        path = f"/v1/agents/{AGENT}/turns/{begun['turn_id']}"
        self.turns.append(path)
        self.send(f"{path}/messages", {"messages": [{"role": "user", "text": "Hello."}]})
        for n in range(2):
            input = {"summary": f"{path} {n}. {MARK}", "kind": "fact", "memory_key": f"{self.name} {n}"}
            self.send(f"{path}/tools/add_memory", {"input": input})
        self.send(f"{path}/end", {"outcome": "completed"})

    def send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.waiting = path, body, f"{self.name}-{next(self.keys)}"
        return self.again()

    def again(self) -> dict[str, Any]:
        """Send what waits, with its key."""
        assert self.waiting
        if next(self.calls) == self.fatal:
            self.reached.set()
        answer = keyed(self.server, *self.waiting)
        self.waiting = None
        assert answer.is_success, answer.text
        body: dict[str, Any] = answer.json()
        return body


@pytest.mark.rule("IF-2", "TU-1", "IF-5")
def test_a_harness_that_repeats_every_call_a_kill_took_has_each_effect_once(serve: MakeServer) -> None:
    server = serve()
    server.configure(AGENT, search={"mode": "lexical"})
    for number, fatal in enumerate((13, 29, 47)):
        calls, reached = count(), Event()
        workers = [Worker(server, f"{number}-{n}", calls, fatal, reached) for n in range(WORKERS)]
        with ThreadPoolExecutor(WORKERS) as threads:
            playing = [threads.submit(worker.play) for worker in workers]
            assert reached.wait(120)
            server.kill()
            for each in playing:
                each.result()
        server.start()
        for worker in workers:
            check(server, worker)


def check(server: Server, worker: Worker) -> None:
    """Go on with the call that was not answered; then nothing is missing and nothing twice."""
    if worker.waiting:
        path = worker.waiting[0]
        answer = worker.again()
        if path.endswith("/turns"):
            worker.turns.append(f"{path}/{answer['turn_id']}")
    listed = server.pages(f"/v1/agents/{AGENT}/turns", "turns", session_id=worker.name)
    assert sorted(turn["turn_id"] for turn in listed) == sorted(path.rpartition("/")[2] for path in worker.turns)
    assert sorted(turn["number"] for turn in listed) == list(range(1, len(worker.turns) + 1))
    for path in worker.turns:
        events = server.get(f"{path}/transcript")["events"]
        assert sum(event["type"] == "message" for event in events) <= 1
        executions = [event["input"]["summary"] for event in events if event["type"] == "execution"]
        assert len(executions) == len(set(executions))
        assert sum(event["type"] == "turn.committed" for event in events) <= 1
