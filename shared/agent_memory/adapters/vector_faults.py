"""Which vectors no index can take, on either side alike: decided before anything is sent or stored."""

from __future__ import annotations

import math
from operator import mul

from ..domain.ports import IndexEntry
from ..domain.vectors import unpacked

FLOAT_BYTES = 4


def fault_of(entry: IndexEntry, dimensions: int) -> str | None:
    """Why the entry's vectors have no cosine, or None. Of an entry that ended they do not matter."""
    for vector in entry.vectors if entry.live else ():
        if len(vector) != dimensions * FLOAT_BYTES:
            return "wrong_dimension"
        values = unpacked(vector)
        if not 0.0 < math.fsum(map(mul, values, values)) < math.inf:  # NaN is refused too
            return "no_direction"
    return None
