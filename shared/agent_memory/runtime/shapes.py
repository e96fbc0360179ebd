"""The shapes of answers, for the OpenAPI document and the tests that hold real answers against them. No handler builds
its answer from these: what is answered is the operations' own, and loading this costs a start-up nothing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from agent_memory.domain.configuration import AgentConfig

from .answer_model import Problem, RecordStatus, Shape, SourceOfRecord, Time
from .record_shapes import (
    Recalled,
    Records,
    RecordShape,
    RecordVersions,
    ToolAnswer,
)
from .transcript_shapes import ConflictShape, ExecutionShape, Transcript

__all__ = ["ANSWERS", "Problem"]


class ConfigVersion(Shape):
    version: int
    created_at: Time
    created_by: str


class ConfigAnswer(ConfigVersion):
    agent_id: str
    config: AgentConfig
    unchanged: bool = Field(description="The body equals the newest version, which stays.")


class ConfigVersions(Shape):
    versions: list[ConfigVersion]
    next: str | None


class AnthropicTool(Shape):
    name: str
    description: str
    input_schema: dict[str, Any] = Field(description="A JSON Schema.")


class OpenAiFunction(Shape):
    name: str
    description: str
    parameters: dict[str, Any] = Field(description="A JSON Schema.")


class OpenAiTool(Shape):
    type: Literal["function"]
    function: OpenAiFunction


class BedrockSchema(Shape):
    json_schema: dict[str, Any] = Field(alias="json", description="A JSON Schema.")


class BedrockSpecification(Shape):
    name: str
    description: str
    inputSchema: BedrockSchema


class BedrockTool(Shape):
    toolSpec: BedrockSpecification


class Tools(Shape):
    format: Literal["anthropic", "openai", "bedrock"]
    version: int = Field(description="Of the configuration.")
    tools: list[AnthropicTool] | list[OpenAiTool] | list[BedrockTool] = Field(description="As the dialect has them.")


class Change(Shape):
    """A record that the turn saves, replaces or deletes; while it is open, as it will be."""

    id: str
    version: int
    status: RecordStatus
    preview: bool
    replaces: list[str]
    source: SourceOfRecord


class ReviewShape(Shape):
    """What the turn was worth: how many records its review added, replaced and deleted, and how often it skipped. Each
    decision stands in the transcript with its reason."""

    status: Literal["none", "not_due", "pending", "done", "failed"] = Field(
        description="none: nothing to review, or it is not allowed; not_due: its messages wait for more; pending: until"
        " its decisions are committed; failed: the turn has committed without them."
    )
    added: int
    replaced: int
    deleted: int
    skipped: int
    error: Literal["unreadable", "unavailable"] | None = Field(
        description="Why it failed: its model's answers could not be read, or it did not answer."
    )


class TurnShape(Shape):
    turn_id: str
    agent_id: str
    number: int | None = Field(description="In its session, from 1; null without one.")
    attempt: int = Field(description="From 1; one that is tried again keeps its number.")
    status: Literal["open", "ending", "committed", "rolled_back"] = Field(
        description="ending: ended as completed, and being reviewed; it commits by itself."
    )
    reason: Literal["failed", "timeout", "superseded"] | None = Field(description="Why it was rolled back.")
    agent_version: int
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    execution_id: str = Field(description="The harness's own run; the turn's id where it gave none.")
    invocation_id: str | None
    preview: bool
    retry_of: str | None
    replay_of: str | None
    time_zone: str
    started_at: str = Field(description="As the harness told it, else when it was begun here.")
    ended_at: Time | None
    committed_at: Time | None
    memories: list[Change] = Field(description="What its tools and its review change, the review's once it is done.")
    review: ReviewShape
    lessons: int = Field(description="How many rejections its review has read.")
    conflicts: list[ConflictShape]
    history_events: int = Field(description="How many of its messages are kept for search_history.")


class BegunTurn(TurnShape):
    still_ending: list[str] = Field(description="Earlier turns of the session, ended and not yet committed.")


class Turns(Shape):
    turns: list[TurnShape]
    next: str | None


class JudgementAnswer(Shape):
    judgement_id: str
    turn_id: str
    verdict: Literal["accepted", "rejected"]
    lesson: bool = Field(description="Whether it teaches something, once the turn completes.")


class AddedMessage(Shape):
    event_id: str
    sequence: int


class AddedMessages(Shape):
    messages: list[AddedMessage]


class SessionShape(Shape):
    session_id: str
    status: Literal["open", "closed"]
    turns: int = Field(description="How many turns began; one that is tried again counts once.")
    first_turn_at: Time
    last_turn_at: Time
    closed_at: Time | None


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
    created_at: Time = Field(description="When it was first configured.")


class AgentsAnswer(Shape):
    agents: list[AgentShape]
    next: str | None


class EmbedderShape(Shape):
    model: str
    dimensions: int | None = Field(description="Null, as the scores, while it must be asked for and nobody answers.")
    min_score: float | None = Field(description="The floor of the cosine where a configuration gives none.")
    near_score: float | None = Field(description="From which cosine on a review compares two records.")


class ReviewerShape(Shape):
    kind: Literal["rules", "openai", "bedrock"]
    model: str


class IndexShape(Shape):
    state: Literal["ok", "lagging", "down"]
    unindexed: int | None = Field(description="Commits that no search shows yet; null where nobody counts them.")
    oldest_s: float | None


class PartShape(Shape):
    built: bool
    wired: bool
    last_run_at: Time | None


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
    "review_turn": TurnShape,
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
