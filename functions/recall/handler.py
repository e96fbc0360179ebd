"""What the agent knows, for the next model call (route 10)."""

from __future__ import annotations

from agent_memory.operations.recall import recall
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import RecallBody
from agent_memory.runtime.wiring import services


def post_recall(call: Call) -> Answer:
    body = call.body_as(RecallBody)
    recalled = recall(
        services(),
        call.agent,
        call.turn,
        query=body.query,
        messages=body.messages or (),
        conversation=body.conversation,
        explain=body.explain,
    )
    return Answer(200, recalled)


handler = handler_of({"recall": post_recall})
