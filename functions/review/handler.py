"""One step of a turn's review, as the state machine `TurnEnd` asks for it: ids in, ids out.

What does not answer raises, and the state machine tries again; after the last try it commits without the review.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.operations.review import review
from agent_memory.runtime.turn_ends import step
from agent_memory.runtime.wiring import services


def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    turn = review(services(), event["agent_id"], event["turn_id"])
    return {"agent_id": turn.agent_id, "turn_id": turn.turn_id}


handler = step(handle)
