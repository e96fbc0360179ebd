"""The machine's clock, and ids made from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock

from ulid import ULIDGenerator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class SystemClock:
    """The machine's time. It may go back (the machine's clock is set); ids do not."""

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class SystemIds:
    """ULIDs that only grow within the process: within a millisecond by counting on (the library), and where the clock
    went back by staying at the newest instant."""

    def __init__(self) -> None:
        self._newest_ms = 0
        self._lock = Lock()
        # Whole milliseconds, not the datetime: the library goes through a float there, which can lose one.
        self._generator = ULIDGenerator(clock=lambda: self._newest_ms)

    def new(self, now: datetime) -> str:
        with self._lock:
            self._newest_ms = max(self._newest_ms, (now - _EPOCH) // _MILLISECOND)
            return str(self._generator.generate())
