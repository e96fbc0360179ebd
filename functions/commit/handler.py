"""The commit of a turn whose review is done or has failed, as the state machine `TurnEnd` asks for it.

Takes ids, and `review_failed` where the review came to nothing; gives ids, and `look_again` where the review has
another step to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.operations.commit import commit
from agent_memory.operations.review import UNAVAILABLE
from agent_memory.runtime.turn_ends import step, tell
from agent_memory.runtime.wiring import services


def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    error = UNAVAILABLE if event.get("review_failed") else None
    done = commit(services(), event["agent_id"], event["turn_id"], error=error)
    tell(services(), done)
    return {"agent_id": done.turn.agent_id, "turn_id": done.turn.turn_id, "look_again": done.look_again}


handler = step(handle)
