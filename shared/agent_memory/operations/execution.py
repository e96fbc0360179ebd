"""One execution, found by its id (route 16)."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.errors import NotFound

from .enter import find_turn
from .services import Services
from .transcript import joined


def read_execution(services: Services, agent_id: str, id: str) -> dict[str, Any]:
    """The event as the transcript has it, the text of records joined, with the turn and the attempt that it stands in
    and what became of its output. Raises `NotFound`."""
    called = services.calls.find(agent_id, id)
    events = services.turns.events_of_call(agent_id, called.turn_id, called.first) if called else []
    own = [event for event in events if event.get("tool_execution_id") == id]
    execution = next((event for event in own if event["type"] == "execution"), None)
    if called is None or execution is None:
        raise NotFound("No such execution of this agent.")
    (shown,) = joined(services, find_turn(services, agent_id, called.turn_id), [execution])
    uses = [event for event in own if event["type"] == "output_use"]
    return {**shown, "turn_id": called.turn_id, "attempt": called.attempt, "output_uses": uses}
