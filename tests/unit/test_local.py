"""Parts of the one-machine edition by themselves: the feed, the switches, the socket, and who may call."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from embedders import HashEmbedder

from agent_memory.adapters.change_feed import FeedRow
from agent_memory.domain.errors import EmbedderUnavailable, IndexUnavailable
from agent_memory.domain.ports import Key
from agent_memory.local.browsers import is_foreign, is_loopback
from agent_memory.local.clock import AdvancedClock
from agent_memory.local.faults import Counter, FailingEmbedder
from agent_memory.local.feed import FeedLoop, stream_event
from agent_memory.local.server import listen, url_of

COMMIT = "U#01HZZZZZZZZZZZZZZZZZZZZZZZ"


class Rows:
    """A feed in memory. `done` hands on what was taken off."""

    def __init__(self, *positions: int) -> None:
        self.rows = [FeedRow(n, Key("memory", "a#agent#", COMMIT)) for n in positions]
        self.done: SimpleQueue[list[int]] = SimpleQueue()

    def feed(self, limit: int) -> list[FeedRow]:
        return self.rows[:limit]

    def feed_waiting(self) -> tuple[int, FeedRow | None]:
        return len(self.rows), self.rows[0] if self.rows else None

    def feed_done(self, positions: Sequence[int]) -> None:
        self.rows = [row for row in self.rows if row.position not in positions]
        self.done.put(list(positions))

    def wait_for_feed(self, timeout_s: float) -> bool:
        return True


def test_a_batch_is_taken_off_once_the_handler_is_through() -> None:
    rows, events = Rows(1, 2, 3), []

    def handler(event: Mapping[str, Any], _: Any) -> dict[str, Any]:
        events.append(event)
        return {"batchItemFailures": [{"itemIdentifier": "2"}] if len(events) == 1 else []}

    loop = FeedLoop(rows, handler)
    loop.start()
    assert rows.done.get(timeout=30) == [1, 3]
    assert rows.done.get(timeout=30) == [2]
    loop.stop(5)
    assert events[0] == stream_event([FeedRow(n, Key("memory", "a#agent#", COMMIT)) for n in (1, 2, 3)])


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("error", [IndexUnavailable("down"), RuntimeError("a fault of ours")])
def test_a_batch_is_tried_again_until_it_comes_through(error: Exception) -> None:
    rows, errors = Rows(1), [error, error]

    def handler(event: Mapping[str, Any], _: Any) -> dict[str, Any]:
        if errors:
            raise errors.pop()
        return {"batchItemFailures": []}

    loop = FeedLoop(rows, handler)
    loop.start()
    loop.wake()
    assert rows.done.get(timeout=30) == [1]
    loop.stop(5)


def test_a_row_that_breaks_the_handler_holds_up_no_other() -> None:
    rows = Rows(1, 2, 3)

    def handler(event: Mapping[str, Any], _: Any) -> dict[str, Any]:
        if "2" in [record["eventID"] for record in event["Records"]]:
            raise RuntimeError("a fault of ours")
        return {"batchItemFailures": []}

    loop = FeedLoop(rows, handler)
    loop.start()
    assert [rows.done.get(timeout=30), rows.done.get(timeout=30)] == [[1], [3]]
    loop.stop(5)
    assert [row.position for row in rows.rows] == [2]


def test_a_feed_that_is_paused_is_left_alone_until_it_is_woken() -> None:
    rows, paused = Rows(1), [True]
    loop = FeedLoop(rows, lambda event, _: {"batchItemFailures": []}, lambda: paused[0])
    loop.start()
    loop.wake()
    assert rows.done.empty()
    paused[0] = False
    loop.wake()
    assert rows.done.get(timeout=30) == [1]
    loop.stop(5)


def test_a_clock_put_forward_stays_so(tmp_path: Path) -> None:
    class Fixed:
        def now(self) -> datetime:
            return datetime(2026, 5, 12, tzinfo=UTC)

    path = tmp_path / "clock.json"
    AdvancedClock(Fixed(), path).advance(timedelta(hours=25))
    AdvancedClock(Fixed(), path).advance(timedelta(days=1))
    assert AdvancedClock(Fixed(), path).now() == datetime(2026, 5, 14, 1, tzinfo=UTC)


def test_the_next_so_many_calls_fail() -> None:
    embedder = FailingEmbedder(HashEmbedder())
    embedder.calls.set(2)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed(["x"])
    assert embedder.embed(["x"]).vectors[0]
    counter = Counter()
    counter.set(1)
    counter.set(0)
    assert not counter.take()


def test_connections_send_at_once() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                assert connection.proto == socket.IPPROTO_TCP
        assert url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("origin", "host", "foreign"),
    [
        (None, "127.0.0.1:8080", False),
        (None, "localhost", False),
        (None, "[::1]:8080", False),
        (None, None, False),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", False),
        ("http://127.0.0.1:9090", "127.0.0.1:8080", True),
        ("https://elsewhere.example", "127.0.0.1:8080", True),
        ("null", "127.0.0.1:8080", True),
        (None, "elsewhere.example:8080", True),
        ("http://elsewhere.example", "elsewhere.example", True),
        (None, "127.0.0.1.elsewhere.example", True),
    ],
)
def test_who_is_taken_for_a_web_page_of_another_site(origin: str | None, host: str | None, foreign: bool) -> None:
    assert is_foreign(origin, host, loopback=True) is foreign


def test_a_server_that_others_reach_is_called_by_any_name() -> None:
    assert not is_foreign(None, "memory.internal:8080", loopback=False)
    assert is_foreign("https://elsewhere.example", "memory.internal:8080", loopback=False)
    assert is_loopback("127.8.9.1")
    assert not is_loopback("0.0.0.0")
