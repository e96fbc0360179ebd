"""The shapes of records in answers: to the model, to people and programs, in a recall and in what a tool gives back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .answer_model import RecordStatus, ScopeOfRecord, Shape, SourceOfRecord, Time


class View(Shape):
    """A record as the model sees it."""

    id: str
    version: int
    status: RecordStatus
    scope: ScopeOfRecord
    kind: str
    labels: dict[str, str] = Field(description="Values by the names that the configuration declares.")
    summary: str
    content: str | None
    memory_key: str | None = Field(description="What it is about: one active record at a time has a key.")
    priority: int
    pinned: bool
    preview: bool = Field(description="Saved by a preview turn: no live turn sees it.")
    replaces: list[str]
    replaced_by: str | None
    source: SourceOfRecord
    occurred_at: str | None = Field(description="When it was true or happened, as it was given.")
    created_at: Time = Field(description="When it was saved.")


class FoundView(View):
    score: float | None = Field(None, description="With a query.")


class Ranks(Shape):
    lexical: int | None = Field(description="Its place by words, from 1; null where they did not find it.")
    vector: int | None = Field(description="Its place by meaning, from 1; null where it was not found by it.")


class Item(View):
    """A record as a recall shows it."""

    score: float | None = Field(description="Null of a constraint that the query did not find.")
    seen: bool = Field(description="Whether the conversation was shown this version before.")
    cut: bool = Field(description="Whether `content` was shortened.")
    tokens: int = Field(description="What it takes of the budget: characters ÷ 4, rounded up.")
    cosine: float | None = Field(None, description="With `explain`; null in lexical mode.")
    ranks: Ranks | None = Field(None, description="With `explain`.")


class Omission(Shape):
    """What had no room."""

    count: int
    tokens: int
    ids: list[str]


class UsageShape(Shape):
    """One call of the embedding model."""

    purpose: Literal["embed"]
    model: str
    input_tokens: int
    cached: bool = Field(description="Whether the answer was known and nothing was asked.")
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
    recorded: bool = Field(description="False where it showed nothing, or nothing that its conversation had not seen.")
    tool_execution_id: str | None = Field(description="Null where it is not recorded.")
    conversation: str
    constraints: list[Item] = Field(description="All that bind, matching or not, broadest scope first.")
    memories: list[Item]
    overridden: list[Overridden]
    omitted: Omission
    below_min_score: int = Field(description="How many records meant too little of the query.")
    block: str = Field(description="Constraints and memories as the model is to read them; empty where there are none.")
    instructions: str = Field(description="The pin list as the model is to read it; empty where there is none.")
    pinned: list[PinLine]
    pinned_tokens: int
    pinned_omitted: list[str] = Field(description="Pinned records that had no room on the list.")
    usage: UsageShape | None = Field(description="Null where nothing was embedded.")


class WriterShape(Shape):
    """What wrote a version; null where it was no turn."""

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
    links: dict[str, str] = Field(description="Where each of these is read.")


class RecordShape(View):
    """A record as people and programs see it."""

    agent_id: str | None = Field(description="Null of a platform record.")
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    confidence: float
    expires_at: str | None = Field(description="By what was given and by retention, whichever is earlier.")
    expired: bool
    confirmed_at: Time | None
    about: list[str] = Field(description="The users whose messages it rests on.")
    written_at: Time = Field(description="When this version was written.")
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


# ---------------------------------------------------------------- tools


class ArgumentFault(Shape):
    argument: str
    takes: str


class ErrorDetails(Shape):
    """What the code needs said besides."""

    faults: list[ArgumentFault] | None = Field(None, description="Of `invalid_input`: all that is wrong.")
    id: str | None = Field(None, description="Of `key_held`: the holder.")
    status: RecordStatus | None = Field(None, description="Of `not_active`: of the record that was named.")
    replaced_by: str | None = Field(None, description="Of `not_active`: what took its place.")
    scope: ScopeOfRecord | None = Field(None, description="Of `broader_target`: the scope to save it with.")
    max: int | None = Field(None, description="Of `too_many_constraints`.")
    tokens: int | None = Field(None, description="Of `pin_over_budget`: what the list would take.")
    max_tokens: int | None = Field(None, description="Of `pin_over_budget`: what it may take.")


class ToolError(Shape):
    code: str
    message: str = Field(description="For the model: what is allowed instead.")
    argument: str | None = None
    details: ErrorDetails | None = None


class HistoryEvent(Shape):
    """What an earlier turn of the session said: a part of it, or part 1 of 1, the whole."""

    id: str = Field(description="Of the message, as the call that added it gave it.")
    turn: int = Field(description="The turn's number in its session.")
    text: str = Field(description="A line that says who it is from, a line feed, and what was said.")
    part: int
    parts: int
    role: Literal["user", "agent", "tool"]
    tool: str | None = Field(description="Of a tool's result.")
    call_id: str | None = Field(description="Of a tool's result: the call that it answers.")
    execution_id: str = Field(description="The run that the turn belongs to.")
    sequence: int = Field(description="Its place in the transcript of its turn.")
    at: str = Field(description="The message's own time, as it was given.")
    score: float | None = Field(description="Null where it was read by its id.")


class ToolOutput(Shape):
    """Each tool gives its own part of these."""

    events: list[HistoryEvent] | None = Field(None, description="Of search_history.")
    memories: list[FoundView] | None = Field(None, description="Of search_memory, add_memory and delete_memory.")
    sources: list[View] | None = Field(None, description="Of read_memory: the one record.")
    duplicate: bool | None = Field(None, description="Of add_memory: an equal record was there and is given back.")
    next: str | None = Field(None, description="Of search_memory: `after` of the next page of a list.")
    missing: list[str] | None = Field(None, description="Of the searches: ids that this turn does not see.")
    degraded: bool | None = Field(None, description="Of the searches, as these two: see a recall.")
    degraded_reason: Literal["embedder_down", "index_down", "index_behind"] | None = None
    ranked: int | None = None


class ToolAnswer(Shape):
    """`output`, or `error`: a message that the model reads."""

    tool_execution_id: str
    output: ToolOutput | None = None
    error: ToolError | None = None
