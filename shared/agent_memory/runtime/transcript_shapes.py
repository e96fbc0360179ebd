"""The shapes of a transcript's events, one for each type (TR-1 as far as its parts exist)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from .answer_model import RecordStatus, ScopeOfRecord, Shape, SourceOfRecord, Time
from .record_shapes import HistoryEvent, Omission, ToolError


class _Event(Shape):
    sequence: int = Field(description="Its place in the transcript of the attempt, from 1.")
    at: Time


class VersionOf(Shape):
    """A record at a version."""

    id: str
    version: int


class PartOf(Shape):
    """A part of an event of the history."""

    id: str
    part: int


# ---------------------------------------------------------------- messages


class CallInMessage(Shape):
    call_id: str
    tool: str
    input: dict[str, JsonValue]


class MessageEvent(_Event):
    """What the turn received, said or got back."""

    type: Literal["message"]
    event_id: str
    role: Literal["user", "agent", "tool", "system"]
    text: str
    conversation: str
    purpose: Literal["message", "skill", "retrieval"]
    truncated: bool = Field(description="Whether it was longer than 200,000 characters and was cut.")
    said_at: str = Field(description="The message's own time, as it was given.")
    calls: list[CallInMessage] | None = Field(None, description="Of role agent.")
    call_id: str | None = Field(None, description="Of role tool: the call that it answers.")
    tool: str | None = Field(None, description="Of role tool.")
    is_error: bool | None = Field(None, description="Of role tool.")


# ---------------------------------------------------------------- executions


class VersionShown(VersionOf):
    """With the text at that version, joined in as it is read; where it is gone, id and version alone and `erased`."""

    erased: Literal[True] | None = None
    status: RecordStatus | None = None
    scope: ScopeOfRecord | None = None
    kind: str | None = None
    labels: dict[str, str] | None = None
    summary: str | None = None
    content: str | None = None
    memory_key: str | None = None
    priority: int | None = None
    pinned: bool | None = None
    preview: bool | None = None
    replaces: list[str] | None = None
    replaced_by: str | None = None
    source: SourceOfRecord | None = None
    occurred_at: str | None = None
    created_at: Time | None = None


class EventShown(HistoryEvent):
    """With its text, joined in as it is read; where it is gone, the rest and `erased`."""

    text: str | None = None  # type: ignore[assignment]  # where it is erased
    erased: Literal[True] | None = None


class OutputShown(Shape):
    """What the tool gave, records by id and version."""

    events: list[EventShown] | None = None
    memories: list[VersionShown] | None = None
    sources: list[VersionShown] | None = None
    duplicate: bool | None = None
    next: str | None = None
    missing: list[str] | None = None
    degraded: bool | None = None
    degraded_reason: Literal["embedder_down", "index_down", "index_behind"] | None = None
    ranked: int | None = None


class ExecutionEvent(_Event):
    """A call of a native tool, or a recall (`search_memory` with `recall: true` in its input): `output` or `error`."""

    type: Literal["execution"]
    tool_execution_id: str
    tool: str
    conversation: str
    call_id: str | None = Field(description="The model's own id of the call.")
    input: Any = Field(description="As the model gave it: any JSON.")
    output: OutputShown | None = None
    error: ToolError | None = None
    started_at: Time
    duration_ms: int


class OutputUse(_Event):
    """That these versions of records, or these parts of earlier events, came before a model."""

    type: Literal["output_use"]
    use: Literal["RETRIEVED"]
    tool_execution_id: str
    conversation: str
    memories: list[VersionOf] | None = None
    events: list[PartOf] | None = None


class ExecutionShape(ExecutionEvent):
    """An execution by its id, with the turn that it stands in and what became of its output."""

    turn_id: str
    attempt: int
    output_uses: list[OutputUse]


class UsageEvent(_Event):
    """A call of a model."""

    type: Literal["usage"]
    purpose: Literal["embed", "memory"]
    model: str
    input_tokens: int
    output_tokens: int
    cached: bool
    limited: bool
    what_for: Literal["recall", "search", "history", "commit", "review"] = Field(alias="for")


# ---------------------------------------------------------------- what came of it


class PinnedEvent(_Event):
    """The pin list that a recall showed, where it differs from the one before."""

    type: Literal["memory.pinned"]
    records: list[VersionOf]
    omitted: list[str]
    tokens: int


class OmittedEvent(_Event, Omission):
    """What a recall had no room for."""

    type: Literal["recall.omitted"]
    tool_execution_id: str | None


class JudgementEvent(_Event):
    type: Literal["judgement"]
    judgement_id: str
    verdict: Literal["accepted", "rejected"]
    feedback: str | None
    judge: str | None


class CandidateShape(Shape):
    """What the review's model proposed, or a rejection said; null and no labels: not stated."""

    retracts: bool = Field(description="Whether it only says that something known is wrong.")
    summary: str
    content: str | None
    kind: str
    labels: dict[str, str]
    scope: str | None
    memory_key: str | None
    priority: int | None
    occurred_at: str | None
    expires_at: str | None


class NeighbourShape(VersionOf):
    cosine: float | None = Field(description="Null of one that is near by its key or its very words.")


class ReviewEvent(_Event):
    """A decision of the review on one candidate; or that the review failed: `status`, `error` and `attempt` alone."""

    type: Literal["review"]
    candidate: CandidateShape | None = None
    length: int | None = Field(None, description="In the candidate's place where it was refused: how long it was.")
    field: str | None = Field(None, description="What of it the gate refused.")
    kind: str | None = Field(None, description="What the gate found there.")
    source: Literal["review", "lesson"] | None = Field(None, description="From the messages, or from a rejection.")
    decision: Literal["add", "replace", "delete", "skip"] | None = None
    memory_id: str | None = Field(None, description="The record that it replaces, deletes, or is skipped for.")
    reason: str | None = Field(None, description="In the model's words, or the rule that decided, such as same_text.")
    neighbours: list[NeighbourShape] | None = Field(None, description="What it was compared with.")
    status: Literal["failed"] | None = None
    error: Literal["unreadable", "unavailable"] | None = None
    attempt: int | None = Field(None, description="Which try of this turn's review, from 1.")


class Current(Shape):
    id: str
    version: int
    status: RecordStatus


class ConflictShape(Shape):
    """A change that met another turn's at the commit, and what has become of it."""

    change: Literal["save", "replace", "delete", "pin", "key"]
    id: str
    target: str
    outcome: Literal["retargeted", "saved_alone", "nothing", "unpinned"]
    current: Current | None = Field(description="The target as the commit found it.")


class ConflictEvent(_Event, ConflictShape):
    type: Literal["conflict"]


class UnpinnedEvent(_Event, ConflictShape):
    """The record's pin did not fit any more, so it was saved without."""

    type: Literal["pin.unpinned"]


class CommittedEvent(_Event):
    type: Literal["turn.committed"]
    memories: list[VersionOf]
    history_events: int


class RolledBackEvent(_Event):
    type: Literal["turn.rolled_back"]
    reason: Literal["failed", "timeout", "superseded"]


AnyEvent = Annotated[
    MessageEvent
    | ExecutionEvent
    | OutputUse
    | UsageEvent
    | PinnedEvent
    | OmittedEvent
    | JudgementEvent
    | ReviewEvent
    | ConflictEvent
    | UnpinnedEvent
    | CommittedEvent
    | RolledBackEvent,
    Field(discriminator="type"),
]


class Transcript(Shape):
    turn_id: str
    attempt: int
    events: list[AnyEvent]
    next: str | None
