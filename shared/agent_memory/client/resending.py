"""Which calls are sent again, when, and how often.

Any call may be sent again, since it has one effect however often it comes, or none (`connection`): where no connection
was made or an answer was lost, after a 429 or a 503, and after a 409 `in_progress`, which says that an earlier try of
the same call still runs and will have the answer. Every other answer is final. Who gives up and wants to go on later,
in another process too, calls again with an `idempotency_key` of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random,
    wait_random_exponential,
)

from agent_memory.domain.errors import Conflict, Throttled, Unavailable

T = TypeVar("T")

_BACKOFF = wait_random_exponential(multiplier=0.3, max=5.0)
_SPREAD = wait_random(0.0, 0.5)  # so that those who were told the same do not come at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Resending:
    """attempts: how often a call is sent at most; 1: never again. longest_wait_s: who is told by `Retry-After` to wait
    longer gets the error at once, with `retry_after_s`."""

    attempts: int = 4
    longest_wait_s: float = 20.0
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, send: Callable[[], T]) -> T:
        """What `send` gives."""
        retrying = Retrying(
            retry=retry_if_exception(self._may_resend),
            stop=stop_after_attempt(self.attempts),
            wait=_pause_s,
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(send)

    def _may_resend(self, error: BaseException) -> bool:
        if not isinstance(error, Conflict | Throttled | Unavailable):
            return False
        is_final = isinstance(error, Conflict) and error.code != "in_progress"
        return not is_final and (error.retry_after_s or 0.0) <= self.longest_wait_s


def _pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    told_s = getattr(error, "retry_after_s", None)
    return _BACKOFF(state) if told_s is None else told_s + _SPREAD(state)
