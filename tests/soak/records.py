"""The values of the model: places, records, configurations, and what a turn has staged.

Knows what they are. Leaves to `board` how records change, and to `reference` who sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

SCOPES = ("session", "workflow", "user", "agent", "platform")  # narrow to broad
BREADTH = {scope: breadth for breadth, scope in enumerate(SCOPES)}
PLATFORM_KINDS = {"guidance", "fact", "event", "reference", "constraint", "preference", "lesson", "decision"}
OPEN_FOR = timedelta(hours=24)


class Where(NamedTuple):
    """One scope of one owner, and whether what lies there is preview. agent: None for the platform's."""

    agent: str | None
    scope: str
    owner: str
    preview: bool = False

    @property
    def live(self) -> Where:
        return self._replace(preview=False)


class Said(NamedTuple):
    """Every field that makes two records of one place equal, as they were given."""

    summary: str
    kind: str
    key: str | None = None
    pinned: bool = False
    priority: int = 50
    expires_at: str | None = None


@dataclass
class Rec:
    """removes: it is a preview deletion. ends: when it expires."""

    id: str
    where: Where
    said: Said
    ends: datetime | None
    removes: bool = False
    replaces: list[str] = field(default_factory=list)
    history: list[tuple[str, str | None]] = field(default_factory=list)  # status and replaced_by of each version

    @property
    def status(self) -> str:
        return self.history[-1][0]

    @property
    def replaced_by(self) -> str | None:
        return self.history[-1][1]

    @property
    def version(self) -> int:
        return len(self.history)

    def is_over(self, now: datetime) -> bool:
        return self.ends is not None and self.ends <= now

    def is_active(self, now: datetime) -> bool:
        return self.status == "ACTIVE" and not self.is_over(now)

    def become(self, status: str, replaced_by: str | None) -> None:
        self.history.append((status, replaced_by))

    def copy(self) -> Rec:
        return replace(self, replaces=list(self.replaces), history=list(self.history))


@dataclass(frozen=True)
class Config:
    """A version of an agent's configuration. kinds: those it declares, and whether each is of a broader kind; pins: the
    budget of the pin list in tokens; hours: how long records live, by scope, or `preview`; reviews: every turn in which
    something was said; if not, so rarely that no run comes to it."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    kinds: Mapping[str, bool]
    pins: int | None = None
    hours: Mapping[str, int] = field(default_factory=dict)
    reviews: bool = False

    def is_broader(self, record: Rec) -> bool:
        own = record.said.kind == "constraint"
        return own if record.where.scope == "platform" else self.kinds.get(record.said.kind, own)

    def ends(self, where: Where, expires_at: str | None, now: datetime) -> datetime | None:
        """When a record that is saved now expires: the earliest of all that applies (LC-1)."""
        hours = [self.hours[name] for name in (where.scope, "preview" if where.preview else "") if name in self.hours]
        ends = [now + timedelta(hours=n) for n in hours]
        return min([*ends, *([datetime.fromisoformat(expires_at)] if expires_at else [])], default=None)

    def ends_deletion(self, now: datetime) -> datetime:
        """When a preview deletion ends: by the retention of preview alone (PV-2)."""
        return now + timedelta(hours=self.hours["preview"])


@dataclass
class Saving:
    """A staged save. named: its `replaces`; holder: who held its key in its own mode when it was staged, live_holder:
    who held it among live records, for a preview save; cost: the changes it may count as, least and most."""

    new: Rec
    named: list[str]
    holder: str | None = None
    live_holder: str | None = None
    cost: tuple[int, int] = (1, 1)

    @property
    def targets(self) -> list[str]:
        return self.named


@dataclass
class Removing:
    """A staged delete. instead: the preview deletion that stands for it, where the target is live and the turn not."""

    id: str
    was_active: bool
    instead: Rec | None = None
    cost: tuple[int, int] = (1, 1)

    @property
    def targets(self) -> list[str]:
        return [self.id]


Change = Saving | Removing


@dataclass
class Attempt:
    """A turn's try. `log` is empty once it is over. heard: what was said in it; read: what its review is to read, once
    it is ending."""

    id: str
    agent: str
    ids: Mapping[str, str | None]  # of session, workflow and user
    preview: bool
    config: Config
    deadline: datetime
    first: str  # the id of attempt 1
    status: str = "open"
    log: list[Change] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def where(self, scope: str) -> Where | None:
        """Where this turn saves a record of the scope; None where it has no id for it."""
        if scope == "platform":
            return Where(None, scope, "", self.preview)
        owner = "" if scope == "agent" else self.ids[scope]
        return None if owner is None else Where(self.agent, scope, owner, self.preview)

    def reads(self, record: Rec) -> bool:
        """SC-2, SC-6, PV-1: whether it lies where this turn looks."""
        if record.where.preview and not self.preview:
            return False
        if record.where.scope == "platform" and self.config.is_broader(record):
            return True
        return record.where.live in self.places(self.config.read)

    def writes(self, record: Rec) -> bool:
        return record.where.live in self.places(self.config.write)

    def places(self, scopes: tuple[str, ...]) -> set[Where]:
        return {where.live for scope in scopes if (where := self.where(scope))}

    @property
    def changes(self) -> tuple[int, int]:
        """How many it has staged, at least and at most (TU-5)."""
        return sum(change.cost[0] for change in self.log), sum(change.cost[1] for change in self.log)

    def saved(self) -> Iterator[Rec]:
        yield from (change.new for change in self.log if isinstance(change, Saving))

    def is_open(self, now: datetime) -> bool:
        return self.status == "open" and now < self.deadline
