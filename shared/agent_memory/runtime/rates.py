"""How many calls a second one agent may send (IF-7): a bucket of tokens for each, which holds those of one second.

Of this process alone: the one-machine server, or one environment of a Lambda function. In AWS the throttle of API
Gateway stands before it and counts all callers together; this keeps an agent that loops from taking what is left.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from agent_memory.domain.errors import Throttled

from .settings import DEFAULT_CALLS_PER_SECOND

_AGENTS = 10_000  # that are remembered, a hundred bytes each; who has not called for longest has a full bucket anyway


class _Bucket(NamedTuple):
    tokens: float
    at_s: float


class Rates:
    """per_second: calls of each agent. monotonic: seconds that only grow, from whatever moment."""

    def __init__(
        self, per_second: int = DEFAULT_CALLS_PER_SECOND, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = Lock()

    def take(self, agent: str) -> None:
        """Count one call of the agent. Raises `Throttled`, with the seconds to wait; that call is not counted."""
        with self._lock:
            tokens = self._tokens(agent)
            if tokens < 1:
                raise self._throttled((1 - tokens) / self._per_second)
            self._buckets[agent] = _Bucket(tokens - 1, self._monotonic())
            self._buckets.move_to_end(agent)
            if len(self._buckets) > _AGENTS:
                self._buckets.popitem(last=False)

    def _tokens(self, agent: str) -> float:
        full = float(self._per_second)
        bucket = self._buckets.get(agent)
        if bucket is None:
            return full
        return min(full, bucket.tokens + (self._monotonic() - bucket.at_s) * self._per_second)

    def _throttled(self, wait_s: float) -> Throttled:
        told = Throttled(f"This agent takes {self._per_second:,} calls a second: send fewer, or later.")
        told.retry_after_s = float(math.ceil(wait_s))
        return told
