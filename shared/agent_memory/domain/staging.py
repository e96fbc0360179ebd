"""What a turn has staged, and what its changes meet: the log, what stands now, and what comes of the two.

Staged changes are a log: `Save`, `Remove` and `Hide`, in the order of the calls; a review adds `Confirm`, and `Dropped`
in the place of what it took back. `settling.settle` plays it over `Standing` and gives `Settled`, for the commit and
for the turn's own view alike (TU-1, TU-3, TU-8). What a review has decided names in `decided` the candidate that it
decided on, so that it can be decided again where its target has changed; None: a tool's change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .records import Record, Status
from .scopes import Place
from .times import instant

MAX_CONSTRAINTS = 20  # active ones of one place (RL-1)

Keyed = tuple[Place, str]  # a place and a memory_key


# ---------------------------------------------------------------- the log


@dataclass(frozen=True, slots=True)
class Save:
    """A new record, as it will be; `record.replaces` names what the caller named. holders: who held its key when it was
    staged, so who is no surprise. supersedes: how many records it superseded as it was staged (TU-5 counts them)."""

    record: Record
    places: Mapping[str, Place]  # where each record that it names lies
    given_end: str | None = None  # `expires_at` as the call gave it, before retention
    holders: tuple[str, ...] = ()
    supersedes: int = 0
    decided: Mapping[str, Any] | None = None

    @property
    def changes(self) -> int:
        return 1 + self.supersedes


@dataclass(frozen=True, slots=True)
class Remove:
    """A deletion. `seen`: the status that the turn saw; one that was active then and is replaced since stays."""

    id: str
    place: Place
    seen: Status
    by: Mapping[str, Any]
    decided: Mapping[str, Any] | None = None

    @property
    def changes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Hide:
    """A preview deletion: `record` is the word that the live record which it names in `replaces` is gone (PV-3)."""

    record: Record
    target: Place
    seen: Status = Status.ACTIVE  # of the live record, as `Remove` has it
    decided: Mapping[str, Any] | None = None

    @property
    def changes(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Confirm:
    """A record was told again (UP-1); one that is not active any more is left as it is."""

    id: str
    place: Place
    by: Mapping[str, Any]

    @property
    def changes(self) -> int:
        return 0

    @property
    def decided(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A decision that came to nothing, since its target had changed twice."""

    @property
    def changes(self) -> int:
        return 0

    @property
    def decided(self) -> None:
        return None


Staged = Save | Remove | Hide | Confirm | Dropped


@dataclass(frozen=True, slots=True)
class Restore:
    """A superseded or deleted record is to be active again, in the place of what replaced it (GR-8). By people alone,
    never staged by a turn."""

    id: str
    place: Place
    by: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Approve:
    """A proposal becomes what it proposed (SC-4). places: where each record lies that it names in `replaces`."""

    id: str
    place: Place
    places: Mapping[str, Place]
    by: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reject:
    """A proposal comes to nothing."""

    id: str
    place: Place
    by: Mapping[str, Any]


Change = Staged | Restore | Approve | Reject


# ---------------------------------------------------------------- what it meets


@dataclass(frozen=True, slots=True)
class Hidden:
    """That a preview record hides a live one. place: where it is written down; ends_at: of a preview deletion alone, a
    replacement hides for as long as there is preview (PV-2)."""

    place: Place
    by: str
    ends_at: str | None = None

    def holds(self, now: datetime) -> bool:
        return self.ends_at is None or now < instant(self.ends_at)


@dataclass(frozen=True, slots=True)
class Noted:
    """A record on a place's board, with what settles it against others before it is read."""

    memory_key: str | None = None
    ends_at: str | None = None

    def holds(self, now: datetime) -> bool:
        return self.ends_at is None or now < instant(self.ends_at)


@dataclass(frozen=True, slots=True)
class Board:
    """What every recall of a place must show: its pinned records and its constraints, by id. version: 0 where there is
    none yet; it counts the changes."""

    version: int = 0
    pinned: Mapping[str, Noted] = field(default_factory=dict)
    constraints: Mapping[str, Noted] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        return {*self.pinned, *self.constraints}

    def following(
        self,
        changed: Collection[str],
        *,
        pinned: Iterable[Record] = (),
        constraints: Iterable[Record] = (),
        now: datetime,
    ) -> Board:
        """The board after records have changed: these are pinned, or bind, now. What has expired goes along."""

        def kept(noted: Mapping[str, Noted], coming: Iterable[Record]) -> dict[str, Noted]:
            still = {id: one for id, one in noted.items() if id not in changed and one.holds(now)}
            return still | {record.id: Noted(record.memory_key, record.expires_at) for record in coming}

        return Board(self.version + 1, kept(self.pinned, pinned), kept(self.constraints, constraints))


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands in the table where the log touches it: records with all that replaced them, who holds the keys, what
    preview hides from this turn (by the id of the live record), and the boards of places where pins or constraints
    change. hiding: of each place of preview that the turn sees, how often what it hides has changed."""

    records: Mapping[str, Record] = field(default_factory=dict)
    holders: Mapping[Keyed, str | None] = field(default_factory=dict)
    hidden: Mapping[str, Sequence[Hidden]] = field(default_factory=dict)
    hiding: Mapping[Place, int] = field(default_factory=dict)
    boards: Mapping[Place, Board] = field(default_factory=dict)

    def hider(self, id: str, now: datetime) -> Hidden | None:
        return next((hidden for hidden in self.hidden.get(id, ()) if hidden.holds(now)), None)


# ---------------------------------------------------------------- what comes of it


@dataclass(frozen=True, slots=True)
class Settled:
    """after: every record that changes, as it will stand, by id; before: those of them that exist already. holders,
    hidden, boards: what changes of these, holders with None for a key that is free; `standing` is what they were."""

    after: dict[str, Record] = field(default_factory=dict)
    before: dict[str, Record] = field(default_factory=dict)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)  # saved and deleted, in order: the turn's `memories`
    holders: dict[Keyed, str | None] = field(default_factory=dict)
    hidden: dict[str, Hidden] = field(default_factory=dict)
    boards: dict[Place, Board] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    fences: Collection[Place] = ()  # boards that must not have changed: a pin was counted against them
    over_budget: dict[str, int] = field(default_factory=dict)  # tokens of the list with a pin that does not fit, by id

    @property
    def gone(self) -> set[str]:
        """Records that were there before and that the turn takes away."""
        return {id for id in self.before if self.after[id].status is not Status.ACTIVE} | set(self.hidden)

    @property
    def saved(self) -> list[Record]:
        """New records that are active in the end, oldest first."""
        return [r for r in self.new if r.status is Status.ACTIVE]

    @property
    def new(self) -> list[Record]:
        return [record for id, record in self.after.items() if id not in self.before]

    def memories(self) -> list[dict[str, Any]]:
        return [
            {
                "id": r.id,
                "version": r.version,
                "status": r.status.value,
                "preview": r.preview,
                "replaces": list(r.replaces),
                "source": r.source,
            }
            for r in (self.after[id] for id in self.touched)
        ]
