"""The shapes of answers, for the OpenAPI document and the tests that hold real answers against them. No handler builds
its answer from these: what is answered is the operations' own, and loading this costs a start-up nothing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_memory.domain.configuration import AgentConfig


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FaultShape(Shape):
    path: str = Field(description="Where, such as `memory.scope.read[0]`; empty for the whole body.")
    code: str
    message: str = Field(description="What the place takes; never what was sent.")


class Problem(Shape):
    """RFC 9457, with a stable code."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    faults: list[FaultShape] = []
    current: dict[str, Any] | None = Field(None, description="What stands now, where a version did not match.")


class ConfigVersion(Shape):
    version: int
    created_at: str
    created_by: str


class ConfigAnswer(ConfigVersion):
    agent_id: str
    config: AgentConfig
    unchanged: bool = Field(description="The body equals the newest version, which stays.")


class ConfigVersions(Shape):
    versions: list[ConfigVersion]
    next: str | None


class Tools(Shape):
    format: Literal["anthropic", "openai", "bedrock"]
    version: int
    tools: list[dict[str, Any]] = Field(description="As the dialect has them.")


class Change(Shape):
    id: str
    version: int
    status: str
    preview: bool
    replaces: list[str]
    source: str


class Current(Shape):
    id: str
    version: int
    status: str


class ConflictShape(Shape):
    change: Literal["save", "replace", "delete", "pin", "key"]
    id: str
    target: str
    outcome: Literal["retargeted", "saved_alone", "nothing", "unpinned"]
    current: Current | None


class TurnShape(Shape):
    turn_id: str
    agent_id: str
    number: int | None
    attempt: int
    status: Literal["open", "ending", "committed", "rolled_back"]
    reason: str | None
    agent_version: int
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    execution_id: str
    invocation_id: str | None
    preview: bool
    retry_of: str | None
    time_zone: str
    started_at: str
    ended_at: str | None
    committed_at: str | None
    memories: list[Change]
    conflicts: list[ConflictShape]


class BegunTurn(TurnShape):
    still_ending: list[str]


class Turns(Shape):
    turns: list[TurnShape]
    next: str | None


class JudgementAnswer(Shape):
    judgement_id: str
    turn_id: str
    verdict: Literal["accepted", "rejected"]
    lesson: bool = Field(description="Whether something may be learned of it, once a later review reads it.")


class AddedMessage(Shape):
    event_id: str
    sequence: int


class AddedMessages(Shape):
    messages: list[AddedMessage]


class View(Shape):
    """A record as the model sees it."""

    id: str
    version: int
    status: Literal["ACTIVE", "PENDING", "SUPERSEDED", "REJECTED", "DELETED"]
    scope: Literal["session", "workflow", "user", "agent", "platform"]
    kind: str
    labels: dict[str, str]
    summary: str
    content: str | None
    memory_key: str | None
    priority: int
    pinned: bool
    preview: bool
    replaces: list[str]
    replaced_by: str | None
    source: str
    occurred_at: str | None
    created_at: str


class Ranks(Shape):
    lexical: int | None
    vector: int | None


class Item(View):
    """A record as a recall shows it."""

    score: float | None = Field(description="Null of a constraint that the query did not find.")
    seen: bool = Field(description="Whether the conversation was shown this version before.")
    cut: bool
    tokens: int
    cosine: float | None = Field(None, description="With `explain`.")
    ranks: Ranks | None = Field(None, description="With `explain`.")


class Omission(Shape):
    count: int
    tokens: int
    ids: list[str]


class UsageShape(Shape):
    purpose: Literal["embed"]
    model: str
    input_tokens: int
    cached: bool
    limited: bool


class Ranking(Shape):
    """How far an answer can be relied on."""

    degraded: bool = Field(description="Whether something that was to help did not answer, so records may be missing.")
    degraded_reason: Literal["embedder_down", "index_down", "index_behind"] | None
    ranked: int = Field(description="How many records were ranked; 0 of what is only listed.")


class Overridden(Shape):
    """A record that does not apply, since another has its key."""

    id: str
    version: int
    memory_key: str
    by: str = Field(description="The record that applies.")


class PinLine(Shape):
    id: str
    version: int
    line: str


class Recalled(Ranking):
    recorded: bool
    tool_execution_id: str | None
    conversation: str
    constraints: list[Item]
    memories: list[Item]
    overridden: list[Overridden]
    omitted: Omission
    below_min_score: int
    block: str
    instructions: str = Field(description="The pin list as the model is to read it; empty where there is none.")
    pinned: list[PinLine]
    pinned_tokens: int
    pinned_omitted: list[str]
    usage: UsageShape | None


class ToolError(Shape):
    code: str
    message: str
    argument: str | None = None
    details: dict[str, Any] | None = None


class ToolAnswer(Shape):
    """`output`, or `error`: a message that the model reads."""

    tool_execution_id: str
    output: dict[str, Any] | None = None
    error: ToolError | None = None


class Transcript(Shape):
    turn_id: str
    attempt: int
    events: list[dict[str, Any]] = Field(description="Each with `sequence`, `at`, `type` and the fields of its type.")
    next: str | None


class OutputUse(Shape):
    sequence: int
    at: str
    type: Literal["output_use"]
    use: Literal["RETRIEVED"]
    tool_execution_id: str
    conversation: str
    memories: list[dict[str, Any]]


class ExecutionShape(Shape):
    """As the transcript has it: `output` or `error`, and of records the text at that version."""

    turn_id: str
    attempt: int
    sequence: int
    at: str
    type: Literal["execution"]
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


class SessionShape(Shape):
    session_id: str
    status: Literal["open", "closed"]
    turns: int = Field(description="How many turns began; one that is tried again counts once.")
    first_turn_at: str
    last_turn_at: str
    closed_at: str | None


class Sessions(Shape):
    sessions: list[SessionShape]
    next: str | None


class UsageSum(Shape):
    key: str | None = Field(description="Null: of turns without a session, or without a user.")
    calls: int = Field(description="Times a model was asked, also where the answer was still known.")
    input_tokens: int
    output_tokens: int


class UsageAnswer(Shape):
    usage: list[UsageSum]


class AgentShape(Shape):
    agent_id: str
    version: int = Field(description="The newest.")
    created_at: str = Field(description="When it was first configured.")


class AgentsAnswer(Shape):
    agents: list[AgentShape]
    next: str | None


class WriterShape(Shape):
    execution_id: str | None
    invocation_id: str | None
    agent_version: int | None
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    turn_id: str | None
    conversation: str | None
    tool_execution_id: str | None
    caller: str | None = Field(description="Who, where a person or a program wrote it and no turn.")
    links: dict[str, str]


class RecordShape(View):
    agent_id: str | None
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    confidence: float
    expires_at: str | None
    expired: bool
    confirmed_at: str | None
    about: list[str]
    written_at: str
    written_by: WriterShape


class ListedRecord(RecordShape):
    score: float | None = Field(None, description="With `query`.")
    cosine: float | None = Field(None, description="With `explain`; null in lexical mode.")
    ranks: Ranks | None = Field(None, description="With `explain`.")


class Records(Ranking):
    memories: list[ListedRecord]
    next: str | None


class RecordVersions(Shape):
    versions: list[RecordShape]
    next: str | None


class EmbedderShape(Shape):
    model: str
    dimensions: int | None = Field(description="Null, as min_score, while it must be asked for and nobody answers.")
    min_score: float | None = Field(description="The floor of the cosine where a configuration gives none.")


class ReviewerShape(Shape):
    kind: str | None
    model: str | None


class IndexShape(Shape):
    state: Literal["ok", "lagging", "down"]
    unindexed: int | None = Field(description="Commits that no search shows yet; null where nobody counts them.")
    oldest_s: float | None


class PartShape(Shape):
    built: bool
    wired: bool
    last_run_at: str | None


class StatusShape(Shape):
    version: str
    edition: str
    embedder: EmbedderShape
    reviewer: ReviewerShape
    index: IndexShape
    parts: dict[str, PartShape]


class OpenApi(BaseModel):
    """An OpenAPI 3.1 document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


ANSWERS: dict[str, type[BaseModel]] = {
    "configure": ConfigAnswer,
    "get_config": ConfigAnswer,
    "list_config_versions": ConfigVersions,
    "get_tools": Tools,
    "list_agents": AgentsAnswer,
    "begin_turn": BegunTurn,
    "list_turns": Turns,
    "get_turn": TurnShape,
    "add_messages": AddedMessages,
    "recall": Recalled,
    "call_tool": ToolAnswer,
    "judge_turn": JudgementAnswer,
    "end_turn": TurnShape,
    "get_transcript": Transcript,
    "get_execution": ExecutionShape,
    "list_sessions": Sessions,
    "get_usage": UsageAnswer,
    "list_memories": Records,
    "get_memory": RecordShape,
    "list_memory_versions": RecordVersions,
    "get_memory_version": RecordShape,
    "insert_memory": RecordShape,
    "delete_memory": RecordShape,
    "restore_memory": RecordShape,
    "list_platform_memories": Records,
    "insert_platform_memory": RecordShape,
    "get_platform_memory": RecordShape,
    "delete_platform_memory": RecordShape,
    "list_platform_memory_versions": RecordVersions,
    "decide_platform_memory": RecordShape,
    "get_status": StatusShape,
    "get_openapi": OpenApi,
}
"""By operation."""
