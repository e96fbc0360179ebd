"""What a turn has staged, played over the committed records as its commit would do it now (TU-3, TU-8, PV-3).

The same for a turn's own view and for its commit. Leaves to the commit which pins no longer fit: `unpinned` says it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from .board import MOST_CONSTRAINTS, Board
from .records import BREADTH, Attempt, Rec, Removing, Saving

Current = tuple[str, int, str]  # id, version and status as found at the commit
Conflict = tuple[str, str, str, str, Current | None]  # change, id, target, outcome, current


@dataclass
class Played:
    """board: the records afterwards; touched: what the turn saved and deleted, in order; dropped: saves that did not
    happen."""

    attempt: Attempt
    before: Board
    board: Board
    touched: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)


def play(before: Board, attempt: Attempt, unpinned: Collection[str] = ()) -> Played:
    played = Played(attempt, before, before.copy())
    for change in attempt.log:
        if isinstance(change, Saving):
            _save(played, change, change.new.id in unpinned)
        else:
            _remove(played, change)
    return played


def _save(played: Played, change: Saving, loses_pin: bool) -> None:
    board, told = played.board, len(played.conflicts)
    new = replace(change.new, replaces=[], history=[("ACTIVE", None)])
    if loses_pin:
        new.said = new.said._replace(pinned=False)
    if new.where.scope == "platform":  # a proposal: it supersedes nothing and holds no key (SC-4)
        new.replaces, new.history = list(change.named), [("PENDING", None)]
    else:
        for id in change.named:
            if (target := _target(played, new, id)) and target.id not in new.replaces:
                new.replaces.append(target.id)
        _take_key(played, change, new)
        if _is_one_too_many(played, new):
            played.conflicts[told:] = [("save", new.id, new.id, "nothing", None)]
            played.dropped.add(new.id)
            return
    board.put(new)
    played.touched.append(new.id)


def _target(played: Played, new: Rec, id: str) -> Rec | None:
    """What the new record supersedes or covers for a name in its `replaces`."""
    record = played.board.records.get(id)
    if record is None:  # a save of this very turn that did not happen
        return None
    heir = _heir(played, record)
    if heir is record and heir.is_active(played.board.now):
        return record
    if heir.is_active(played.board.now) and _may_follow(played, heir, new):
        played.conflicts.append(("replace", new.id, id, "retargeted", _current(played, heir)))
        return heir
    played.conflicts.append(("replace", new.id, id, "saved_alone", _current(played, record)))
    return None


def _heir(played: Played, record: Rec) -> Rec:
    """What stands in its place now: what superseded it, and for a preview turn what covers that, and so on."""
    while True:
        if record.status == "SUPERSEDED" and record.replaced_by:
            record = played.board.records[record.replaced_by]
        elif cover := _cover(played, record):
            record = cover
        else:
            return record


def _cover(played: Played, record: Rec) -> Rec | None:
    """The preview record that took a live record's place in what a preview turn sees."""
    if not played.attempt.preview or record.where.preview:
        return None
    covers = [r for r in played.board.records.values() if record.id in r.replaces and played.board.covers(r)]
    seen = [r for r in covers if played.attempt.reads(r) or r.id not in played.before.records]
    return seen[-1] if seen else None


def _may_follow(played: Played, heir: Rec, new: Rec) -> bool:
    """Only to what the turn could have named itself."""
    attempt, is_broader = played.attempt, played.attempt.config.is_broader
    stronger = is_broader(heir) and not is_broader(new)
    too_broad = BREADTH[heir.where.scope] > BREADTH[new.where.scope]
    return attempt.reads(heir) and attempt.writes(heir) and not too_broad and not stronger


def _take_key(played: Played, change: Saving, new: Rec) -> None:
    board, key, is_broader = played.board, new.said.key, played.attempt.config.is_broader
    holders = [(board.holder(new.where, key), change.holder)]
    if new.where.preview:
        seen = lambda record: played.attempt.reads(record) or record.id not in played.before.records  # noqa: E731
        holders.append((board.live_holder(new.where, key, seen), change.live_holder))
    for holder, expected in holders:
        if holder is None or holder.id in new.replaces:
            continue
        if is_broader(holder) and not is_broader(new):
            played.conflicts.append(("key", new.id, holder.id, "nothing", _current(played, holder)))
            new.said = new.said._replace(key=None)
            return
        if holder.id != expected:
            played.conflicts.append(("key", new.id, holder.id, "retargeted", _current(played, holder)))
        new.replaces.append(holder.id)


def _is_one_too_many(played: Played, new: Rec) -> bool:
    is_broader = played.attempt.config.is_broader
    stay = played.board.constraints(new.where, is_broader) - set(new.replaces)
    return is_broader(new) and len(stay) >= MOST_CONSTRAINTS


def _remove(played: Played, change: Removing) -> None:
    record = played.board.records.get(change.id)
    if record is None:
        return
    has_gone = record.status == "DELETED" or (record.status == "SUPERSEDED" and change.was_active)
    if has_gone or (change.instead and (_cover(played, record) or record.is_over(played.board.now))):
        played.conflicts.append(("delete", change.id, change.id, "nothing", _current(played, record)))
    elif change.instead:
        deletion = replace(change.instead, replaces=[change.id], history=[("DELETED", None)])
        played.board.put(deletion)
        played.touched.append(deletion.id)
    else:
        played.board.delete(change.id)
        if change.id not in played.touched:
            played.touched.append(change.id)


def _current(played: Played, record: Rec) -> Current:
    """As found at the commit, before its own changes."""
    found = played.before.records.get(record.id, record)
    return found.id, found.version, found.status
