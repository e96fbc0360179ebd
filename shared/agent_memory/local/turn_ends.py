"""The ends of turns on one machine: a few threads that review and commit, in place of Step Functions.

What is told survives a restart, since the table lists every turn that has not come to its end: `start` takes these up.
A review that does not answer is tried again, then the turn commits without it (EX-6).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from queue import Empty, Queue
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from agent_memory.domain.errors import ReviewerUnavailable, Unavailable
from agent_memory.domain.turns import Turn
from agent_memory.operations.review import review
from agent_memory.operations.services import Services
from agent_memory.operations.turn_end import carry_out
from agent_memory.runtime import observability as log
from agent_memory.runtime.turn_ends import tell

THREADS = 8  # turns at once: a review mostly waits for its model, but one by rules embeds on this machine
TRIES = 3  # of a step of a review, each with the tries of the model's own client
WAIT_S = 1.0  # before the second, twice as long before the third, each by half more or less
LATER_S = 5.0  # before a turn is tried again whose commit the store did not take
_BEFORE = -1  # in the place of a turn's tries, where an earlier process was told
_LOOK_S = 0.5  # the longest that an idle thread takes to stop


class Told(NamedTuple):
    agent_id: str
    turn_id: str
    tries: int


class _Stopped(Exception):
    """The server stops: the turn is taken up at the next start."""


class TurnEndThreads:
    """services: those to work with, once there are any."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._told: Queue[Told] = Queue()
        self._busy: set[Told] = set()  # told and not done: told once more they are not begun once more
        self._lock = Lock()
        self._stopping = Event()
        self._threads = [Thread(target=self._run, name=f"turn end {n}", daemon=True) for n in range(THREADS)]

    def start(self, agent_id: str, turn_id: str, tries: int, again: str = "") -> None:
        """As `TurnEnds`."""
        told = Told(agent_id, turn_id, tries)
        with self._lock:
            if told in self._busy:
                return
            self._busy.add(told)
        self._told.put(told)

    def run(self) -> None:
        """Work from now on, first on what an earlier process did not come to the end of."""
        for agent_id, turn_id in self._services().turns.all_ending():
            self.start(agent_id, turn_id, _BEFORE)
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Whether all have ended in that time; a thread that waits for a model does not, and dies with the process."""
        self._stopping.set()
        end = monotonic() + timeout_s
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                told = self._told.get(timeout=_LOOK_S)
            except Empty:
                continue
            self._carry_out(told)

    def _carry_out(self, told: Told) -> None:
        is_done, turn_id = True, told.turn_id
        try:
            services = self._services()
            tell(services, carry_out(services, told.agent_id, turn_id, review=self._review))
        except _Stopped:
            return
        except Unavailable as error:
            log.warning("turn end waits", turn_id=turn_id, **log.where(error))
            is_done = False
        except Exception as error:  # the loop of a queue: one turn must not end it; upkeep takes this one up again
            log.error("turn end failed", turn_id=turn_id, **log.where(error))
        if not is_done and not self._stopping.wait(LATER_S):
            self._told.put(told)
            return
        with self._lock:
            self._busy.discard(told)

    def _review(self, services: Services, agent_id: str, turn_id: str) -> Turn:
        for tried in range(1, TRIES + 1):
            self._check_running()
            try:
                return review(services, agent_id, turn_id)
            except Unavailable as error:
                log.warning("review waits", turn_id=turn_id, tried=tried, why=str(error), **log.where(error))
            except Exception as error:  # by a fault of ours: its turn is to commit all the same
                log.error("review broke", turn_id=turn_id, **log.where(error))
                break
            if tried < TRIES:
                self._stopping.wait(WAIT_S * 2 ** (tried - 1) * random.uniform(0.5, 1.5))
        raise ReviewerUnavailable("The review came to nothing.")

    def _check_running(self) -> None:
        if self._stopping.is_set():
            raise _Stopped
