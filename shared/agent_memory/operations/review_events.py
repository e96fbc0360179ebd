"""What the transcript tells of a review's decisions, one event for each (EX-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.domain.reviewing.compared import Neighbour


def decision_event(
    at: str,
    told: Mapping[str, Any],
    *,
    source: str,
    decision: str,
    reason: str,
    memory_id: str | None = None,
    near: Sequence[Neighbour] = (),
) -> dict[str, Any]:
    """told: the `candidate`, or how long it was (`length`), where its text is not to be read. near: what it was
    compared with."""
    return {
        "type": "review",
        "at": at,
        **told,
        "source": source,
        "decision": decision,
        "memory_id": memory_id,
        "reason": reason,
        "neighbours": [{"id": one.id, "version": one.version, "cosine": one.cosine} for one in near],
    }
