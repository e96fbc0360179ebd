"""Records as answers show them: recalled, searched, listed, read, and what a tool gives back. `answers.py` says how
these shapes grow."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A record as the model sees it. score: of a search with a query."""

    id: str
    version: int
    status: str
    scope: str
    kind: str
    labels: dict[str, str]
    summary: str
    content: str | None
    priority: int
    replaces: list[str]
    replaced_by: str | None
    source: str
    occurred_at: str | None
    created_at: str
    memory_key: str | None = None
    pinned: bool = False
    preview: bool = False
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """What wrote a version. caller: who did, where it was a person or a program beside any turn. links: where each of
    these is read."""

    execution_id: str | None
    invocation_id: str | None
    agent_version: int | None
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    turn_id: str | None
    conversation: str | None
    tool_execution_id: str | None
    links: dict[str, str]
    caller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(View):
    """A record as people and programs see it. agent_id: None for platform records."""

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
    written_by: Writer


# ---------------------------------------------------------------- search beside turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    lexical: int | None
    vector: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecord(Record):
    """cosine, ranks: with `explain`."""

    cosine: float | None = None
    ranks: Ranks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """Best first. degraded: as of a recall. ranked: how many were."""

    memories: list[FoundRecord]
    degraded: bool
    degraded_reason: str | None
    ranked: int


# ---------------------------------------------------------------- recall


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledItem(View):
    """cut: whether `content` was shortened. tokens: what it takes of the budget. seen: whether the conversation was
    shown this version before. cosine, ranks: with `explain`."""

    cut: bool
    tokens: int
    seen: bool = False
    cosine: float | None = None
    ranks: Ranks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overridden:
    """A record that does not apply, since `by` has its key."""

    id: str
    version: int
    memory_key: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinLine:
    id: str
    version: int
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Records that matched and had no room."""

    count: int
    tokens: int
    ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    purpose: str
    model: str
    input_tokens: int
    cached: bool
    limited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """block: the text for the model, to be put into the prompt as it is; "" when there is nothing to tell.
    instructions: the pinned records for the model, in the same manner. constraints: all that bind, matching or not.
    omitted, pinned_omitted: what had no room. below_min_score: how many meant too little of the query.

    degraded: whether the index or the embedding model did not answer, so that something may be missing."""

    recorded: bool
    tool_execution_id: str | None
    conversation: str
    constraints: list[RecalledItem]
    memories: list[RecalledItem]
    omitted: Omission
    below_min_score: int
    block: str
    usage: Usage | None
    degraded: bool
    degraded_reason: str | None
    ranked: int
    overridden: list[Overridden] = field(default_factory=list)
    instructions: str = ""
    pinned: list[PinLine] = field(default_factory=list)
    pinned_tokens: int = 0
    pinned_omitted: list[str] = field(default_factory=list)


# ---------------------------------------------------------------- tools


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """message: for the model, what is allowed instead."""

    code: str
    message: str
    argument: str | None = None
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Either `output` or `error`."""

    tool_execution_id: str
    output: dict[str, Any] | None = None
    error: ToolError | None = None

    @property
    def is_error(self) -> bool:
        return self.error is not None

    @property
    def text(self) -> str:
        """The result as JSON, to hand back to the model."""
        shown = {"error": _given(asdict(self.error))} if self.error else self.output
        return json.dumps(shown, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """duplicate: an equal record was there already and is given back; nothing was written."""

    memory: View
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """next: `after` of the next page of a list. missing: ids that this turn does not see. degraded: as of a recall."""

    memories: list[View]
    next: str | None
    missing: list[str]
    degraded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """What an earlier turn of the session said, or a part of it. text: a line that says who it is from, a line feed,
    and what was said. turn: the number of its turn, execution_id: its run, sequence: the place in its transcript. tool,
    call_id: of a tool's result. score: None where it was read by its id."""

    id: str
    turn: int
    text: str
    part: int
    parts: int
    role: str
    tool: str | None
    call_id: str | None
    execution_id: str
    sequence: int
    at: str
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryResult:
    """Best first, or in the order of the ids. missing: ids that this turn does not see. degraded: as of a recall;
    ranked: how many parts of events were."""

    events: list[HistoryEvent]
    missing: list[str]
    degraded: bool
    degraded_reason: str | None
    ranked: int


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
