"""What a review reads next of the messages that its turn has claimed (EX-2, EX-4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_memory.domain.budget import CHARACTERS_A_TOKEN
from agent_memory.domain.reviewing.messages import MAX_WINDOW_TOKENS, messages_shown, windows
from agent_memory.domain.turns import ReviewStatus, Turn, Waiting

from .services import Services

AT_ONCE = 4  # turns that are read at a time: most say little
_WINDOW = MAX_WINDOW_TOKENS * CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True)
class Reading:
    """window: messages, none where there is nothing to show. rest: what is to be read after them. about: the users of
    the turns that they are of. turns: those turns, but the review's own."""

    window: Sequence[dict[str, Any]]
    rest: Sequence[Waiting]
    about: Sequence[str]
    turns: Mapping[str, Turn]


@dataclass(frozen=True, slots=True)
class Lesson:
    feedback: str
    about: Sequence[str]


def read_next(services: Services, turn: Turn) -> Reading:
    """One window: as many whole turns as fit into it, in order; of a turn that is too long for one, its next part."""
    window: list[dict[str, Any]] = []
    rest, read = list(turn.review.claimed), list[str]()
    for first, parts in _parts(services, turn):
        if window and parts and (len(parts) > 1 or len(windows([*window, *parts[0]])) > 1):
            break
        read.append(first.turn_id)
        if len(parts) > 1:
            window, rest[0] = parts[0], first._replace(windows=first.windows + 1)
            break
        window += parts[0] if parts else []
        rest.pop(0)
    others = _others(services, turn, read)
    users = [user for one in [*others.values(), turn] for user in one.about]
    return Reading(window, rest, list(dict.fromkeys(users)), others)


def lessons(services: Services, turn: Turn, known: Mapping[str, Turn] | None = None) -> list[Lesson]:
    """Rejections of the turn, oldest first, and of earlier turns whose own review failed before it read them. known:
    turns that were read already."""
    known = known or {}
    others = [one.turn_id for one in turn.review.claimed if one.turn_id != turn.turn_id and not one.learned]
    found = {**known, **_others(services, turn, [id for id in others if id not in known])}
    owed = [found[id] for id in others if id in found and _owes_lessons(found[id])]
    return [
        Lesson(judgement["feedback"], one.about)
        for one in [*owed, turn]
        if one.rejections
        for judgement in services.turns.judgements(one)
        if judgement["verdict"] == "rejected"
    ]


def _parts(services: Services, turn: Turn) -> Iterator[tuple[Waiting, list[list[dict[str, Any]]]]]:
    """Of each claimed turn in order, what is not read yet, in windows: the next of these, and whether there are more.
    A few turns are read at a time."""
    claimed = turn.review.claimed
    for start in range(0, len(claimed), AT_ONCE):
        several = claimed[start : start + AT_ONCE]
        calls = [lambda one=one: _shown(services, turn.agent_id, one) for one in several]
        for one, shown in zip(several, services.together(*calls), strict=True):
            yield one, windows(shown)[one.windows :]


def _shown(services: Services, agent_id: str, waiting: Waiting) -> list[dict[str, Any]]:
    """As far as the next window goes, and one further: there what came of the calls in it is told."""
    messages = services.turns.each_message(agent_id, waiting.turn_id)
    return messages_shown(messages, most=(waiting.windows + 2) * _WINDOW)


def _others(services: Services, turn: Turn, ids: Sequence[str]) -> dict[str, Turn]:
    others = [id for id in ids if id != turn.turn_id]
    return services.turns.several(turn.agent_id, others) if others else {}


def _owes_lessons(turn: Turn) -> bool:
    return turn.rejections > 0 and turn.review.status is ReviewStatus.FAILED and not turn.review.has_lessons
