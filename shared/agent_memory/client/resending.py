"""Which calls are sent again, when, and how often.

A call that was certainly not carried out may always be sent again: no connection was made, or the answer is 429, which
is given before anything is done. After a 503, or where an answer was lost, only a call that does no more when it comes
twice is repeated. The rest is the caller's to decide, who is told by the error (`Unreachable.was_sent`).
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

from agent_memory.domain.errors import Throttled, Unavailable, Unreachable

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

    def __call__(self, send: Callable[[], T], *, repeatable: bool) -> T:
        """What `send` gives. repeatable: whether the call does no more when it is carried out twice."""
        retrying = Retrying(
            retry=retry_if_exception(lambda error: self._may_resend(error, repeatable)),
            stop=stop_after_attempt(self.attempts),
            wait=_pause_s,
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(send)

    def _may_resend(self, error: BaseException, repeatable: bool) -> bool:
        if not isinstance(error, Throttled | Unavailable) or (error.retry_after_s or 0.0) > self.longest_wait_s:
            return False
        not_carried_out = isinstance(error, Throttled) or (isinstance(error, Unreachable) and not error.was_sent)
        return repeatable or not_carried_out


def _pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    told_s = getattr(error, "retry_after_s", None)
    return _BACKOFF(state) if told_s is None else told_s + _SPREAD(state)
