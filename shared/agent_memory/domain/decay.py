"""How the confidence in a record fades with its age, and whether it is still recalled (UP-1).

Leaves to the caller where it matters: recall and the settling of keys, never search, lists or the record itself, whose
`confidence` stays what it was. Its age starts anew when a review confirms it, never because it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from .memory_settings import DecaySettings, MemorySettings
from .records import Record
from .times import instant


def is_recalled(record: Record, memory: MemorySettings, now: datetime, *, broader: bool) -> bool:
    """Whether its confidence is at `min_confidence` or above. broader: whether its kind is of broader precedence
    (`precedence.is_broader_kind`); such a record is always recalled, unless `decay` names its kind."""
    if broader and record.kind not in memory.decay:
        return True
    return confidence_at(record, memory.decay, now) >= memory.min_confidence


def confidence_at(record: Record, decay: Mapping[str, DecaySettings], now: datetime) -> float:
    """`confidence × 0.5^(age / half-life)`. Records of kinds that `decay` does not name keep their confidence, and so
    do preview records (PV-4)."""
    fading = decay.get(record.kind)
    if fading is None or record.preview:
        return record.confidence
    return record.confidence * float(0.5 ** (_age(record, now) / fading.half_life.span))


def _age(record: Record, now: datetime) -> timedelta:
    """Since it was last confirmed, else since it was created. Never negative: a clock may go back."""
    return max(now - instant(record.newest.confirmed_at or record.created_at), timedelta(0))
