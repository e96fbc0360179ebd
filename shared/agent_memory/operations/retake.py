"""Decisions of a review whose target has changed since: which they are, and what is left without them (TU-8).

The review takes them again once (`operations.review`); what has changed twice comes to nothing, and is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_memory.domain.records import Record
from agent_memory.domain.reviewing.decisions import TARGET_CHANGED
from agent_memory.domain.staging import Confirm, Dropped, Hide, Remove, Save, Staged
from agent_memory.domain.turns import Review

from .enter import Entered
from .services import Services
from .staged import MOST_ACTIONS, View, view_of


@dataclass(frozen=True, slots=True)
class Left:
    """What stands without the decisions whose targets have changed: the view, the review's counts, what the transcript
    tells of it, and the new records that come to nothing."""

    view: View
    review: Review
    events: Sequence[dict[str, Any]] = ()
    dropped: Sequence[Record] = ()


def changed_targets(view: View) -> list[int]:
    """Where these decisions stand in the log, from 0."""
    conflicts = {(one["change"], one["id"]) for one in view.settled.conflicts}
    return [n for n, change in enumerate(view.log) if change.decided is not None and _said_of(change) in conflicts]


def without_changed(services: Services, entered: Entered, view: View, review: Review, *, at: str) -> Left:
    """Goes on while one that is left out changes what another met."""
    left = Left(_fitting(services, entered, view), review)
    while changed := changed_targets(left.view):
        taken_back = [left.view.log[n] for n in changed]
        log = [Dropped() if n in changed else change for n, change in enumerate(left.view.log)]
        left = Left(
            view_of(services, entered, log, left.view.settled.standing),
            _skipping(fewer(left.review, taken_back), taken_back),
            [*left.events, *(_told(change, at) for change in taken_back)],
            [*left.dropped, *(change.record for change in taken_back if isinstance(change, Save | Hide))],
        )
    return left


def _fitting(services: Services, entered: Entered, view: View) -> View:
    """Confirmations give way to changes where one transaction has no room for all."""
    confirming = [n for n, change in enumerate(view.log) if isinstance(change, Confirm)]
    if not (left_out := confirming[-surplus:] if (surplus := view.actions - MOST_ACTIONS) > 0 else []):
        return view
    log = [Dropped() if n in left_out else change for n, change in enumerate(view.log)]
    return view_of(services, entered, log, view.settled.standing)


def fewer(review: Review, taken_back: Sequence[Staged]) -> Review:
    """Its counts without these."""
    replaced = sum(isinstance(change, Save) for change in taken_back)
    deleted = review.deleted - (len(taken_back) - replaced)
    return replace(review, replaced=review.replaced - replaced, deleted=deleted)


def _skipping(review: Review, taken_back: Sequence[Staged]) -> Review:
    return replace(review, skipped=review.skipped + len(taken_back))


def _said_of(change: Staged) -> tuple[str, str] | None:
    match change:
        case Save():
            return "replace", change.record.id
        case Hide():
            return "delete", change.record.replaces[0]
        case Remove():
            return "delete", change.id
        case _:
            return None


def _told(change: Staged, at: str) -> dict[str, Any]:
    decided = change.decided or {}
    target = change.record.replaces[0] if isinstance(change, Save | Hide) else getattr(change, "id", None)
    return {
        "type": "review",
        "at": at,
        "candidate": decided["candidate"],
        "source": decided["source"],
        "decision": "skip",
        "memory_id": target,
        "reason": TARGET_CHANGED,
        "neighbours": [],
    }
