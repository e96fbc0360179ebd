"""The transcript of an attempt, in order (TR-1 as far as its parts exist). Executions name records by id and version;
the text at that version is joined in here, so it lives nowhere else (TR-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent_memory.domain.cursors import cursor, number
from agent_memory.domain.errors import InvalidRequest
from agent_memory.domain.records import Record, view
from agent_memory.domain.turns import Turn, rollback_event

from .enter import find_turn
from .services import Services

_LISTS = ("memories", "sources")  # of an execution's output


def transcript(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    types: Sequence[str] = (),
    limit: int = 50,
    after: str | None = None,
) -> dict[str, Any]:
    turn = find_turn(services, agent_id, turn_id)
    binding = ["transcript", agent_id, turn_id, sorted(set(types))]
    behind = _behind(after, binding)
    events = services.turns.transcript(agent_id, turn_id, after=behind, limit=limit + 1, types=types)
    if len(events) <= limit and turn.reason == "timeout" and (not types or "turn.rolled_back" in types):
        events += _timeout(turn, behind, events)
    page = events[:limit]
    more = cursor(str(page[-1]["sequence"]), binding) if len(events) > limit else None
    return {"turn_id": turn_id, "attempt": turn.attempt, "events": joined(services, agent_id, page), "next": more}


def _timeout(turn: Turn, behind: int, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The end of a turn that timed out and is not written down yet: it has the number after all others."""
    is_there = behind >= turn.sequence or any(event["sequence"] == turn.sequence for event in events)
    return [] if is_there else [{"sequence": turn.sequence, **rollback_event(turn)}]


def _behind(after: str | None, binding: Sequence[object]) -> int:
    if after is None:
        return 0
    found = number(after, binding)
    if found is None:
        raise InvalidRequest("after takes the next of this very list.", code="invalid_cursor")
    return found


def joined(services: Services, agent_id: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with the texts of the records that executions name, as far as they are still there."""
    named = {entry["id"] for event in events for entry in _entries(event)}
    records = services.records.read(services.records.locate(agent_id, named)) if named else {}
    return [_with_text(event, records) for event in events]


def _entries(event: dict[str, Any]) -> Iterable[dict[str, Any]]:
    output = event.get("output") if event["type"] == "execution" else None
    return [entry for name in _LISTS for entry in (output or {}).get(name, ())]


def _with_text(event: dict[str, Any], records: dict[str, Record]) -> dict[str, Any]:
    if event["type"] != "execution" or not event.get("output"):
        return event
    lists = {name: [_entry(e, records) for e in event["output"][name]] for name in _LISTS if name in event["output"]}
    return {**event, "output": {**event["output"], **lists}}


def _entry(entry: dict[str, Any], records: dict[str, Record]) -> dict[str, Any]:
    """The record at that version. Of one that was staged and never committed nothing is left but id and version."""
    record = records.get(entry["id"])
    at = record.at(entry["version"]) if record else None
    return {**entry, **view(at)} if at else {**entry, "erased": True}
