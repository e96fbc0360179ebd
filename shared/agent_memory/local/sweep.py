"""Upkeep on one machine: the jobs of the function `upkeep`, and what DynamoDB does by itself (rows whose time is over
go), every minute, in a thread of their own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread

from agent_memory.domain.errors import Unavailable
from agent_memory.runtime import observability as log
from agent_memory.runtime.upkeep import run

EVERY_S = 60.0
# The folder's own: the index is built at the start, floors lie in a file, and `GET /v1/status` tells the backlog.
ELSEWHERE = ("backlog", "index", "floor")


class Sweeper:
    """purge: removes rows whose time is over. paused: whether the index is left alone for now."""

    def __init__(self, purge: Callable[[], object], paused: Callable[[], bool] = lambda: False) -> None:
        self._purge = purge
        self._paused = paused
        self._stopping = Event()
        self._running = Lock()
        self._thread = Thread(target=self._loop, name="sweep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Whether it has ended in that time."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def run(self) -> list[str]:
        """All that is due now, once no other run is under way; gives what broke. Raises `StoreUnavailable`."""
        leave = (*ELSEWHERE, "drain", "embed") if self._paused() else ELSEWHERE
        with self._running:
            self._purge()
            return run(lambda: not self._stopping.is_set(), leave=leave)

    def _loop(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                self.run()
            except Unavailable as error:  # the next one comes by itself
                log.error("sweep failed", **log.where(error))
