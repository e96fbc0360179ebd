"""When a record ends (LC-1): at the earliest of what it was given, its scope's retention and its kind's; what preview
turns save, at that of preview besides."""

from __future__ import annotations

from datetime import datetime

from .configuration import AgentConfig
from .scopes import Place
from .times import instant, written


def ends_at(config: AgentConfig, place: Place, kind: str, *, now: datetime, given: str | None) -> str | None:
    """`expires_at` of a record saved now. A given instant is kept as it was written where it is the earliest."""
    retention = config.memory.retention
    preview = retention.preview if place.preview else None
    spans = [span for span in (retention.scope.get(place.scope.value), retention.kind.get(kind), preview) if span]
    ends = min((now + span for span in spans), default=None)
    if given is not None and (ends is None or instant(given) <= ends):
        return given
    return written(ends) if ends else None
