"""What a turn has staged, and what becomes of it: one rule for the commit and the turn's own view (TU-1, TU-3, TU-8).

Staged changes are a log: `Save` and `Remove`, in the order of the calls. `settle` plays it over the records as they
stand now. Others may have been faster: a commit never fails for that, each such case is a `Conflict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from .records import Record, Status, Version, next_stamp
from .scopes import Place
from .times import written


@dataclass(frozen=True, slots=True)
class Save:
    """A new record, as it will be; `record.replaces` names what the caller named."""

    record: Record
    places: Mapping[str, Place]  # where each replaced record lies
    fingerprint: str

    @property
    def changes(self) -> int:
        return 1 + len(self.record.replaces)


@dataclass(frozen=True, slots=True)
class Remove:
    """A deletion. `seen`: the status that the turn saw; one that was active then and is replaced since stays."""

    id: str
    place: Place
    seen: Status
    by: Mapping[str, Any]

    @property
    def changes(self) -> int:
        return 1


Staged = Save | Remove


@dataclass(frozen=True, slots=True)
class Settled:
    """after: every record that changes, as it will stand, by id; before: those of them that exist already."""

    after: dict[str, Record] = field(default_factory=dict)
    before: dict[str, Record] = field(default_factory=dict)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)  # saved and deleted, in order: the turn's `memories`

    @property
    def gone(self) -> set[str]:
        """Records that were there before and that the turn takes away."""
        return {id for id in self.before if self.after[id].status is not Status.ACTIVE}

    @property
    def saved(self) -> list[Record]:
        """New records that are active in the end, oldest first."""
        return [r for id, r in self.after.items() if id not in self.before and r.status is Status.ACTIVE]

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


def targets(log: Iterable[Staged]) -> dict[str, Place]:
    """Where the records lie that the log replaces or removes and did not bring itself."""
    found: dict[str, Place] = {}
    own: set[str] = set()
    for change in log:
        if isinstance(change, Save):
            found |= {id: place for id, place in change.places.items() if id not in own}
            own.add(change.record.id)
        elif change.id not in own:
            found[change.id] = change.place
    return found


def settle(
    log: Sequence[Staged],
    present: Mapping[str, Record],
    *,
    reachable: Collection[Place],
    broader_kinds: Collection[str] = (),
    now: datetime,
) -> Settled:
    """Play the log over `present`: the records that `targets` names and what has replaced them, chains to their end.

    reachable: the places that the turn both sees and writes. A replace follows its target no further than there, nor to
    a record of a kind whose precedence is broader than the new one's."""
    play = _Play(present, reachable, broader_kinds, now)
    for change in log:
        play.save(change) if isinstance(change, Save) else play.remove(change)
    return play.settled


class _Play:
    def __init__(
        self, present: Mapping[str, Record], reachable: Collection[Place], broader: Collection[str], now: datetime
    ) -> None:
        self.present, self.reachable, self.broader, self.now = present, reachable, broader, now
        self.settled = Settled()

    def save(self, change: Save) -> None:
        record = change.record
        taken: list[str] = []
        for target in record.replaces:
            heir = self._replaceable(target, record)
            if heir and heir.id not in taken:
                taken.append(heir.id)
        first = Version(1, Status.ACTIVE, written(self.now), record.newest.written_by)
        self._set(replace(record, replaces=tuple(taken), versions=(first,), stamp=next_stamp(0, self.now)))
        self.settled.touched.append(record.id)
        for id in taken:
            self._change(id, Status.SUPERSEDED, record.newest.written_by, replaced_by=record.id)

    def remove(self, change: Remove) -> None:
        record = self._record(change.id)
        if (
            record is None
            or record.status is Status.DELETED
            or (record.status is Status.SUPERSEDED and change.seen is Status.ACTIVE)
        ):
            self._conflict("delete", change.id, change.id, "nothing", record)
        else:
            self._change(change.id, Status.DELETED, change.by)
            if change.id not in self.settled.touched:
                self.settled.touched.append(change.id)

    def _replaceable(self, target: str, new: Record) -> Record | None:
        """The record that a replace of `target` supersedes now, or None: then the new one is saved without it."""
        record = self._record(target)
        if record and record.is_active(self.now):
            return record
        heir = self._heir(record)
        if heir and heir.id != new.id and self._may_follow(heir, new):
            self._conflict("replace", new.id, target, "retargeted", heir)
            return heir
        self._conflict("replace", new.id, target, "saved_alone", record)
        return None

    def _may_follow(self, heir: Record, new: Record) -> bool:
        stronger = heir.kind in self.broader and new.kind not in self.broader
        return heir.place in self.reachable and heir.place.scope.breadth <= new.place.scope.breadth and not stronger

    def _heir(self, record: Record | None) -> Record | None:
        """The active end of the chain of what replaced a record."""
        seen: set[str] = set()
        while record and record.status is Status.SUPERSEDED and record.replaced_by and record.id not in seen:
            seen.add(record.id)
            record = self._record(record.replaced_by)
        return record if record and record.is_active(self.now) else None

    def _record(self, id: str) -> Record | None:
        return self.settled.after.get(id) or self.present.get(id)

    def _set(self, record: Record) -> None:
        self.settled.after[record.id] = record

    def _change(self, id: str, status: Status, by: Mapping[str, Any], replaced_by: str | None = None) -> None:
        record = self._record(id)
        assert record is not None
        if id in self.present:
            self.settled.before[id] = self.present[id]
        kept = replaced_by or (record.replaced_by if status is Status.DELETED else None)
        self._set(record.changed(status, at=self.now, by=by, replaced_by=kept))

    def _conflict(self, change: str, id: str, target: str, outcome: str, found: Record | None) -> None:
        # `current` is what the commit found, before its own changes.
        found = self.present.get(found.id, found) if found else None
        current = {"id": found.id, "version": found.version, "status": found.status.value} if found else None
        self.settled.conflicts.append(
            {"change": change, "id": id, "target": target, "outcome": outcome, "current": current}
        )
