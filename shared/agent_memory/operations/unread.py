"""What a review reads next of the messages that its turn has claimed (EX-2, EX-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_memory.domain.reviewing.messages import messages_shown, windows
from agent_memory.domain.turns import ReviewStatus, Turn, Waiting

from .services import Services


@dataclass(frozen=True, slots=True)
class Reading:
    """window: messages, none where there is nothing to show. rest: what is to be read after them. about: the users of
    the turns that they are of."""

    window: Sequence[dict[str, Any]]
    rest: Sequence[Waiting]
    about: Sequence[str]


@dataclass(frozen=True, slots=True)
class Lesson:
    feedback: str
    about: Sequence[str]


def read_next(services: Services, turn: Turn) -> Reading:
    """One window: as many whole turns as fit into it, in order; of a turn that is too long for one, its next part."""
    window: list[dict[str, Any]] = []
    rest, read = list(turn.review.claimed), list[str]()
    while rest:
        first = rest[0]
        parts = windows(messages_shown(services.turns.messages_of(turn.agent_id, first.turn_id)))[first.windows :]
        if window and parts and (len(parts) > 1 or len(windows([*window, *parts[0]])) > 1):
            break
        read.append(first.turn_id)
        if len(parts) > 1:
            window, rest[0] = parts[0], first._replace(windows=first.windows + 1)
            break
        window += parts[0] if parts else []
        rest.pop(0)
    return Reading(window, rest, _users(services, turn, read))


def lessons(services: Services, turn: Turn) -> list[Lesson]:
    """Rejections of the turn, oldest first, and of earlier turns whose own review failed before it read them."""
    others = [one.turn_id for one in turn.review.claimed if one.turn_id != turn.turn_id and not one.learned]
    found = services.turns.several(turn.agent_id, others) if others else {}
    owed = [found[id] for id in others if id in found and _owes_lessons(found[id])]
    return [
        Lesson(judgement["feedback"], one.about)
        for one in [*owed, turn]
        if one.rejections
        for judgement in services.turns.judgements(one)
        if judgement["verdict"] == "rejected"
    ]


def _owes_lessons(turn: Turn) -> bool:
    return turn.rejections > 0 and turn.review.status is ReviewStatus.FAILED and not turn.review.has_lessons


def _users(services: Services, turn: Turn, read: Sequence[str]) -> list[str]:
    others = [id for id in read if id != turn.turn_id]
    found = services.turns.several(turn.agent_id, others) if others else {}
    users = [user for one in [*found.values(), turn] for user in one.about]
    return list(dict.fromkeys(users))
