"""Measures a server from outside: over one HTTP connection, and by what the system says of its process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import psutil
from latency_load import AGENT
from synthetic import BIG, FIFTY, SMALL, query_of, record_of
from timing import Pace

SCOPES = ("small", "big", "fifty")
_ROUNDS, _CALLS = 8, 25  # recalls of each kind: rounds of a block of each, so that all see the same noise
_TURNS = {1: 120, 15: 20}  # how many turns of so many adds
_START_S, _STOP_S, _INDEXED_S = 120.0, 15.0, 60.0


@dataclass
class Calls:
    """seconds: of each call as its caller saw it. cpu_s: of the server's process, all calls together."""

    seconds: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_s / len(self.seconds)


@dataclass(frozen=True, slots=True)
class Saved:
    """Turns of a number of adds. cpu_ms: of the server per record, the indexing of it included; calls: per record."""

    turns_per_s: float
    cpu_ms: float
    calls: float


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds until it listens, and from there on until it has answered its first recall in a scope."""

    listening_s: float
    small_s: float
    big_s: float


class Server:
    """A running server: its process and one connection to it."""

    def __init__(self, process: psutil.Process, client: httpx.Client) -> None:
        self.process = process
        self.client = client
        self._numbers = count()

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system

    def resident_bytes(self) -> int:
        resident: int = self.process.memory_info().rss
        return resident

    def begin(self, owner: str) -> str:
        turn: str = self.post("", {"session_id": f"reading {owner}", "user_id": owner})["turn_id"]
        return turn

    def recall(self, turn: str) -> None:
        recalled = self.post(f"/{turn}/recall", {"query": query_of(next(self._numbers))})
        assert not recalled["degraded"], recalled["degraded_reason"]

    def nothing(self) -> None:
        self.client.get("/v1/dev/nothing").raise_for_status()

    def save(self, owner: str, numbers: range) -> None:
        """A whole turn: begun, filled, committed."""
        turn = self.begin(owner)
        for number in numbers:
            answer = self.post(f"/{turn}/tools/add_memory", {"input": record_of(owner, number)})
            assert "error" not in answer, answer
        self.post(f"/{turn}/end", {"outcome": "completed"})

    def await_indexed(self) -> None:
        end = time.monotonic() + _INDEXED_S
        while self.client.get("/v1/status").json()["index"]["unindexed"]:
            assert time.monotonic() < end, "the index did not catch up"
            time.sleep(0.1)  # each look costs the server what half a record does

    def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        response = self.client.post(f"/v1/agents/{AGENT}/turns{path}", json=body)
        response.raise_for_status()
        answer: dict[str, object] = response.json()
        return answer


@contextmanager
def started(folder: Path) -> Iterator[tuple[Server, Start]]:
    """A server on the folder, stopped at the end."""
    begun = time.perf_counter()
    script = Path(__file__).with_name("latency_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout
        url = process.stdout.readline().removeprefix("listening on ").strip()
        listening = time.perf_counter()
        with httpx.Client(base_url=url, timeout=_START_S) as client:
            server = Server(psutil.Process(process.pid), client)
            small, big = (_first_recall(server, owner) for owner in (SMALL[0], BIG))
            yield server, Start(listening - begun, small, big)
    finally:
        process.terminate()
        process.wait(_STOP_S)


def _first_recall(server: Server, owner: str) -> float:
    begun = time.perf_counter()
    server.recall(server.begin(owner))
    return time.perf_counter() - begun


def measure_recalls(server: Server, pace: Pace) -> dict[str, Calls]:
    """Recalls in each kind of scope, once all are in memory, and `nothing`: the floor of the same run."""
    owners = {"small": SMALL, "big": (BIG,), "fifty": (FIFTY,)}
    turns = {scope: [server.begin(owner) for owner in owners[scope]] for scope in SCOPES}
    for several in turns.values():
        for turn in several:
            server.recall(turn)
    measured = {kind: Calls() for kind in ("nothing", *SCOPES)}
    for block in range(_ROUNDS):
        _measure(server, measured["nothing"], [server.nothing] * _CALLS)
        pace.sample()
        for scope, several in turns.items():
            some = [several[(block * _CALLS + n) % len(several)] for n in range(_CALLS)]
            _measure(server, measured[scope], [lambda turn=turn: server.recall(turn) for turn in some])
            pace.sample()
    return measured


def _measure(server: Server, into: Calls, calls: list[Callable[[], None]]) -> None:
    before = server.cpu_s()
    for call in calls:
        begun = time.perf_counter()
        call()
        into.seconds.append(time.perf_counter() - begun)
    into.cpu_s += server.cpu_s() - before


def measure_turns(server: Server, adds: int, first: int, pace: Pace) -> Saved:
    """Turns of so many adds, one after the other, of owners of their own. first: the number of the first record."""
    turns = _TURNS[adds]
    owner = f"writer of {adds}"
    server.await_indexed()
    before, begun = server.cpu_s(), time.perf_counter()
    for turn in range(turns):
        server.save(owner, range(first + turn * adds, first + (turn + 1) * adds))
    took = time.perf_counter() - begun
    server.await_indexed()
    pace.sample()
    return Saved(turns / took, 1000 * (server.cpu_s() - before) / (turns * adds), (adds + 2) / adds)
