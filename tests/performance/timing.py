"""What many measured durations say together."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil


def percentile(values: Sequence[float], percent: float) -> float:
    """The least value that at least `percent` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]
