"""Route 11: a native tool that the model called. Every call is an execution, also one that is refused (TL-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_memory.domain.errors import NotFound, StoreUnavailable, ToolRefused
from agent_memory.domain.records import Record, view
from agent_memory.domain.times import written
from agent_memory.domain.tools import TOOLS, AddMemory, DeleteMemory, ReadMemory, SearchMemory, parse_tool_input

from .embed import Usage
from .enter import Entered, enter
from .save import add, remove
from .search import read, search
from .services import Services

_EVENTS = 3  # of one call at most: the execution, what it brought before the model, what embedding cost


@dataclass(frozen=True, slots=True)
class _Done:
    """output: for the model, text and all; shown: records that the model now has seen; usage: of the embedder."""

    output: dict[str, Any]
    records: list[Record] = field(default_factory=list)
    retrieved: bool = False
    usage: Usage | None = None
    usage_for: str = "search"


@dataclass(frozen=True, slots=True)
class _Call:
    services: Services
    entered: Entered
    conversation: str
    execution_id: str


def call_tool(
    services: Services,
    agent_id: str,
    turn_id: str,
    tool: str,
    raw_input: object,
    *,
    conversation: str = "agent",
    call_id: str | None = None,
) -> dict[str, Any]:
    """Carry out a call: `tool_execution_id`, and `output` or `error`. Raises `NotFound`, `Conflict` (turn_not_open)."""
    if tool not in TOOLS:
        raise NotFound("No such native tool.")
    started = services.clock.now()
    entered = enter(services, agent_id, turn_id, events=_EVENTS)
    call = _Call(services, entered, conversation, services.ids.new(started))
    execution = {
        "type": "execution",
        "tool_execution_id": call.execution_id,
        "tool": tool,
        "conversation": conversation,
    }
    execution |= {"call_id": call_id, "input": raw_input, "started_at": written(started)}
    try:
        done: _Done | None = _carry_out(call, tool, raw_input)
        result: dict[str, Any] = {"output": done.output if done else None}
    except ToolRefused as refused:
        done, result = None, {"error": _error(refused)}
    except StoreUnavailable:
        done, result = None, {"error": {"code": "unavailable", "message": "Nothing was changed; call it again."}}
    ended = services.clock.now()
    execution |= {"duration_ms": round((ended - started).total_seconds() * 1000), "at": written(ended)}
    _record(call, execution, done, result)
    return {"tool_execution_id": call.execution_id, **result}


def _carry_out(call: _Call, tool: str, raw_input: object) -> _Done:
    now = call.services.clock.now()
    request = parse_tool_input(tool, raw_input, call.entered.config, call.conversation, now=now)
    return _CARRY_OUT[type(request)](call, request)


def _search(call: _Call, request: SearchMemory) -> _Done:
    answer = search(call.services, call.entered, request)
    records = [record for record, _ in answer.records]
    reaches_model = bool(records) and not call.conversation.startswith("program:")
    return _Done(answer.output(), records, reaches_model, answer.usage)


def _add(call: _Call, request: AddMemory) -> _Done:
    added = add(call.services, call.entered, request, conversation=call.conversation, execution_id=call.execution_id)
    output = {"memories": [view(added.record)], "duplicate": added.duplicate}
    return _Done(output, [added.record], usage=added.usage, usage_for="commit")


def _read(call: _Call, request: ReadMemory) -> _Done:
    record = read(call.services, call.entered, request.id)
    return _Done({"sources": [view(record)]}, [record])


def _delete(call: _Call, request: DeleteMemory) -> _Done:
    record = remove(
        call.services, call.entered, request.id, conversation=call.conversation, execution_id=call.execution_id
    )
    return _Done({"memories": [view(record)]}, [record])


_CARRY_OUT: Mapping[type, Callable[[_Call, Any], _Done]] = {
    SearchMemory: _search,
    AddMemory: _add,
    ReadMemory: _read,
    DeleteMemory: _delete,
}


def _error(refused: ToolRefused) -> dict[str, Any]:
    optional = {"argument": refused.argument, "details": refused.details}
    return {"code": refused.code, "message": refused.message} | {name: v for name, v in optional.items() if v}


def _record(call: _Call, execution: dict[str, Any], done: _Done | None, result: dict[str, Any]) -> None:
    """The transcript names records by id and version; their text is joined when it is read (TR-2, LC-4)."""
    versions = [{"id": record.id, "version": record.version} for record in done.records] if done else []
    name = "sources" if execution["tool"] == "read_memory" else "memories"
    execution |= {"output": {**(done.output if done else {}), name: versions}} if done else result
    events = [execution]
    if done and done.retrieved:
        use = {"type": "output_use", "at": execution["at"], "use": "RETRIEVED", "memories": versions}
        events.append(use | {"tool_execution_id": call.execution_id, "conversation": call.conversation})
    if done and done.usage:
        events.append(done.usage.event(execution["at"], done.usage_for))
    turns = call.services.turns
    turns.write([turns.events(call.entered.turn, call.entered.first, events)])
