"""A clock that can be put forward, for trying out what time does: with `--dev` alone."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

from agent_memory.domain.ports import Clock


class AdvancedClock:
    """The given clock, so many seconds ahead; how many is kept in `path`, so a restart does not turn time back."""

    def __init__(self, clock: Clock, path: Path) -> None:
        self._clock = clock
        self._path = path
        self._ahead_s: float = json.loads(path.read_text())["ahead_s"] if path.exists() else 0

    def now(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._ahead_s)

    def advance(self, span: timedelta) -> None:
        ahead_s = self._ahead_s + span.total_seconds()
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps({"ahead_s": ahead_s}))
        partial.replace(self._path)  # all of it or nothing, also if the process dies here
        self._ahead_s = ahead_s
