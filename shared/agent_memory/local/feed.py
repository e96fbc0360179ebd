"""The change feed in place of DynamoDB's stream: what is committed is handed to the index handler, in batches, until a
search shows it.

Delivers as Lambda does: at least once, oldest first, and again while the handler raises. What the index owes survives a
restart, since the feed lies in the table's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from time import sleep
from typing import Any, Protocol

from agent_memory.adapters.change_feed import FeedRow
from agent_memory.domain.errors import Unavailable
from agent_memory.operations.index import embed_waiting
from agent_memory.operations.index_history import embed_waiting_turns
from agent_memory.runtime import observability as log
from agent_memory.runtime.wiring import services

BATCH = 100  # as a stream's event source would
# How long a batch is gathered. Until then a search reads the commits from the table; telling the index of each one by
# itself would cost a turn that saves one record a fifth more.
GATHER_S = 0.05
IDLE_S = 0.5  # between looks at what waits for the embedder, and the longest that stopping takes
LONGEST_WAIT_S = 5.0  # before a batch that failed is tried again


class Feed(Protocol):
    def feed(self, limit: int) -> list[FeedRow]: ...

    def feed_waiting(self) -> tuple[int, FeedRow | None]: ...

    def feed_done(self, positions: Sequence[int]) -> None: ...

    def wait_for_feed(self, timeout_s: float) -> bool: ...


Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]


class FeedLoop:
    """One thread. `paused`: whether the feed is left alone for now."""

    def __init__(self, feed: Feed, handler: Handler, paused: Callable[[], bool] = lambda: False) -> None:
        self._feed = feed
        self._handler = handler
        self._paused = paused
        self._stopping = False
        self._wake = Event()
        self._thread = Thread(target=self._run, name="feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something that it waits for has changed."""
        self._wake.set()

    def stop(self, timeout_s: float) -> bool:
        """Whether it has ended in that time."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        wait_s = 0.0
        while not self._stopping:
            if wait_s or self._paused():
                self._wake.wait(wait_s or LONGEST_WAIT_S)
                self._wake.clear()
            if not self._stopping and not self._paused():
                wait_s = 0.0 if self._deliver() else min(max(2 * wait_s, 0.1), LONGEST_WAIT_S)

    def _deliver(self) -> bool:
        """One batch, or a wait for one. False where it did not come through and is to be tried again."""
        try:
            rows = self._feed.feed(BATCH)
        except Unavailable as error:
            log.error("feed unreadable", **log.where(error))
            return False
        if rows:
            return self._hand_over(rows)
        if self._feed.wait_for_feed(IDLE_S):
            sleep(GATHER_S)
        elif not self._stopping:
            self._embed_waiting()
        return True

    def _hand_over(self, rows: Sequence[FeedRow]) -> bool:
        """A batch that breaks the handler is handed over row by row, so that one row holds up no other."""
        try:
            answer = self._handler(stream_event(rows), None)
        except Unavailable as error:
            log.warning("index behind", **log.where(error))
            return False
        except Exception as error:  # the loop of a stream: one bad row must not end it for good
            log.error("feed failed", rows=len(rows), **log.where(error))
            through = [self._hand_over([row]) for row in rows] if len(rows) > 1 else [False]
            return all(through)
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        self._feed.feed_done([row.position for row in rows if str(row.position) not in failed])
        return not failed

    def _embed_waiting(self) -> None:
        try:
            embed_waiting(services())
            embed_waiting_turns(services())
        except Unavailable as error:  # the next look comes by itself
            log.warning("embedding waits", **log.where(error))
        except Exception as error:
            log.error("embedding failed", **log.where(error))


def stream_event(rows: Sequence[FeedRow]) -> dict[str, Any]:
    """The rows as the memory table's stream (keys only) would hand them to Lambda."""
    return {"Records": [_record(row) for row in rows]}


def _record(row: FeedRow) -> dict[str, Any]:
    keys = {"pk": {"S": row.key.partition}, "sk": {"S": row.key.sort}}
    return {
        "eventID": str(row.position),
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": keys, "SequenceNumber": str(row.position), "StreamViewType": "KEYS_ONLY"},
    }
