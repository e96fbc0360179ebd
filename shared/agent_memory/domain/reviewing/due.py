"""When a turn's end reviews (CF-1, CF-2, EX-3). Lessons are reviewed due or not; that is the caller's."""

from __future__ import annotations

from ..configuration import AgentConfig
from ..memory_settings import Every, EveryMessages


def is_due(every: Every, said: int) -> bool:
    """said: messages that a review reads (`messages.is_reviewed`) and none has read yet, of the session's committed
    turns and of the ending one."""
    return said >= (every.messages if isinstance(every, EveryMessages) else 1)


def may_review(config: AgentConfig) -> bool:
    """Whether memory is on and any scope is written. Where the turn has no id for a candidate's scope, the candidate is
    skipped, which is on record then, and no message is passed over (SC-3)."""
    return config.memory.enabled and bool(config.writable)
