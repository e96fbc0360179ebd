"""What a record takes over from the one that it replaces, where its candidate does not state it (EX-9)."""

from __future__ import annotations

from typing import Any

from ..configuration import AgentConfig
from ..records import Record
from .candidates import Candidate


def taken_over(candidate: Candidate, target: Record, config: AgentConfig) -> dict[str, Any]:
    """Labels, key, priority and pin of the new record, as `add_memory` takes them.

    A label that the candidate states stands for the target's of that name. A key names what a record is about in its
    own scope, so it does not come along into another. The pin comes along where the agent pins; whether it fits is
    settled as for every pin."""
    is_same_scope = (candidate.scope or next(iter(config.writable), None)) == target.place.scope
    return {
        "labels": {**target.labels, **candidate.labels},
        "memory_key": candidate.memory_key or (target.memory_key if is_same_scope else None),
        "priority": target.priority if candidate.priority is None else candidate.priority,
        "pinned": target.pinned and config.memory.pinned is not None,
    }
