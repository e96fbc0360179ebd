"""A turn as the API shows it."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.turns import Turn, TurnStatus, answer

from .begin import Begun
from .enter import Entered, configuration
from .services import Services
from .staged import staged_view


def begun_answer(begun: Begun) -> dict[str, Any]:
    """The turn that was begun just now: it has staged nothing, so nothing is read."""
    return {**answer(begun.turn, ()), "still_ending": list(begun.still_ending)}


def ended_answer(turn: Turn) -> dict[str, Any]:
    """A turn that its caller has ended; of one that is ending, `memories` as they were staged then."""
    return answer(turn, turn.memories)


def turn_answer(services: Services, turn: Turn) -> dict[str, Any]:
    """The turn as the API shows it; of one that is not committed yet, `memories` as they would be if it were now."""
    if turn.status not in (TurnStatus.OPEN, TurnStatus.ENDING):
        return answer(turn, turn.memories)
    view = staged_view(services, Entered(turn, configuration(services, turn).config, first=0))
    return answer(turn, view.settled.memories())
