"""Route 11: a native tool that the model called. Every call is an execution, also one that is refused (TL-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_memory.domain.errors import NotFound, StoreUnavailable, ToolRefused
from agent_memory.domain.json_values import keepable
from agent_memory.domain.messages import speaker
from agent_memory.domain.ports import Put, Write
from agent_memory.domain.records import Record, view
from agent_memory.domain.times import written
from agent_memory.domain.tools import (
    TOOLS,
    AddMemory,
    DeleteMemory,
    ReadMemory,
    SearchHistory,
    SearchMemory,
    parse_tool_input,
)

from .also import Also, nothing
from .embed import Usage
from .enter import Entered, enter
from .executions import Execution, versions_of
from .replays import as_seen
from .save import Added, add, remove
from .search import read, search
from .search_history import search_history
from .services import Services

_EVENTS = 3  # of one call at most: the execution, what it brought before the model, what embedding cost
_PAID_FOR = {"search_memory": "search", "search_history": "history"}


@dataclass(frozen=True, slots=True)
class _Done:
    """output: for the model, text and all. named: what stands in its place in the transcript, without text. used: what
    a search brought before the model (None: nothing). is_recorded: whether the execution was written together with its
    effect."""

    output: Mapping[str, Any]
    named: Mapping[str, Any]
    used: Mapping[str, Any] | None = None
    usage: Usage | None = None
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    services: Services
    entered: Entered
    execution: Execution
    raw_input: object
    also: Also[dict[str, Any]]

    @property
    def tool(self) -> str:
        return self.execution.tool

    @property
    def reaches_model(self) -> bool:
        return speaker(self.execution.conversation) != "program"

    @property
    def writer(self) -> dict[str, Any]:
        return self.entered.turn.writer(self.execution.conversation, self.execution.id)


def call_tool(
    services: Services,
    agent_id: str,
    turn_id: str,
    tool: str,
    raw_input: object,
    *,
    conversation: str = "agent",
    call_id: str | None = None,
    also: Also[dict[str, Any]] = nothing,
) -> dict[str, Any]:
    """Carry out a call: `tool_execution_id`, and `output` or `error`. Raises `NotFound`, `Conflict` (turn_not_open)."""
    if tool not in TOOLS:
        raise NotFound(f"There is no such tool; there are {', '.join(TOOLS)}.")
    started = services.clock.now()
    entered = enter(services, agent_id, turn_id, events=_EVENTS)
    services = as_seen(services, entered)
    execution = Execution(services.ids.new(started), tool, conversation, keepable(raw_input), started, call_id)
    call = _Call(services, entered, execution, raw_input, also)
    try:
        done = _carry_out(call)
    except ToolRefused as refused:
        return _failure(call, _error(refused))
    except StoreUnavailable:
        return _failure(call, {"code": "unavailable", "message": "The memory did not answer; call it again."})
    answer = _answer(call, done)
    if not done.is_recorded:
        _write(call, answer, *_events(call, done))
    return answer


def _carry_out(call: _Call) -> _Done:
    config, now = call.entered.config, call.services.clock.now()
    request = parse_tool_input(call.tool, call.raw_input, config, call.execution.conversation, now=now)
    return _CARRY_OUT[type(request)](call, request)


def _search(call: _Call, request: SearchMemory) -> _Done:
    answer = search(call.services, call.entered, request)
    named = {"memories": versions_of(record for record, _ in answer.records)}
    used = named if answer.records and call.reaches_model else None
    return _Done(answer.output(), named, used, answer.found.usage)


def _search_history(call: _Call, request: SearchHistory) -> _Done:
    answer = search_history(call.services, call.entered, request)
    parts = {"events": [{"id": shown.event.id, "part": shown.part} for shown in answer.events]}
    used = parts if answer.events and call.reaches_model else None
    return _Done(answer.output(), answer.named(), used, answer.usage)


def _add(call: _Call, request: AddMemory) -> _Done:
    added = add(call.services, call.entered, request, by=call.writer, also=lambda new: _with_effect(call, _added(new)))
    return replace(_added(added), is_recorded=not added.duplicate)


def _added(added: Added) -> _Done:
    output = {"memories": [view(added.record)], "duplicate": added.duplicate}
    return _Done(output, {"memories": versions_of([added.record])}, usage=added.usage)


def _read(call: _Call, request: ReadMemory) -> _Done:
    record = read(call.services, call.entered, request.id)
    return _Done({"sources": [view(record)]}, {"sources": versions_of([record])})


def _delete(call: _Call, request: DeleteMemory) -> _Done:
    removed = remove(
        call.services,
        call.entered,
        request.id,
        by=call.writer,
        also=lambda gone: _with_effect(call, _removed(gone)),
    )
    return replace(_removed(removed.record), is_recorded=removed.is_new)


def _removed(record: Record) -> _Done:
    return _Done({"memories": [view(record)]}, {"memories": versions_of([record])})


_CARRY_OUT: Mapping[type, Callable[[_Call, Any], _Done]] = {
    SearchMemory: _search,
    AddMemory: _add,
    ReadMemory: _read,
    DeleteMemory: _delete,
    SearchHistory: _search_history,
}


def _error(refused: ToolRefused) -> dict[str, Any]:
    optional = {"argument": refused.argument, "details": refused.details}
    return {"code": refused.code, "message": refused.message} | {name: v for name, v in optional.items() if v}


# -- the transcript


def _events(call: _Call, done: _Done) -> list[dict[str, Any]]:
    now = call.services.clock.now()
    events = [call.execution.ended({"output": {**done.output, **done.named}}, now)]
    if done.used:
        events.append(call.execution.used(done.used, now))
    if done.usage:
        events.append(done.usage.event(written(now), _PAID_FOR.get(call.tool, "commit")))
    return events


def _failure(call: _Call, error: Mapping[str, Any]) -> dict[str, Any]:
    """Written down, and answered."""
    result = {"error": error}
    answer = {"tool_execution_id": call.execution.id, **result}
    _write(call, answer, call.execution.ended(result, call.services.clock.now()))
    return answer


def _answer(call: _Call, done: _Done) -> dict[str, Any]:
    return {"tool_execution_id": call.execution.id, "output": done.output}


def _with_effect(call: _Call, done: _Done) -> list[Write]:
    """What goes into the transaction of what the call changes."""
    return [*_puts(call, *_events(call, done)), *call.also(_answer(call, done))]


def _puts(call: _Call, *events: dict[str, Any]) -> list[Put]:
    return call.services.turns.events(call.entered.turn, call.entered.first, events)


def _write(call: _Call, answer: dict[str, Any], *events: dict[str, Any]) -> None:
    """Of a call that changes nothing: its events, and what its caller adds."""
    puts, more = _puts(call, *events), call.also(answer)
    if more:
        call.services.turns.transact([*puts, *more])
    else:
        call.services.turns.write(puts)
