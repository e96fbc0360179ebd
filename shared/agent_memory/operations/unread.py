"""What a review reads next of the messages and rejections that its turn has claimed (EX-2, EX-4).

Turns of a session may be for different users and workflows. What was said in one of them is read apart from the others,
for those alone whom both turns are for: nobody's words become another's memory (SC-2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_memory.domain.budget import CHARACTERS_A_TOKEN
from agent_memory.domain.reviewing.messages import MAX_WINDOW_TOKENS, messages_shown, windows
from agent_memory.domain.scopes import TurnIds
from agent_memory.domain.turns import ReviewStatus, Turn, Waiting

from .services import Services

AT_ONCE = 4  # turns that are read at a time: most say little
_WINDOW = MAX_WINDOW_TOKENS * CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True)
class Reading:
    """window: messages, none where there is nothing to show. rest: what is to be read after them. turns: those that are
    read in this window and were not before. ids: whom they all are for. about: their users, and the review's own."""

    window: Sequence[dict[str, Any]]
    rest: Sequence[Waiting]
    turns: Sequence[Turn]
    ids: TurnIds
    about: Sequence[str]


@dataclass(frozen=True, slots=True)
class Lesson:
    feedback: str
    about: Sequence[str]


def read_next(services: Services, turn: Turn) -> Reading:
    """One window: as many whole turns as fit into it, in order; of a turn that is too long for one, its next part."""
    window: list[dict[str, Any]] = []
    rest, begun, read = list(turn.review.claimed), list[Turn](), list[Turn]()
    ids = turn.ids
    for waiting, other, parts in _parts(services, turn):
        shared = turn.ids.shared_with(other.ids)
        if read and shared != ids:
            break
        if window and parts and (len(parts) > 1 or len(windows([*window, *parts[0]])) > 1):
            break
        ids = shared
        read.append(other)
        begun += [other] if not waiting.learned else []
        if len(parts) > 1:
            window, rest[0] = parts[0], waiting._replace(windows=waiting.windows + 1, learned=True)
            break
        window += parts[0] if parts else []
        rest.pop(0)
    users = [user for one in [*read, turn] for user in one.about]
    return Reading(window, rest, begun, ids, list(dict.fromkeys(users)))


def owes_lessons(turn: Turn) -> bool:
    """Whether the turn's own rejections are to be read yet by its review."""
    return turn.rejections > 0 and not turn.review.has_lessons


def lessons(services: Services, turn: Turn, reading: Reading) -> list[Lesson]:
    """Rejections, oldest first: of the turns that are read now and whose own review failed before it read them, and of
    the turn itself where nothing but its own is read."""
    others = [one for one in reading.turns if one.turn_id != turn.turn_id and _has_failed(one)]
    own = [turn] if reading.ids == turn.ids and owes_lessons(turn) else []
    return [
        Lesson(judgement["feedback"], one.about)
        for one in [*others, *own]
        for judgement in services.turns.judgements(one)
        if judgement["verdict"] == "rejected"
    ]


def _parts(services: Services, turn: Turn) -> Iterator[tuple[Waiting, Turn, list[list[dict[str, Any]]]]]:
    """Of each claimed turn in order, what is not read yet, in windows: the next of these, and whether there are more.
    A few turns are read at a time; one that is gone has nothing to say any more."""
    claimed = turn.review.claimed
    for start in range(0, len(claimed), AT_ONCE):
        several = claimed[start : start + AT_ONCE]
        calls = [partial(_shown, services, turn.agent_id, one) for one in several]
        known, *shown = services.together(partial(_turns, services, turn, several), *calls)
        for one, messages in zip(several, shown, strict=True):
            yield one, known.get(one.turn_id, turn), windows(messages)[one.windows :]


def _shown(services: Services, agent_id: str, waiting: Waiting) -> list[dict[str, Any]]:
    """As far as the next window goes, and one further: there what came of the calls in it is told."""
    messages = services.turns.each_message(agent_id, waiting.turn_id)
    return messages_shown(messages, most=(waiting.windows + 2) * _WINDOW)


def _turns(services: Services, turn: Turn, several: Sequence[Waiting]) -> dict[str, Turn]:
    others = [one.turn_id for one in several if one.turn_id != turn.turn_id]
    found = services.turns.several(turn.agent_id, others) if others else {}
    return {**found, turn.turn_id: turn}


def _has_failed(turn: Turn) -> bool:
    return owes_lessons(turn) and turn.review.status is ReviewStatus.FAILED
