"""The native tools that the model called (route 11)."""

from __future__ import annotations

from functools import partial

from agent_memory.operations.tools import call_tool
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.receipts import once
from agent_memory.runtime.requests import ToolBody
from agent_memory.runtime.wiring import services


def post_tool(call: Call) -> Answer:
    body = call.body_as(ToolBody)
    where = call.agent, call.turn, call.path["tool"]
    calls = partial(call_tool, services(), *where, body.input, conversation=body.conversation, call_id=body.call_id)
    return once(call, calls, lambda answer: Answer(200, answer))


handler = handler_of({"call_tool": post_tool})
