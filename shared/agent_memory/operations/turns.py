"""A turn as the API shows it."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.turns import Turn, TurnStatus, answer

from .enter import Entered, configuration
from .services import Services
from .staged import staged_view


def begun_answer(turn: Turn) -> dict[str, Any]:
    """The turn that was begun just now: it has staged nothing, so nothing is read. An end commits before it answers as
    long as there is no review: no turn is left ending."""
    return {**answer(turn, ()), "still_ending": []}


def turn_answer(services: Services, turn: Turn) -> dict[str, Any]:
    """The turn as the API shows it; of an open one, `memories` as they would be if it committed now."""
    if turn.status is not TurnStatus.OPEN:
        return answer(turn, turn.memories)
    view = staged_view(services, Entered(turn, configuration(services, turn).config, first=0))
    return answer(turn, view.settled.memories())
