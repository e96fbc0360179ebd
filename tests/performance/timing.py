"""What many measured durations say together, and how far the machine's other work spoils them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil


def percentile(values: Sequence[float], percent: float) -> float:
    """The least value that at least `percent` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


class Pace:
    """How busy the machine is: what a fixed piece of work costs now and then, against what it costs at best.

    On a machine that others use, processor times grow too: caches and cores are shared."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def sample(self) -> None:
        begun = time.thread_time()
        sum(number * number % 7 for number in range(20_000))
        self._seconds.append(time.thread_time() - begun)

    @property
    def slowdown(self) -> float:
        """The median over the least, from 1."""
        return percentile(self._seconds, 50) / min(self._seconds)
