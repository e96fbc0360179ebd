"""A record as it stood at an instant: what a replay sees of it (HI-5).

Leaves to the caller what time has taken since: what has expired, and what is erased or removed, stays gone.
"""

from __future__ import annotations

from datetime import datetime

from .records import Record
from .times import instant


def stood(record: Record, at: datetime) -> Record | None:
    """The record at the newest of its versions that was written by then; None where it was saved later.

    Versions are written in order, also where a clock went back between two of them."""
    written = (version.number for version in record.versions if instant(version.written_at) <= at)
    return record.at(max(written, default=0))
