"""What the agent knows, for the next model call (route 10)."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent_memory.operations.also import Also
from agent_memory.operations.recall import recall
from agent_memory.runtime import metrics
from agent_memory.runtime.calls import Answer, Call
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.receipts import once
from agent_memory.runtime.requests import RecallBody
from agent_memory.runtime.wiring import services


def post_recall(call: Call) -> Answer:
    return once(call, partial(_recall, call), lambda recalled: Answer(200, recalled))


def _recall(call: Call, *, also: Also[dict[str, Any]]) -> dict[str, Any]:
    body = call.body_as(RecallBody)
    recalled = recall(
        services(),
        call.agent,
        call.turn,
        query=body.query,
        messages=body.messages or (),
        conversation=body.conversation,
        explain=body.explain,
        also=also,
    )
    metrics.write(_counted(recalled))
    return recalled


def _counted(recalled: dict[str, Any]) -> dict[metrics.Metric, int]:
    reason = recalled["degraded_reason"]
    if reason is None:
        return {metrics.RECALLS: 1}
    degraded = {metrics.RECALLS: 1, metrics.DEGRADED: 1, metrics.DEGRADED_BY[reason]: 1}
    return degraded | ({metrics.EMBEDDER_UNAVAILABLE: 1} if reason == "embedder_down" else {})


handler = handler_of({"recall": post_recall})
