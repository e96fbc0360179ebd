"""The record API and approval in the model: what people change, at once and outside any turn (GR-4, GR-8, GR-9, SC-4).

Refusals are codes of problems; where the rules leave something open, the product may answer either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .board import MOST_CONSTRAINTS, Board, IsBroader
from .records import BREADTH, PLATFORM_KINDS, Config, Rec
from .reference import Memory, Refusals

PLATFORM = Config((), (), dict.fromkeys(PLATFORM_KINDS, False) | {"constraint": True})


def refusals_of_post(memory: Memory, config: Config, new: Rec, named: Sequence[str], now: datetime) -> Refusals:
    """Of a record that a person writes; `new` as it would be."""
    refused, board = Refusals(), memory.board(now)
    if new.said.kind not in config.kinds:
        refused.must |= {"kind_not_declared", "invalid_request"}
    if new.said.pinned and config.pins is None:
        refused.must.add("pin_not_configured")
    for id in named:
        refused.must |= _refusals_of_target(board, new, id)
    if not refused.must:
        if _is_held_by_a_broader_kind(board, new, named, config.is_broader):
            refused.must.add("key_held")
        if _is_one_constraint_too_many(board, new, named, config.is_broader):
            refused.must.add("too_many_constraints")
        if new.said.pinned:
            refused.may.add("pin_over_budget")  # the list of which turn, no rule says
    return refused


def post(memory: Memory, new: Rec, named: Sequence[str], now: datetime) -> None:
    board = memory.board(now)
    holder = board.holder(new.where, new.said.key)
    new.replaces = list(dict.fromkeys([*named, *([holder.id] if holder else [])]))
    new.history = [("ACTIVE", None)]
    board.put(new)


def refusals_of_restore(memory: Memory, record: Rec, is_broader: IsBroader, now: datetime) -> Refusals:
    if record.status not in ("SUPERSEDED", "DELETED"):
        return Refusals({"not_restorable", "conflict"})
    if record.removes or record.is_over(now):
        return Refusals(set(), {"not_restorable"})  # no rule says
    board = memory.board(now)
    holder, end = board.holder(record.where, record.said.key), board.chain_end(record)
    if holder and holder is not end:
        return Refusals({"key_held"})
    stay = board.constraints(record.where, is_broader) - {end.id if end else ""}
    full = is_broader(record) and len(stay) >= MOST_CONSTRAINTS
    return Refusals(may={"too_many_constraints"} if full else set())


def refusals_of_approval(memory: Memory, record: Rec, now: datetime) -> Refusals:
    if record.status != "PENDING":
        return Refusals({"not_pending"})
    board = memory.board(now)
    if record.is_over(now):
        return Refusals(set(), {"not_pending", "target_changed"})  # no rule says
    if not all(board.records[id].is_active(now) for id in record.replaces):
        return Refusals({"target_changed"})
    refused = Refusals()
    if _is_held_by_a_broader_kind(board, record, record.replaces, PLATFORM.is_broader):
        refused.may.add("key_held")
    if _is_one_constraint_too_many(board, record, record.replaces, PLATFORM.is_broader):
        refused.may.add("too_many_constraints")
    return refused


def approve(memory: Memory, record: Rec, now: datetime) -> None:
    """What it proposed to replace gives way, and so does whoever has its key."""
    board = memory.board(now)
    holder = board.holder(record.where, record.said.key)
    record.replaces = list(dict.fromkeys([*record.replaces, *([holder.id] if holder else [])]))
    record.become("ACTIVE", None)
    board.put(record)


def _refusals_of_target(board: Board, new: Rec, id: str) -> set[str]:
    target = board.records.get(id)
    if target is None or target.where.agent != new.where.agent:
        return {"not_found"}
    if target.is_over(board.now) or target.where.preview:
        return {"not_found", "not_active"}
    if target.status != "ACTIVE":
        return {"not_active"}
    return {"broader_target"} if BREADTH[target.where.scope] > BREADTH[new.where.scope] else set()


def _is_held_by_a_broader_kind(board: Board, new: Rec, named: Sequence[str], is_broader: IsBroader) -> bool:
    holder = board.holder(new.where, new.said.key)
    return holder is not None and holder.id not in named and is_broader(holder) and not is_broader(new)


def _is_one_constraint_too_many(board: Board, new: Rec, named: Sequence[str], is_broader: IsBroader) -> bool:
    holder = board.holder(new.where, new.said.key)
    stay = board.constraints(new.where, is_broader) - {*named, holder.id if holder else ""}
    return is_broader(new) and len(stay) >= MOST_CONSTRAINTS
