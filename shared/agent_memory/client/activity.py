"""What agents did, as answers show it: agents, sessions, executions, usage, judgements. `answers.py` says how these
shapes grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .records import ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """version: of its newest configuration. created_at: when it was first configured."""

    agent_id: str
    version: int
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """status: open or closed. turns: how many began; one that is tried again counts once."""

    session_id: str
    status: str
    turns: int
    first_turn_at: str
    last_turn_at: str
    closed_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSum:
    """key: what is summed; None of turns without a session, or without a user."""

    key: str | None
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """lesson: whether something may be learned of it."""

    judgement_id: str
    turn_id: str
    verdict: str
    lesson: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOf:
    """A record at a version."""

    id: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOf:
    """A part of an event of the history."""

    id: str
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputUse:
    """That these versions of records, or these parts of earlier events, came before a model."""

    sequence: int
    at: str
    type: str
    use: str
    tool_execution_id: str
    conversation: str
    memories: list[VersionOf] = field(default_factory=list)
    events: list[PartOf] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A call of a native tool, or a recall: `output` or `error`, and of records the text as it was at that version, of
    history the text of the event, `erased` where it is gone. sequence: its place in the turn's transcript."""

    turn_id: str
    attempt: int
    sequence: int
    at: str
    type: str
    tool_execution_id: str
    tool: str
    conversation: str
    call_id: str | None
    input: Any
    output: dict[str, Any] | None = None
    error: ToolError | None = None
    started_at: str
    duration_ms: int
    output_uses: list[OutputUse]
