"""What a memory is by the rules alone: a plain model that the product is held against (TU-1, TU-3, TU-8, SC-2, TL-2).

Holds committed records and the logs of turns in dictionaries and plays them as SPEC says. Nothing is shared with the
product, so that a mistake would have to be made twice. Knows no store, no index, no text search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

BREADTH = {"session": 0, "workflow": 1, "user": 2, "agent": 3}
BROADER_KINDS = {"rule"}
MOST_CHANGES = 15
OPEN_FOR = timedelta(hours=24)

Where = tuple[str, str | None]  # scope and owner


@dataclass
class Rec:
    id: str
    where: Where
    kind: str
    text: tuple[object, ...]  # every field that makes two records equal
    ends: datetime | None
    replaces: list[str] = field(default_factory=list)
    history: list[tuple[str, str | None]] = field(default_factory=list)  # status and replaced_by of each version

    @property
    def status(self) -> str:
        return self.history[-1][0]

    @property
    def replaced_by(self) -> str | None:
        return self.history[-1][1]

    def is_over(self, now: datetime) -> bool:
        return self.ends is not None and self.ends <= now

    def is_active(self, now: datetime) -> bool:
        return self.status == "ACTIVE" and not self.is_over(now)

    def copy(self) -> Rec:
        return replace(self, replaces=list(self.replaces), history=list(self.history))

    def become(self, status: str, replaced_by: str | None) -> None:
        self.history.append((status, replaced_by))


@dataclass
class Saving:
    new: Rec
    named: list[str]

    @property
    def targets(self) -> list[str]:
        return self.named


@dataclass
class Removing:
    id: str
    was_active: bool

    @property
    def targets(self) -> list[str]:
        return [self.id]


@dataclass
class Attempt:
    """A turn's try. `log` is empty once it is over."""

    id: str
    ids: dict[str, str | None]
    read: list[str]
    write: list[str]
    deadline: datetime
    first: str
    status: str = "open"
    log: list[Saving | Removing] = field(default_factory=list)

    def owner(self, scope: str) -> str | None:
        """None where the turn has no id for it."""
        return "" if scope == "agent" else self.ids[scope]

    def places(self, scopes: Iterable[str]) -> list[Where]:
        return [(scope, self.owner(scope)) for scope in scopes if self.owner(scope) is not None]

    @property
    def visible(self) -> list[Where]:
        return self.places(self.read)

    @property
    def reachable(self) -> list[Where]:
        return [place for place in self.places(self.write) if place in self.visible]

    @property
    def changes(self) -> int:
        return sum(1 + len(c.named) if isinstance(c, Saving) else 1 for c in self.log)

    def is_open(self, now: datetime) -> bool:
        return self.status == "open" and now < self.deadline


@dataclass
class Played:
    """Committed records with a turn's log played over them."""

    records: dict[str, Rec]
    touched: list[str] = field(default_factory=list)
    conflicts: list[tuple[str, str, str, str, tuple[str, int, str] | None]] = field(default_factory=list)


class Memory:
    def __init__(self) -> None:
        self.records: dict[str, Rec] = {}

    def played(self, attempt: Attempt, now: datetime) -> Played:
        played = Played({id: record.copy() for id, record in self.records.items()})
        for change in attempt.log:
            if isinstance(change, Saving):
                self._save(played, attempt, change, now)
            else:
                self._remove(played, change)
        return played

    def seen(self, attempt: Attempt, now: datetime, *, staged: bool = True) -> dict[str, Rec]:
        """What searches show (with `staged`), or a recall: staged records are not added, what they take away is."""
        return {
            r.id: r
            for r in self.played(attempt, now).records.values()
            if r.is_active(now) and r.where in attempt.visible and (staged or r.id in self.records)
        }

    def readable(self, attempt: Attempt, id: str, now: datetime) -> Rec | None:
        found = self.played(attempt, now).records.get(id)
        return found if found and found.where in attempt.visible and not found.is_over(now) else None

    def refusal_of_add(self, attempt: Attempt, scope: str, named: list[str], now: datetime) -> str | None:
        for id in named:
            target = self.readable(attempt, id, now)
            if target is None:
                return "not_found"
            if target.where not in attempt.reachable:
                return "scope_not_allowed"
            if target.status != "ACTIVE":
                return "not_active"
            if BREADTH[target.where[0]] > BREADTH[scope]:
                return "broader_target"
        return None

    def refusal_of_delete(self, attempt: Attempt, id: str, now: datetime) -> str | None:
        target = self.readable(attempt, id, now)
        if target is None:
            return "not_found"
        return None if target.where in attempt.reachable else "scope_not_allowed"

    def equals(self, attempt: Attempt, where: Where, text: tuple[object, ...], now: datetime) -> set[str]:
        """Active records, staged ones too, that a call which says the same would answer."""
        records = self.played(attempt, now).records.values()
        return {r.id for r in records if r.is_active(now) and (r.where, r.text) == (where, text)}

    def commit(self, attempt: Attempt, now: datetime) -> Played:
        played = self.played(attempt, now)
        self.records = played.records
        attempt.status, attempt.log = "committed", []
        return played

    def _save(self, played: Played, attempt: Attempt, change: Saving, now: datetime) -> None:
        new = replace(change.new, replaces=[], history=[("ACTIVE", None)])
        for target in change.named:
            record = played.records[target]
            if not record.is_active(now):
                heir = self._heir(played, record, now)
                follows = heir is not None and self._may_follow(attempt, heir, new)
                outcome, found = ("retargeted", heir) if follows else ("saved_alone", record)
                played.conflicts.append(("replace", new.id, target, outcome, self._current(found)))
                record = heir if follows and heir else None
            if record and record.id not in new.replaces:
                new.replaces.append(record.id)
        for id in new.replaces:
            played.records[id].become("SUPERSEDED", new.id)
        played.records[new.id] = new
        played.touched.append(new.id)

    def _remove(self, played: Played, change: Removing) -> None:
        record = played.records[change.id]
        if record.status == "DELETED" or (record.status == "SUPERSEDED" and change.was_active):
            played.conflicts.append(("delete", change.id, change.id, "nothing", self._current(record)))
            return
        record.become("DELETED", record.replaced_by)
        if change.id not in played.touched:
            played.touched.append(change.id)

    def _heir(self, played: Played, record: Rec, now: datetime) -> Rec | None:
        while record.status == "SUPERSEDED" and record.replaced_by:
            record = played.records[record.replaced_by]
        return record if record.is_active(now) else None

    def _may_follow(self, attempt: Attempt, heir: Rec, new: Rec) -> bool:
        stronger = heir.kind in BROADER_KINDS and new.kind not in BROADER_KINDS
        is_broader = BREADTH[heir.where[0]] > BREADTH[new.where[0]]
        return heir.where in attempt.reachable and not is_broader and not stronger

    def _current(self, record: Rec) -> tuple[str, int, str]:
        """As found at the commit, before its own changes."""
        found = self.records.get(record.id, record)
        return found.id, len(found.history), found.status
