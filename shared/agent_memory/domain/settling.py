"""Plays a turn's log over the records as they stand now: one rule for the commit and the turn's own view (TU-3, TU-8).

Others may have been faster: a commit never fails for that. A replace is led on to what stands in its
target's place now, the later commit has the key, and a pin without room leaves its record unpinned; each such case is
a conflict, with what was found as `current`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from . import pins
from .precedence import winners
from .records import Record, Status, Version, next_stamp
from .scopes import Place
from .staging import (
    MAX_CONSTRAINTS,
    Approve,
    Board,
    Change,
    Confirm,
    Dropped,
    Hidden,
    Hide,
    Keyed,
    Reject,
    Remove,
    Restore,
    Save,
    Settled,
    Standing,
)
from .times import written


@dataclass(frozen=True, slots=True)
class Rules:
    """What a turn goes by. places: where it looks; reachable: those whose records it may replace: a replace follows its
    target no further. is_broader: whether a record is of a kind that binds; sees: whether it lies where the turn may
    see it; has_faded: whether it is no longer recalled. pin_tokens: how long the pin list may be; None: there is none.
    """

    is_broader: Callable[[Record], bool]
    places: Collection[Place] = ()
    reachable: Collection[Place] = ()
    sees: Callable[[Record], bool] = lambda record: False
    has_faded: Callable[[Record], bool] = lambda record: False
    pin_tokens: float | None = None


def settle(log: Sequence[Change], standing: Standing, rules: Rules, now: datetime) -> Settled:
    """Play the log over what stands. `standing` holds every record that the log names, with what replaced it to the end
    of the chain, the holders of keys that it takes or frees, and the boards that it changes."""
    play = _Play(standing, rules, now)
    for change in log:
        match change:
            case Save():
                play.save(change)
            case Remove():
                play.remove(change)
            case Hide():
                play.hide(change)
            case Confirm():
                play.confirm(change)
            case Dropped():
                pass
            case Restore():
                play.restore(change)
            case Approve():
                play.approve(change)
            case Reject():
                play.reject(change)
    return play.ended()


class _Play:
    def __init__(self, standing: Standing, rules: Rules, now: datetime) -> None:
        self.standing, self.rules, self.now = standing, rules, now
        self.settled = Settled(standing=standing)

    # -- what turns do

    def save(self, change: Save) -> None:
        record = self._begun(change.record)
        if record.status is Status.PENDING:
            return self._bring(record)  # a proposal supersedes nothing and holds no key (SC-4)
        conflicts: list[dict[str, Any]] = []
        taken = self._targets(record, conflicts)
        record = self._keyed(record, taken, change.holders, conflicts)
        if self.rules.is_broader(record) and self._constraints(record.place, without=taken) >= MAX_CONSTRAINTS:
            return self._conflict("save", record.id, record.id, "nothing", None)
        self.settled.conflicts.extend(conflicts)
        record = replace(record, replaces=tuple(taken))
        self._bring(record)
        for id in taken:
            self._take_away(id, record)
        if record.memory_key:
            self.settled.holders[record.place, record.memory_key] = record.id
        return None

    def remove(self, change: Remove) -> None:
        record = self._record(change.id)
        if (
            record is None
            or record.status is Status.DELETED
            or (record.status is Status.SUPERSEDED and change.seen is Status.ACTIVE)
        ):
            return self._conflict("delete", change.id, change.id, "nothing", record)
        self._change(change.id, Status.DELETED, change.by, replaced_by=record.replaced_by)
        if change.id not in self.settled.touched:
            self.settled.touched.append(change.id)
        return None

    def hide(self, change: Hide) -> None:
        (target,) = change.record.replaces
        record = self._record(target)
        is_there = record and (record.is_active(self.now) or record.status is change.seen is Status.SUPERSEDED)
        if record is None or not is_there or self._hider(record):
            return self._conflict("delete", target, target, "nothing", record)
        deletion = self._begun(change.record)
        self._bring(deletion)
        self._hide(target, deletion)
        return None

    def confirm(self, change: Confirm) -> None:
        record = self._record(change.id)
        if record and record.is_active(self.now) and change.id in self.standing.records:
            self.settled.before[change.id] = self.standing.records[change.id]
            self.settled.after[change.id] = record.confirmed(at=self.now, by=change.by)

    # -- what people do

    def restore(self, change: Restore) -> None:
        """Conflicts tell what stands in the way: `key`, `save` (too many constraints)."""
        record = self._record(change.id)
        assert record is not None
        heir = self._active_heir(record)
        gone = [heir.id] if heir else []
        if self._is_blocked(record, gone):
            return
        for id in gone:
            self._change(id, Status.SUPERSEDED, change.by, replaced_by=record.id)
        self._revive(record, change.by)

    def approve(self, change: Approve) -> None:
        """As `restore`; and `replace` where what it proposed to replace is not there any more."""
        record = self._record(change.id)
        assert record is not None
        taken: list[str] = []
        for target in record.replaces:
            found = self._record(target)
            if found is None or self._end(found) is not found:
                return self._conflict("replace", record.id, target, "nothing", found)
            taken.append(target)
        weaker = [holder for holder in self._holders(record) if not self._is_stronger(holder, record)]
        taken += [holder.id for holder in weaker if holder.id not in taken]
        if self._is_blocked(record, taken):
            return None
        self.settled.after[record.id] = replace(record, replaces=tuple(taken))
        self._revive(record, change.by)
        for id in taken:
            self._take_away(id, self.settled.after[record.id])
        return None

    def reject(self, change: Reject) -> None:
        self._change(change.id, Status.REJECTED, change.by, replaced_by=None)

    def _is_blocked(self, record: Record, taken: Collection[str]) -> bool:
        for holder in self._holders(record, both=record.status is Status.PENDING):
            if holder.id not in taken:
                self._conflict("key", record.id, holder.id, "nothing", holder)
                return True
        if self.rules.is_broader(record) and self._constraints(record.place, without=taken) >= MAX_CONSTRAINTS:
            self._conflict("save", record.id, record.id, "nothing", None)
            return True
        return False

    def _revive(self, record: Record, by: Any) -> None:
        self._change(record.id, Status.ACTIVE, by, replaced_by=None)
        if record.memory_key:
            self.settled.holders[record.place, record.memory_key] = record.id

    def _active_heir(self, record: Record) -> Record | None:
        """The active end of the chain of what replaced a record, through those that were deleted since."""
        seen = {record.id}
        heir = self._record(record.replaced_by) if record.replaced_by else None
        while heir and not heir.is_active(self.now) and heir.replaced_by and heir.id not in seen:
            seen.add(heir.id)
            heir = self._record(heir.replaced_by)
        return heir if heir and heir.is_active(self.now) else None

    # -- the end

    def ended(self) -> Settled:
        settled = self.settled
        self._unpin()
        for keyed, id in list(settled.holders.items()):
            if self.standing.holders.get(keyed) == id:
                del settled.holders[keyed]
        for place, board in self.standing.boards.items():
            changed = self._board(place, board)
            if (changed.pinned, changed.constraints) != (board.pinned, board.constraints):
                settled.boards[place] = changed
        pinned = any(r.pinned for r in settled.saved)
        return replace(settled, fences=[p for p in self.standing.boards if p not in settled.boards] if pinned else ())

    # -- what a save takes the place of

    def _targets(self, new: Record, conflicts: list[dict[str, Any]]) -> list[str]:
        """The records that it supersedes or hides, each once, in the order in which they were named."""
        taken: list[str] = []
        for target in new.replaces:
            record = self._record(target)
            end = self._end(record)
            if record is None or end is not record:
                follows = end is not None and end.id != new.id and self._may_follow(end, new)
                end = end if follows else None
                outcome = "retargeted" if follows else "saved_alone"
                conflicts.append(self._told("replace", new.id, target, outcome, end or record))
            if end and end.id not in taken:
                taken.append(end.id)
        return taken

    def _keyed(self, new: Record, taken: list[str], seen: Collection[str], conflicts: list[dict[str, Any]]) -> Record:
        """Adds to `taken` who holds the key; without it where a broader kind does (RC-3)."""
        holders = [holder for holder in self._holders(new) if holder.id not in taken]
        for holder in holders:
            if self._is_stronger(holder, new):
                conflicts.append(self._told("key", new.id, holder.id, "nothing", holder))
                return replace(new, memory_key=None)
        for holder in holders:
            if holder.id not in seen and holder.id in self.standing.records:
                conflicts.append(self._told("key", new.id, holder.id, "retargeted", holder))
            taken.append(holder.id)
        return new

    def _holders(self, new: Record, *, both: bool = True) -> list[Record]:
        """Who has its key now: the record of its own mode, and with `both` the live one beside what a preview saves,
        which hides it. What is restored hides nothing anew."""
        if new.memory_key is None:
            return []
        places = [new.place, new.place.live] if new.preview and both else [new.place]
        held = [self._holder((place, new.memory_key)) for place in places]
        return [record for record in held if record and not self._hider(record)]

    def _holder(self, keyed: Keyed) -> Record | None:
        id = self.settled.holders[keyed] if keyed in self.settled.holders else self.standing.holders.get(keyed)
        record = self._record(id) if id else None
        return record if record and record.is_active(self.now) and record.memory_key == keyed[1] else None

    def _may_follow(self, end: Record, new: Record) -> bool:
        is_wider = end.place.scope.breadth > new.place.scope.breadth
        return end.place in self.rules.reachable and not is_wider and not self._is_stronger(end, new)

    def _is_stronger(self, one: Record, other: Record) -> bool:
        return self.rules.is_broader(one) and not self.rules.is_broader(other)

    def _end(self, record: Record | None) -> Record | None:
        """The record itself where it is there for the turn, else the active end of the chain of what took its place:
        of one that is superseded its successor, and only of one that stands what hides it from a preview turn."""
        seen: set[str] = set()
        while record and record.id not in seen:
            seen.add(record.id)
            hider = self._hider(record)
            if record.status is Status.SUPERSEDED:
                next_id = record.replaced_by
            elif hider:
                next_id = hider.by
            else:
                return record if record.is_active(self.now) else None
            record = self._record(next_id) if next_id else None
        return None

    def _hider(self, record: Record) -> Hidden | None:
        """What hides a live record from this turn; of live turns `standing.hidden` is empty."""
        return self.settled.hidden.get(record.id) or self.standing.hider(record.id, self.now)

    # -- limits

    def _constraints(self, place: Place, *, without: Collection[str]) -> int:
        board = self.standing.boards.get(place, Board())
        standing = {id for id, noted in board.constraints.items() if noted.holds(self.now)} - set(self.settled.after)
        new = {r.id for r in self.settled.after.values() if self._binds(r) and r.place == place}
        return len((standing | new) - set(without))

    def _binds(self, record: Record) -> bool:
        return record.is_active(self.now) and self.rules.is_broader(record)

    def _unpin(self) -> None:
        """The newest of the log's own pins give way where the list is too long in the end: what the log takes away
        later makes room, too."""
        own = [record for record in self.settled.saved if record.pinned]
        for record in reversed(own):
            tokens = pins.tokens_of(self._pinned())
            if tokens <= (self.rules.pin_tokens or 0):
                return
            self.settled.after[record.id] = replace(record, pinned=False)
            self.settled.over_budget[record.id] = tokens
            self._conflict("pin", record.id, record.id, "unpinned", None)

    def _pinned(self) -> list[Record]:
        """The list that the turn itself reads, its staged pins counted (PN-2)."""
        records = {**self.standing.records, **self.settled.after}.values()
        seen = [r for r in records if r.is_active(self.now) and self.rules.sees(r) and not self._hider(r)]
        lost = winners((r for r in seen if not self.rules.has_faded(r)), self.rules.is_broader)
        return [r for r in seen if r.pinned and r.id not in lost]

    def _board(self, place: Place, board: Board) -> Board:
        changed = [record for record in self.settled.after.values() if record.place == place]
        active = [record for record in changed if record.status is Status.ACTIVE]
        return board.following(
            {record.id for record in changed},
            pinned=[record for record in active if record.pinned],
            constraints=[record for record in active if self.rules.is_broader(record)],
            now=self.now,
        )

    # -- the state

    def _record(self, id: str) -> Record | None:
        return self.settled.after.get(id) or self.standing.records.get(id)

    def _begun(self, record: Record) -> Record:
        """The new record with its first version written now."""
        first = Version(1, record.status, written(self.now), record.newest.written_by)
        return replace(record, versions=(first,), stamp=next_stamp(0, self.now))

    def _bring(self, record: Record) -> None:
        self.settled.after[record.id] = record
        self.settled.touched.append(record.id)

    def _take_away(self, id: str, new: Record) -> None:
        record = self._record(id)
        assert record is not None
        if new.preview and not record.preview:
            self._hide(id, new)
        else:
            self._change(id, Status.SUPERSEDED, new.newest.written_by, replaced_by=new.id)

    def _hide(self, id: str, by: Record) -> None:
        hidden = Hidden(by.place, by.id, by.expires_at if by.hides else None)
        if hidden.holds(self.now):  # a deletion may have ended before its turn did
            self.settled.hidden[id] = hidden

    def _change(self, id: str, status: Status, by: Any, replaced_by: str | None) -> None:
        record = self._record(id)
        assert record is not None
        if id in self.standing.records:
            self.settled.before[id] = self.standing.records[id]
        self.settled.after[id] = record.changed(status, at=self.now, by=by, replaced_by=replaced_by)
        keyed = (record.place, record.memory_key or "")
        holder = self._raw_holder(keyed)
        if record.memory_key and holder == id:
            self.settled.holders[keyed] = None

    def _raw_holder(self, keyed: Keyed) -> str | None:
        return self.settled.holders[keyed] if keyed in self.settled.holders else self.standing.holders.get(keyed)

    def _conflict(self, change: str, id: str, target: str, outcome: str, found: Record | None) -> None:
        self.settled.conflicts.append(self._told(change, id, target, outcome, found))

    def _told(self, change: str, id: str, target: str, outcome: str, found: Record | None) -> dict[str, Any]:
        # `current` is what the commit found, before its own changes.
        found = self.standing.records.get(found.id, found) if found else None
        current = {"id": found.id, "version": found.version, "status": found.status.value} if found else None
        return {"change": change, "id": id, "target": target, "outcome": outcome, "current": current}
