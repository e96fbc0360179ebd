"""The native tools that are built, and the check of a call before it is carried out (TL-5, TL-6).

Knows who may call what, and which arguments an agent's configuration allows. Leaves to the operations what takes the
store to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import ValidationError

from .configuration import AgentConfig
from .errors import ToolRefused
from .faults import path_of, tool_faults_of
from .messages import Speaker, speaker
from .precedence import PLATFORM_KINDS
from .scopes import Scope
from .tool_inputs import AddMemory, AnyInput, DeleteMemory, ReadMemory, SearchHistory, SearchMemory, ToolInput
from .words import is_blank

__all__ = ["TOOLS", "AddMemory", "DeleteMemory", "ReadMemory", "SearchHistory", "SearchMemory"]
__all__ += ["offered_tools", "parse_tool_input"]

TOOLS: dict[str, type[ToolInput]] = {
    "search_memory": SearchMemory,
    "add_memory": AddMemory,
    "read_memory": ReadMemory,
    "delete_memory": DeleteMemory,
    "search_history": SearchHistory,
}
"""In the order in which they are offered. What is not here is unknown: 404."""

_TOLD = 5  # faults in the sentence that the model reads; all of them stand in the details
_WRITING = frozenset({"add_memory", "delete_memory"})


def offered_tools(config: AgentConfig, audience: Speaker = "agent") -> list[str]:
    """The built tools that the configuration offers, without those that the audience may not call."""
    return [name for name in TOOLS if name in config.offered and not (name in _WRITING and audience != "agent")]


def savable_scopes(config: AgentConfig) -> list[Scope]:
    """What `scope` may be, narrow to broad: the first is the default."""
    return config.writable


def savable_kinds(config: AgentConfig, scope: str | None) -> Sequence[str]:
    """What `kind` may be in that scope, None being the default one: platform memory knows kinds of its own (SC-6)."""
    into = scope or next(iter(savable_scopes(config)), None)
    return PLATFORM_KINDS if into == Scope.PLATFORM else config.kinds


def parse_tool_input(
    tool: str, raw: object, config: AgentConfig, conversation: str, *, now: datetime | None = None
) -> AnyInput:
    """The checked input of a call of one of `TOOLS`; with `now`, `expires_at` must lie after it.

    Raises `ToolRefused`: not_offered, read_only, invalid_input (every fault in `details.faults`), kind_not_declared,
    label_not_declared, scope_not_allowed, pin_not_configured, looked for in this order. No message repeats what was
    sent."""
    _check_caller(tool, config, speaker(conversation))
    call = _checked(TOOLS[tool], {} if raw is None else raw, now)
    for refusal in undeclared(call, config):
        raise refusal
    return call


def _check_caller(tool: str, config: AgentConfig, audience: Speaker) -> None:
    offered = offered_tools(config, audience)
    said = f"offered are {', '.join(offered)}" if offered else "no tool of the memory is offered"
    if tool not in config.offered:
        raise ToolRefused("not_offered", f"This agent's configuration does not offer this tool: {said}.")
    if tool not in offered:
        raise ToolRefused("read_only", f"Only the agent itself changes memory, not its helpers and programs: {said}.")


def _checked(model: type[ToolInput], raw: object, now: datetime | None) -> AnyInput:
    try:
        call: AnyInput = model.model_validate(raw, context={"now": now})  # type: ignore[assignment]
    except ValidationError as error:
        faults = tool_faults_of(error, model)
        told = "; ".join(f"{fault['argument']} takes {fault['takes']}" for fault in faults[:_TOLD])
        raise ToolRefused("invalid_input", f"{told}.", faults[0]["argument"], {"faults": faults}) from error
    return call


def undeclared(call: AnyInput, config: AgentConfig) -> Iterator[ToolRefused]:
    """What the configuration does not allow, first things first; and a search for nothing."""
    if isinstance(call, SearchHistory) and not call.ids and is_blank(call.query or ""):
        yield ToolRefused("query_required", "query takes what to look for, or ids the events to read.", "query")
    if isinstance(call, AddMemory) and call.kind not in (kinds := savable_kinds(config, call.scope)):
        yield ToolRefused("kind_not_declared", f"kind takes one of {', '.join(kinds)} here.", "kind")
    if isinstance(call, AddMemory | SearchMemory):
        declared = ", ".join(config.memory.labels)
        takes = f"labels takes the declared names {declared}" if declared else "this agent declares no labels"
        for name in call.labels or {}:
            if name not in config.memory.labels:
                yield ToolRefused("label_not_declared", f"An undeclared label: {takes}.", path_of(("labels", name)))
    if isinstance(call, AddMemory):
        yield from _scope_not_allowed(call, savable_scopes(config))
        if call.pinned and config.memory.pinned is None:
            yield ToolRefused("pin_not_configured", "This agent pins nothing: leave pinned out.", "pinned")


def _scope_not_allowed(call: AddMemory, allowed: list[Scope]) -> Iterator[ToolRefused]:
    if not allowed:
        yield ToolRefused("scope_not_allowed", "This agent saves nothing: its configuration writes no scope.", "scope")
    elif call.scope is not None and call.scope not in allowed:
        yield ToolRefused("scope_not_allowed", f"scope takes {' or '.join(allowed)} here.", "scope")
