"""The shapes of answers. Times are RFC 3339 as the server writes them; given ones come back as given.

What a newer server adds is passed over, so a field is added here with a default: an older server does not send it.
Values of a fixed set (a status, a scope) are plain text for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# ---------------------------------------------------------------- configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigVersion:
    version: int
    created_at: str
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration(ConfigVersion):
    """config: with all defaults filled in. unchanged: what was stored equals the newest version, which stays."""

    agent_id: str
    config: dict[str, Any]
    unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """tools: in the dialect that `format` names, ready for a model's API. version: of the configuration."""

    format: str
    version: int
    tools: list[dict[str, Any]]


# ---------------------------------------------------------------- turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A record that the turn saves, replaces or deletes; while it is open, as it will be."""

    id: str
    version: int
    status: str
    replaces: list[str]
    source: str
    preview: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    id: str
    version: int
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictOfTurn:
    """A change that met another turn's at the commit, and what has become of it."""

    change: str
    id: str
    target: str
    outcome: str
    current: Current | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOfTurn:
    """status: none, not_due, pending, done or failed; error: why it failed, unreadable or unavailable. The counts are
    of its decisions; the transcript has each with its reason."""

    status: str
    added: int
    replaced: int
    deleted: int
    skipped: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnState:
    """status: open, ending, committed or rolled_back; reason: why it was rolled back. number: None without sessions."""

    turn_id: str
    agent_id: str
    number: int | None
    attempt: int
    status: str
    reason: str | None
    agent_version: int
    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    execution_id: str
    invocation_id: str | None
    retry_of: str | None
    replay_of: str | None
    time_zone: str
    started_at: str
    ended_at: str | None
    committed_at: str | None
    memories: list[Change]
    review: ReviewOfTurn
    lessons: int
    conflicts: list[ConflictOfTurn]
    history_events: int
    preview: bool = False

    @property
    def is_settling(self) -> bool:
        """Whether something goes on that nobody has to do anything for: its end, or its review."""
        return self.status == "ending" or self.review.status == "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunTurn(TurnState):
    """still_ending: earlier turns of the session that are ended and not yet committed."""

    still_ending: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedMessage:
    event_id: str
    sequence: int


# ---------------------------------------------------------------- status


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedder:
    model: str
    dimensions: int | None
    min_score: float | None
    near_score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    kind: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """state: ok, lagging or down. unindexed: commits that no search shows yet. oldest_s: how long the oldest waits."""

    state: str
    unindexed: int | None
    oldest_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    built: bool
    wired: bool
    last_run_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    version: str
    edition: str
    embedder: Embedder
    reviewer: Reviewer
    index: Index
    parts: dict[str, Part]
