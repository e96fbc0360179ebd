"""SIGKILL while turns run: what was answered is there, nothing is half-done, and the index catches up by itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event
from typing import Any

import httpx
import pytest
from server import MARK, MakeServer, Server, Turn, ids

WORKERS = 4
ROUNDS = 3
AGENT = "worker"


@dataclass
class Told:
    """What the server has answered of one turn, and which end was asked for."""

    turn: str
    saved: list[str] = field(default_factory=list)
    asked: str | None = None
    status: str | None = None


@dataclass
class Round:
    """One life of the server: it is killed at its `fatal`th call, which is carried out as the signal comes."""

    server: Server
    number: int
    fatal: int
    calls: Iterator[int] = field(default_factory=count)
    reached: Event = field(default_factory=Event)

    def play(self) -> list[Told]:
        with ThreadPoolExecutor(WORKERS) as workers:
            told = [workers.submit(self._work, worker) for worker in range(WORKERS)]
            assert self.reached.wait(120)
            self.server.kill()
            return [one for each in told for one in each.result()]

    def session(self, worker: int) -> str:
        return f"round {self.number}, worker {worker}"

    def _work(self, worker: int) -> list[Told]:
        told: list[Told] = []
        chance = random.Random(100 * self.number + worker)
        try:
            while True:
                self._turn(self.session(worker), told, chance)
        except httpx.TransportError:  # killed
            return told
        finally:
            self.reached.set()  # also where an answer was wrong: then nobody waits for more

    def _turn(self, session: str, told: list[Told], chance: random.Random) -> None:
        turn = self._called(self.server.begin, AGENT, session)
        this = Told(turn.id)
        newest = next((one.saved[0] for one in reversed(told) if one.status == "committed"), None)
        told.append(this)
        for n in range(chance.randint(1, 3)):
            replaces = newest if n == 0 and chance.random() < 0.5 else None
            text = f"Of turn {this.turn}, number {n}."
            this.saved.append(self._called(turn.add, text, scope="session", replaces=replaces))
        this.asked = chance.choice(["completed", "completed", "completed", "failed"])
        this.status = self._called(turn.end, this.asked)["status"]

    def _called(self, call: Any, *arguments: Any, **named: Any) -> Any:
        if next(self.calls) == self.fatal:
            self.reached.set()
        return call(*arguments, **named)


@pytest.mark.rule("TU-1", "TU-2", "TU-4", "TU-7", "RK-5", "IF-5")
def test_a_kill_at_any_moment_loses_nothing_that_was_answered_and_leaves_nothing_half_done(serve: MakeServer) -> None:
    server = serve()
    server.configure(AGENT)
    chance = random.Random(7)
    for number in range(ROUNDS):
        this = Round(server, number, fatal=chance.randint(40, 120))
        told = this.play()
        server.start()
        turns = {one.turn: stands(server, one) for one in told}
        found = server.records(AGENT, status="all")
        check_turns(server, told, turns, found)
        check_chains(found)
        server.settled()
        for worker in range(WORKERS):
            check_search(server, this.session(worker))
        for one in told:
            ends_as_asked(server, one)


def stands(server: Server, told: Told) -> dict[str, Any]:
    """The turn as the server knows it now: as it was answered, or open or ended where the answer was not given."""
    state = server.get(f"/v1/agents/{AGENT}/turns/{told.turn}")
    if told.status is not None:
        assert state["status"] == told.status
    else:
        assert state["status"] in ("open", {"completed": "committed", "failed": "rolled_back"}.get(told.asked or ""))
    return state


def check_turns(
    server: Server, told: list[Told], turns: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]]
) -> None:
    """Every record of a committed turn is there with its versions, and none of another."""
    by_turn: dict[str, set[str]] = {}
    for record in found.values():
        first = server.get(f"/v1/agents/{AGENT}/memories/{record['id']}/versions/1")
        by_turn.setdefault(first["written_by"]["turn_id"], set()).add(record["id"])
        versions = server.get(f"/v1/agents/{AGENT}/memories/{record['id']}/versions")["versions"]
        assert [version["version"] for version in versions] == list(range(record["version"], 0, -1))
    for one in told:
        state = turns[one.turn]
        committed = state["status"] == "committed"
        brought = by_turn.get(one.turn, set())
        assert brought == ({memory["id"] for memory in state["memories"]} if committed else set())
        assert not committed or set(one.saved) == brought


def check_chains(found: dict[str, dict[str, Any]]) -> None:
    """What one record says of another, the other says of it."""
    for record in found.values():
        for replaced in record["replaces"]:
            assert (found[replaced]["status"], found[replaced]["replaced_by"]) == ("SUPERSEDED", record["id"])
        if record["status"] == "SUPERSEDED":
            assert record["id"] in found[record["replaced_by"]]["replaces"]
        else:
            assert (record["status"], record["version"], record["replaced_by"]) == ("ACTIVE", 1, None)


def check_search(server: Server, session: str) -> None:
    listed = set(server.records(AGENT, session_id=session))
    turn = server.begin(AGENT, session)
    found = turn.search(MARK, limit=50)
    assert found["degraded"] is False
    assert set(ids(found)) == listed
    turn.end("failed")


def ends_as_asked(server: Server, told: Told) -> None:
    """The harness asks again for what it got no answer to; the first outcome stands."""
    if told.asked:
        ended = Turn(server, AGENT, {"turn_id": told.turn}).end(told.asked)
        assert ended["status"] == {"completed": "committed", "failed": "rolled_back"}[told.asked]
        saved = {memory["id"] for memory in ended["memories"]}
        assert told.asked == "failed" or saved == set(told.saved)
