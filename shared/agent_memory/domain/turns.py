"""A turn's attempt: what it is for, and what has become of it (SPEC section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from .errors import Conflict
from .scopes import TurnIds
from .times import written
from .ulids import made_at

MAX_MESSAGES = 2000  # of one turn (IF-7)
OPEN_FOR = timedelta(hours=24)  # then a turn that was left open is rolled back (TU-5)
MAX_CHANGES = 25  # of one turn (TU-5): 25 × 3 actions + 12 fit one transaction
MAX_TOOL_CHANGES = 15  # of these; the rest is the review's
MAX_CONFIRMED = 25  # records that its review finds told again (UP-1)


class TurnStatus(StrEnum):
    OPEN = "open"
    ENDING = "ending"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"


class ReviewStatus(StrEnum):
    NONE = "none"  # nothing to review, or none allowed
    NOT_DUE = "not_due"
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class Waiting(NamedTuple):
    """A turn whose messages no review has read. said: how many they are; windows: of a turn that is too long for one
    (EX-2), how many were read; learned: whether a review that then failed has learned from its rejections."""

    turn_id: str
    said: int
    windows: int = 0
    learned: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """What became of the turn's review; the counts are of its decisions. A review is pending until what it has decided
    is committed.

    claimed: whose messages it has to read yet, oldest first, no other review reads them meanwhile. due: whether its own
    messages were; else they wait for a later one. has_lessons, has_read: whether it is done with lessons, and with all.
    moved_at: when it was begun, or last came on. tries: how often it was begun anew after it had failed. retaken:
    whether it has looked again at decisions whose target had changed."""

    status: ReviewStatus = ReviewStatus.NONE
    added: int = 0
    replaced: int = 0
    deleted: int = 0
    skipped: int = 0
    error: str | None = None
    claimed: Sequence[Waiting] = ()
    due: bool = False
    has_lessons: bool = False
    has_read: bool = False
    moved_at: str | None = None
    tries: int = 0
    retaken: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt. `sequence` is the last number of its transcript that is taken; `conflicts` and `memories` are what
    the commit found and wrote."""

    agent_id: str
    turn_id: str
    first_turn_id: str  # of attempt 1
    attempt: int
    agent_version: int
    execution_id: str
    started_at: str
    invocation_id: str | None = None
    time_zone: str = "UTC"
    number: int | None = None
    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    preview: bool = False
    retry_of: str | None = None
    replay_of: str | None = None
    commits_before: int = 0  # of its session, as the turn began: what a replay of it sees of history (HI-5)
    replays_preview: bool = False  # of a replay: whether its original was a preview turn
    status: TurnStatus = TurnStatus.OPEN
    reason: str | None = None
    error: str | None = None
    outcome: str | None = None  # what the caller gave to `end`; a timeout gives none
    ended_at: str | None = None
    committed_at: str | None = None
    sequence: int = 0
    messages: int = 0
    said: int = 0  # of these, what a review reads
    rejections: int = 0  # of all attempts: what a review learns from
    review: Review = Review()
    lessons: int = 0
    changes: int = 0  # that its commits have made
    history_events: int = 0
    memories: Sequence[dict[str, Any]] = ()
    conflicts: Sequence[dict[str, Any]] = ()

    @property
    def is_settling(self) -> bool:
        """Whether something goes on that its callers do not wait for: its commit, or its review."""
        return self.status is TurnStatus.ENDING or self.review.status is ReviewStatus.PENDING

    @property
    def ids(self) -> TurnIds:
        return TurnIds(self.agent_id, self.session_id, self.workflow_id, self.user_id, self.preview)

    @property
    def belongs_to_session(self) -> bool:
        """Whether what it does is part of what its session did: a replay leaves nothing behind there (HI-5)."""
        return self.session_id is not None and self.replay_of is None

    @property
    def sees_as_of(self) -> datetime | None:
        """When the original of a replay began: it sees records as they stood then (HI-5). None: as they are."""
        return made_at(self.replay_of) if self.replay_of else None

    def narrowed(self, ids: TurnIds) -> Turn:
        """The turn as if it were for these alone."""
        return replace(self, user_id=ids.user_id, workflow_id=ids.workflow_id)

    @property
    def about(self) -> tuple[str, ...]:
        """The users that its records rest on (RC-8)."""
        return () if self.user_id is None else (self.user_id,)

    def writer(self, conversation: str | None = None, tool_execution_id: str | None = None) -> dict[str, Any]:
        """`written_by` of a version that this turn writes; what is empty is left out. A review has no conversation."""
        names = ("execution_id", "invocation_id", "agent_version", "session_id", "workflow_id", "user_id", "turn_id")
        by = {name: getattr(self, name) for name in ("agent_id", *names)}
        by |= {"conversation": conversation, "tool_execution_id": tool_execution_id}
        return {name: value for name, value in by.items() if value is not None}


def times_out_at(turn_id: str) -> datetime:
    """24 hours after the turn was begun: `started_at` is the harness's to tell, the id is ours."""
    return made_at(turn_id) + OPEN_FOR


def as_of(turn: Turn, now: datetime) -> Turn:
    """The turn as it is at that instant: one still stored as open whose time is over has been rolled back, whether or
    not that was written down yet."""
    end = times_out_at(turn.turn_id)
    return turn if turn.status is not TurnStatus.OPEN or now < end else rolled_back(turn, "timeout", written(end))


def rolled_back(turn: Turn, reason: str, at: str) -> Turn:
    """The open turn after its end, with a number taken for the event that says so (`rollback_event`)."""
    sequence = turn.sequence + 1
    return replace(turn, status=TurnStatus.ROLLED_BACK, reason=reason, ended_at=at, sequence=sequence)


def rollback_event(turn: Turn) -> dict[str, Any]:
    return {"type": "turn.rolled_back", "at": turn.ended_at, "reason": turn.reason}


def not_open(turn: Turn) -> Conflict:
    return Conflict(f"The turn is {turn.status.value}; only an open turn takes this.", code="turn_not_open")


def answer(turn: Turn, memories: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The turn as the API shows it."""
    shown = {name: getattr(turn, name) for name in _SHOWN}
    review = {name: getattr(turn.review, name) for name in _REVIEW_SHOWN}
    return {
        **shown,
        "status": turn.status.value,
        "memories": list(memories),
        "review": {**review, "status": turn.review.status.value},
        "conflicts": list(turn.conflicts),
    }


_HIDDEN = {"first_turn_id", "error", "outcome", "sequence", "messages", "said", "rejections", "changes"}
_HIDDEN |= {"commits_before", "replays_preview"}
_COMPOSED = {"status", "memories", "review", "conflicts"}
_SHOWN = [field.name for field in fields(Turn) if field.name not in _HIDDEN | _COMPOSED]
_REVIEW_SHOWN = ("added", "replaced", "deleted", "skipped", "error")
