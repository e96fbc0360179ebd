"""What of a review's decisions cannot stand, and what is left of a turn without it.

A decision whose target has changed since is taken again once by the review (`operations.review`), then it comes to
nothing (TU-8). So does what one transaction has no room for: since it was staged others may have taken the keys that it
wants, and each costs two actions more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_memory.domain.records import Record
from agent_memory.domain.reviewing.decisions import TARGET_CHANGED, TURN_FULL
from agent_memory.domain.staging import Confirm, Dropped, Hide, Remove, Save, Staged
from agent_memory.domain.turns import Review

from .enter import Entered
from .review_events import decision_event
from .services import Services
from .staged import MOST_ACTIONS, View, view_of


@dataclass(frozen=True, slots=True)
class Left:
    """What stands: the view, the review's counts, what the transcript tells of what does not, and the new records that
    come to nothing."""

    view: View
    review: Review
    events: Sequence[dict[str, Any]] = ()
    dropped: Sequence[Record] = ()


def changed_targets(view: View) -> list[int]:
    """Where decisions stand in the log, from 0, whose targets have changed."""
    conflicts = {(one["change"], one["id"]) for one in view.settled.conflicts}
    return [n for n, change in enumerate(view.log) if change.decided is not None and _said_of(change) in conflicts]


def what_stands(services: Services, entered: Entered, view: View, review: Review, *, at: str) -> Left:
    """Goes on while one that is left out changes what another meets."""
    left = Left(view, review)
    while True:
        if numbers := changed_targets(left.view):
            left = _left_out(services, entered, left, numbers, TARGET_CHANGED, at)
        elif numbers := _too_many(left.view):
            left = _left_out(services, entered, left, numbers, TURN_FULL, at)
        else:
            return left


def without(services: Services, entered: Entered, view: View, numbers: Collection[int]) -> View:
    """As if these entries of the log were not there; the others keep their numbers."""
    log = [Dropped() if n in numbers else change for n, change in enumerate(view.log)]
    return view_of(services, entered, log, view.settled.standing)


def fewer(review: Review, taken_back: Sequence[Staged]) -> Review:
    """Its counts without these."""
    saved = [change for change in taken_back if isinstance(change, Save)]
    replaced = sum(bool(change.places) for change in saved)
    deleted = sum(isinstance(change, Remove | Hide) for change in taken_back)
    return replace(
        review,
        added=review.added - (len(saved) - replaced),
        replaced=review.replaced - replaced,
        deleted=review.deleted - deleted,
    )


def new_records(changes: Sequence[Staged]) -> list[Record]:
    """Those that the changes would bring."""
    return [change.record for change in changes if isinstance(change, Save | Hide)]


def _left_out(services: Services, entered: Entered, left: Left, numbers: Collection[int], reason: str, at: str) -> Left:
    taken_back = [left.view.log[n] for n in numbers]
    decisions = [change for change in taken_back if not isinstance(change, Confirm)]
    review = fewer(left.review, decisions)
    return Left(
        without(services, entered, left.view, numbers),
        replace(review, skipped=review.skipped + len(decisions)),
        [*left.events, *(_told(change, reason, at) for change in decisions)],
        [*left.dropped, *new_records(decisions)],
    )


def _too_many(view: View) -> list[int]:
    """What gives way where one transaction has no room: confirmations, then the newest change of the review. Those of
    tools always fit."""
    surplus = view.actions - MOST_ACTIONS
    if surplus <= 0:
        return []
    confirming = [n for n, change in enumerate(view.log) if isinstance(change, Confirm)]
    return confirming[-surplus:] or [n for n, change in enumerate(view.log) if _is_the_reviews(change)][-1:]


def _is_the_reviews(change: Staged) -> bool:
    return change.decided is not None or (isinstance(change, Save) and change.record.source in ("review", "lesson"))


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


def _told(change: Staged, reason: str, at: str) -> dict[str, Any]:
    """Of what was added, and is not kept beside its decision, how long it was."""
    if change.decided is not None:
        source, told = change.decided["source"], {"candidate": change.decided["candidate"]}
    else:
        (record,) = new_records([change])
        source, told = record.source, {"length": len(record.summary)}
    target = change.record.replaces[:1] if isinstance(change, Save | Hide) else (getattr(change, "id", None),)
    memory_id = next(iter(target), None)
    return decision_event(at, told, source=source, decision="skip", reason=reason, memory_id=memory_id)
