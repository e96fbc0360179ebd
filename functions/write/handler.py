"""What people and programs change: records saved, deleted, restored, and proposals decided on (routes 22–26)."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.records import Record, answer
from agent_memory.operations.curate import decide, discard, restore
from agent_memory.operations.insert import Inserted, insert
from agent_memory.runtime.calls import Answer, Call, etag
from agent_memory.runtime.http import handler as handler_of
from agent_memory.runtime.receipts import once
from agent_memory.runtime.requests import DecisionBody, MemoryBody, PlatformMemoryBody
from agent_memory.runtime.wiring import services


def post_memory(call: Call) -> Answer:
    body = call.body_as(MemoryBody)
    ids = {"session_id": body.session_id, "workflow_id": body.workflow_id, "user_id": body.user_id}
    return once(
        call,
        lambda also: insert(services(), call.agent, body, ids, caller=call.caller, also=also),
        lambda inserted: _inserted(inserted, f"/v1/agents/{call.agent}/memories"),
    )


def post_platform_memory(call: Call) -> Answer:
    body = call.body_as(PlatformMemoryBody)
    return once(
        call,
        lambda also: insert(services(), None, body, {}, caller=call.caller, also=also),
        lambda inserted: _inserted(inserted, "/v1/platform/memories"),
    )


def delete_memory(call: Call) -> Answer:
    agent_id = call.path.get("agent")
    return _record(discard(services(), agent_id, call.path["id"], call.expected, by=_by(call)))


def post_restore(call: Call) -> Answer:
    return once(
        call,
        lambda also: restore(services(), call.agent, call.path["id"], call.expected, by=_by(call), also=also),
        _record,
    )


def post_approval(call: Call) -> Answer:
    body = call.body_as(DecisionBody)
    by = _by(call) | ({"reason": body.reason} if body.reason else {})
    approves = body.decision == "approve"
    return once(
        call,
        lambda also: decide(services(), call.path["id"], call.expected, approve=approves, by=by, also=also),
        _record,
    )


def _by(call: Call) -> dict[str, Any]:
    return {"caller": call.caller}


def _inserted(inserted: Inserted, collection: str) -> Answer:
    shown = _record(inserted.record)
    location = {"Location": f"{collection}/{inserted.record.id}"}
    return Answer(200 if inserted.duplicate else 201, shown.body, {**shown.headers, **location})


def _record(record: Record) -> Answer:
    return Answer(200, answer(record, services().clock.now()), etag(record.version))


handler = handler_of(
    {
        "insert_memory": post_memory,
        "delete_memory": delete_memory,
        "restore_memory": post_restore,
        "insert_platform_memory": post_platform_memory,
        "delete_platform_memory": delete_memory,
        "decide_platform_memory": post_approval,
    }
)
