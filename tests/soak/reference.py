"""The model: all committed records, what each turn sees of them, and what a tool's call of it must be refused for.

Refusals are told as two sets of codes: what must be refused, and what may be, where the rules leave it open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from .board import MOST_CONSTRAINTS, Board
from .recalled import losers, tokens
from .records import BREADTH, PLATFORM_KINDS, Attempt, Rec, Said, Saving, Where
from .staged import Played, play

MOST_CHANGES = 15  # of a turn, by its tools


@dataclass
class Refusals:
    must: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)

    def allows(self, code: str | None) -> bool:
        """Whether a call may end so. None: it is carried out."""
        return code in self.must | self.may if code or self.must else True


class Memory:
    def __init__(self) -> None:
        self.records: dict[str, Rec] = {}

    def board(self, now: datetime) -> Board:
        return Board(self.records, now)

    def view(self, attempt: Attempt, now: datetime) -> Board:
        """Committed records with the turn's own changes played over them."""
        return play(self.board(now), attempt, self.unpinned(attempt, now)).board

    def unpinned(self, attempt: Attempt, now: datetime) -> set[str]:
        """Which of the turn's own pins have no room: the newest give way until the rest fits (PN-2)."""
        unpinned: set[str] = set()
        board = play(self.board(now), attempt).board
        own = [n.id for n in attempt.saved() if n.said.pinned and n.id in board.records]
        for id in reversed([id for id in own if board.records[id].is_active(now)]):
            if self.pin_tokens(attempt, now, unpinned=unpinned) <= (attempt.config.pins or 0):
                break
            unpinned.add(id)
        return unpinned

    # -- what a turn sees

    def seen(
        self, attempt: Attempt, now: datetime, *, staged: bool = True, unpinned: Collection[str] = ()
    ) -> dict[str, Rec]:
        """What searches show (with `staged`), or a recall: staged records are not added, what they take away is."""
        board = play(self.board(now), attempt, unpinned).board
        covered = self._covered(attempt, board)
        return {
            record.id: record
            for record in board.records.values()
            if record.is_active(now)
            and attempt.reads(record)
            and (record.where.preview or record.id not in covered)
            and (staged or record.id in self.records)
        }

    def readable(self, attempt: Attempt, id: str, now: datetime) -> Rec | None:
        """What `read_memory` gives (TL-3)."""
        board = self.view(attempt, now)
        record = board.records.get(id)
        if record is None or not attempt.reads(record) or record.is_over(now):
            return None
        if not record.where.preview and id in self._covered(attempt, board):
            return None
        return record if record.status in ("ACTIVE", "SUPERSEDED", "DELETED") else None

    def _covered(self, attempt: Attempt, board: Board) -> set[str]:
        """What preview hides from it (PV-2); its own staged changes do, wherever they lie (TU-3)."""
        if not attempt.preview:
            return set()
        return board.covered_by(self.covers_of(attempt))

    def covers_of(self, attempt: Attempt) -> Callable[[Rec], bool]:
        return lambda record: attempt.reads(record) or record.id not in self.records

    # -- what a tool's call is refused for

    def twins(self, attempt: Attempt, where: Where, said: Said, now: datetime) -> set[str]:
        """Which records a call that says the same would answer (TL-2)."""
        board = self.view(attempt, now)
        proposed = {new.id for new in attempt.saved() if new.where == where and new.said == said}
        pending = {id for id in proposed if id in board.records and board.records[id].status == "PENDING"}
        return board.equal(where, said) | pending

    def refusals_of_add(
        self, attempt: Attempt, scope: str, said: Said, named: Sequence[str], now: datetime
    ) -> Refusals:
        refused, where = Refusals(), attempt.where(scope)
        kinds = PLATFORM_KINDS if scope == "platform" else set(attempt.config.kinds)
        if said.kind not in kinds or said.kind not in attempt.config.kinds:
            (refused.must if said.kind not in kinds else refused.may).add("kind_not_declared")
        if scope not in attempt.config.write or where is None:
            refused.must.add("scope_not_allowed")
        if said.pinned and attempt.config.pins is None:
            refused.must.add("pin_not_configured")
        for id in named:
            refused.must |= self._refusals_of_target(attempt, scope, id, now)
        if not refused.must and where and (named or not self.twins(attempt, where, said, now)):
            self._add_refusals_of_rooms(refused, attempt, where, said, named, now)
        return refused

    def _refusals_of_target(self, attempt: Attempt, scope: str, id: str, now: datetime) -> set[str]:
        target = self.readable(attempt, id, now)
        if target is None:
            return {"not_found"}
        if not attempt.writes(target):
            return {"scope_not_allowed"} | ({"broader_target"} if target.where.scope == "platform" else set())
        if target.status != "ACTIVE":
            return {"not_active"}
        return {"broader_target"} if BREADTH[target.where.scope] > BREADTH[scope] else set()

    def _add_refusals_of_rooms(
        self, refused: Refusals, attempt: Attempt, where: Where, said: Said, named: Sequence[str], now: datetime
    ) -> None:
        """Keys, constraints, pins and changes: whether there is room for it."""
        board = self.view(attempt, now)
        new = Rec("", where, said, None)
        for holder in (board.holder(where, said.key), board.live_holder(where, said.key, self.covers_of(attempt))):
            is_broader = attempt.config.is_broader
            if holder and holder.id not in named and is_broader(holder) and not is_broader(new):
                (refused.may if where.scope == "platform" else refused.must).add("key_held")
        if self._has_no_room_for_a_constraint(board, attempt, new, named):
            refused.must.add("too_many_constraints")
        if said.pinned and where.scope != "platform":
            self._add_refusals_of_pin(refused, attempt, new, named, now)
        room = _refusals_of_room(attempt, *self.cost(attempt, where, said, named, now))
        refused.must |= room.must
        refused.may |= room.may

    def _has_no_room_for_a_constraint(self, board: Board, attempt: Attempt, new: Rec, named: Sequence[str]) -> bool:
        if new.where.scope == "platform" or not attempt.config.is_broader(new):
            return False
        holder = board.holder(new.where, new.said.key)
        stay = board.constraints(new.where, attempt.config.is_broader) - {*named, holder.id if holder else ""}
        return len(stay) >= MOST_CONSTRAINTS

    def _add_refusals_of_pin(
        self, refused: Refusals, attempt: Attempt, new: Rec, named: Sequence[str], now: datetime
    ) -> None:
        budget = attempt.config.pins or 0
        before = self.pin_tokens(attempt, now)
        trial = Saving(_as_long_as_an_id(new), list(named))
        after = self.pin_tokens(attempt, now, trial)
        if after > budget:
            fits_now = before <= budget  # else the turn's own pins may count as unpinned already
            (refused.must if fits_now else refused.may).add("pin_over_budget")

    def pin_tokens(
        self, attempt: Attempt, now: datetime, more: Saving | None = None, unpinned: Collection[str] = ()
    ) -> int:
        """Of the list that the turn itself reads, with its staged pins (PN-2)."""
        trial = Attempt(**{**vars(attempt), "log": [*attempt.log, *([more] if more else [])]})
        seen = self.seen(trial, now, unpinned=unpinned)
        lost = losers(seen.values(), attempt.config.is_broader)
        return tokens([record for record in seen.values() if record.said.pinned and record.id not in lost])

    def cost(self, attempt: Attempt, where: Where, said: Said, named: Sequence[str], now: datetime) -> tuple[int, int]:
        """Changes that a save counts as (TU-5): itself, and each record of its own mode that it supersedes."""
        board = self.view(attempt, now)
        own = {id for id in named if board.records[id].where.preview == where.preview}
        if where.scope == "platform":
            return 1, 1 + len(named)
        holder = board.holder(where, said.key)
        count = 1 + len(own | ({holder.id} if holder else set()))
        return count, count

    def refusals_of_delete(self, attempt: Attempt, id: str, now: datetime) -> Refusals:
        target = self.readable(attempt, id, now)
        if target is None:
            return Refusals({"not_found"})
        if target.where.scope == "platform":
            return Refusals({"needs_person", "scope_not_allowed"})
        if not attempt.writes(target):
            return Refusals({"scope_not_allowed"})
        return Refusals() if target.status == "DELETED" else _refusals_of_room(attempt, 1, 1)

    def deletion_of(self, attempt: Attempt, id: str, now: datetime) -> str | None:
        """The preview deletion that already stands for a live record, where a preview turn sees one."""
        board = self.view(attempt, now)
        deletions = [
            record
            for record in board.records.values()
            if record.removes and id in record.replaces and attempt.reads(record) and not record.is_over(now)
        ]
        return deletions[-1].id if attempt.preview and deletions else None

    # -- its end

    def commit(self, attempt: Attempt, now: datetime, unpinned: Collection[str] = ()) -> Played:
        played = play(self.board(now), attempt, unpinned)
        self.records = played.board.records
        attempt.status, attempt.log = "committed", []
        return played


def _refusals_of_room(attempt: Attempt, least: int, most: int) -> Refusals:
    """Of a change that counts as so many at least, and at most (TU-5)."""
    if attempt.changes[0] + least > MOST_CHANGES:
        return Refusals({"turn_full"})
    return Refusals(may={"turn_full"} if attempt.changes[1] + most > MOST_CHANGES else set())


def _as_long_as_an_id(new: Rec) -> Rec:
    return Rec("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", new.where, new.said, None, history=[("ACTIVE", None)])
