"""The events by which a transcript tells of an execution, a tool's call and a recall alike (TR-1, TR-2).

They name records by id and version: the text is joined when the transcript is read, so it lives nowhere else (LC-4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain.records import Record
from agent_memory.domain.times import written


@dataclass(frozen=True, slots=True)
class Execution:
    """input: JSON values that can be kept. started: when it was called."""

    id: str
    tool: str
    conversation: str
    input: Any
    started: datetime
    call_id: str | None = None

    def ended(self, result: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """The execution itself; result: its `output` or its `error`."""
        return {
            "type": "execution",
            "at": written(now),
            "tool_execution_id": self.id,
            "tool": self.tool,
            "conversation": self.conversation,
            "call_id": self.call_id,
            "input": self.input,
            **result,
            "started_at": written(self.started),
            "duration_ms": round((now - self.started).total_seconds() * 1000),
        }

    def retrieved(self, records: Iterable[Record], now: datetime) -> dict[str, Any]:
        """That these versions came before a model (RL-5)."""
        return self.used({"memories": versions_of(records)}, now)

    def used(self, named: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """named: `memories`, versions; or `events`, parts of events (HI-4)."""
        return {
            "type": "output_use",
            "at": written(now),
            "use": "RETRIEVED",
            "tool_execution_id": self.id,
            "conversation": self.conversation,
            **named,
        }


def versions_of(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [{"id": record.id, "version": record.version} for record in records]
