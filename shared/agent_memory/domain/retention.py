"""When a record ends (LC-1): at the earliest of what it was given, its scope's retention and its kind's."""

from __future__ import annotations

from datetime import datetime

from .configuration import AgentConfig
from .scopes import Scope
from .times import instant, written


def ends_at(config: AgentConfig, scope: Scope, kind: str, *, now: datetime, given: str | None) -> str | None:
    """`expires_at` of a record saved now. A given instant is kept as it was written where it is the earliest."""
    retention = config.memory.retention
    spans = [span for span in (retention.scope.get(scope.value), retention.kind.get(kind)) if span]
    ends = min((now + span for span in spans), default=None)
    if given is not None and (ends is None or instant(given) <= ends):
        return given
    return written(ends) if ends else None
