"""Waiting for a turn's end, as long as a caller asks for (TU-2)."""

from __future__ import annotations

from time import monotonic, sleep

from agent_memory.domain.turns import Turn
from agent_memory.operations.enter import find_turn
from agent_memory.operations.services import Services

_FIRST_S, _LONGEST_S = 0.02, 0.5  # between two looks, each a read of one item: a turn that takes long is asked less


def settled(services: Services, turn: Turn, wait_s: float) -> Turn:
    """The turn as it stands once nothing of it goes on any more, or after so many seconds."""
    end, pause_s = monotonic() + wait_s, _FIRST_S
    while turn.is_settling and (left_s := end - monotonic()) > 0:
        sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_S)
        turn = find_turn(services, turn.agent_id, turn.turn_id)
    return turn
