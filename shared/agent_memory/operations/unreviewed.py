"""Which messages wait for a review, and which turn's review takes them (EX-3).

A session keeps a list of its committed turns whose messages no review has read, one for each mode (PV-4). The turn that
ends with enough of them takes them off the list and adds its own; what its review has not read when it fails goes back
to the front. So no message is read twice, and none is left out, whatever the order in which turns end. A turn without a
session, and a replay (HI-5), have their own messages alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.ports import Put
from agent_memory.domain.reviewing.due import is_due, may_review
from agent_memory.domain.scopes import Scope
from agent_memory.domain.times import written
from agent_memory.domain.turns import Review, ReviewStatus, Turn, TurnStatus, Waiting
from agent_memory.store.turns import Unreviewed

from .services import Services

MAX_CLAIMED = (
    1000  # turns of one review, 50 KB of its turn's item: as many as `every` may let wait, of one message each
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the turn's review is to do, and the writes that make the messages its own."""

    review: Review
    writes: Sequence[Put] = ()


def claim(services: Services, config: AgentConfig, turn: Turn) -> Claim:
    """What is due as the turn ends. turn: as it will be, its last messages counted."""
    if not may_review(config):
        return Claim(Review())
    waiting = _waiting(services, turn)
    readable = _readable(services, config, turn, waiting.turns)
    said = turn.said + sum(one.said for one in readable)
    if is_due(config.memory.extraction.every, said):
        others, beyond = readable[:MAX_CLAIMED], readable[MAX_CLAIMED:]
        own = [] if beyond else _own(turn)  # in the order in which they were said: its own wait behind the rest
        review = _begun(services, claimed=[*others, *own], due=not beyond)
        rest = [one for one in waiting.turns if one not in others]
        return Claim(review, [services.turns.leave_unreviewed(turn.ids, waiting, rest)] if others else [])
    if turn.rejections:
        return Claim(_begun(services))
    return Claim(Review(ReviewStatus.NOT_DUE if said else ReviewStatus.NONE))


def _readable(services: Services, config: AgentConfig, turn: Turn, waiting: Sequence[Waiting]) -> Sequence[Waiting]:
    """What of it this turn's review could learn from. Where the agent writes for users and workflows alone, what was
    said for another one waits for a turn of theirs: nothing of it could be kept."""
    if not waiting or set(config.writable) - {Scope.USER, Scope.WORKFLOW}:
        return waiting
    found = services.turns.several(turn.agent_id, [one.turn_id for one in waiting])
    return [one for one in waiting if one.turn_id in found and _may_save(config, turn, found[one.turn_id])]


def _may_save(config: AgentConfig, turn: Turn, other: Turn) -> bool:
    return any(turn.ids.shared_with(other.ids).place(scope) for scope in config.writable)


def claim_again(services: Services, turn: Turn) -> Claim | None:
    """Of a committed turn whose review failed: what it had claimed and nobody has read since. None where there is
    nothing."""
    if turn.review.status is not ReviewStatus.FAILED:
        return None
    if not turn.belongs_to_session:
        return Claim(_begun_anew(services, turn.review, turn.review.claimed))
    waiting = _waiting(services, turn)
    wanted = {turn.turn_id, *(one.turn_id for one in turn.review.claimed)}
    claimed = [one for one in waiting.turns if one.turn_id in wanted]
    if not claimed:
        return None
    rest = [one for one in waiting.turns if one.turn_id not in wanted]
    owes = any(one.turn_id == turn.turn_id and not one.learned for one in claimed)
    review = replace(turn.review, has_lessons=turn.review.has_lessons or not owes)
    return Claim(_begun_anew(services, review, claimed), [services.turns.leave_unreviewed(turn.ids, waiting, rest)])


def leave_unread(services: Services, config: AgentConfig, turn: Turn) -> list[Put]:
    """What goes onto the list as the turn commits: what its review failed to read, and its own messages if none was
    due. turn: as it stands; its review is done, failed, or there was none."""
    review = turn.review
    unread = list(review.claimed) if review.error else []
    if may_review(config) and turn.turn_id not in {one.turn_id for one in unread}:
        unread += _own_left(turn)
    if not unread or not turn.belongs_to_session:
        return []
    waiting = _waiting(services, turn)
    known = {one.turn_id for one in unread}
    turns = sorted([*unread, *(one for one in waiting.turns if one.turn_id not in known)])
    return [services.turns.leave_unreviewed(turn.ids, waiting, turns)]


def _own_left(turn: Turn) -> list[Waiting]:
    """Its own messages where none were due; lessons that were not read stand with them."""
    review = turn.review
    if not review.due and turn.status is not TurnStatus.COMMITTED and turn.said:
        return [Waiting(turn.turn_id, turn.said)]
    return [Waiting(turn.turn_id, 0)] if review.error and not review.has_lessons and turn.rejections else []


def _begun(services: Services, **fields: Any) -> Review:
    return Review(ReviewStatus.PENDING, moved_at=written(services.clock.now()), **fields)


def _begun_anew(services: Services, review: Review, claimed: Sequence[Waiting]) -> Review:
    done = {name: getattr(review, name) for name in ("added", "replaced", "deleted", "skipped", "has_lessons")}
    return _begun(services, claimed=claimed, due=True, tries=review.tries + 1, **done)


def _own(turn: Turn) -> list[Waiting]:
    return [Waiting(turn.turn_id, turn.said)] if turn.said else []


def _waiting(services: Services, turn: Turn) -> Unreviewed:
    return services.turns.unreviewed(turn.ids) if turn.belongs_to_session else Unreviewed()
