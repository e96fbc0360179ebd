"""The native tools that the model called (route 11)."""

from __future__ import annotations

from agent_memory.operations.tools import call_tool
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.requests import ToolBody
from agent_memory.runtime.wiring import services


def post_tool(call: Call) -> Answer:
    body = call.body_as(ToolBody)
    called = call_tool(
        services(),
        call.agent,
        call.turn,
        call.path["tool"],
        body.input,
        conversation=body.conversation,
        call_id=body.call_id,
    )
    return Answer(200, called)


handler = handler_of({"call_tool": post_tool})
