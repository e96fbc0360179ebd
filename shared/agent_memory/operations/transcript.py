"""The transcript of an attempt, in order (TR-1 as far as its parts exist). Executions name records by id and version;
the text at that version is joined in here, so it lives nowhere else (TR-2); that of history by `history_texts`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent_memory.domain.cursors import cursor
from agent_memory.domain.records import Record, view
from agent_memory.domain.turns import Turn, TurnStatus, rollback_event

from .enter import Entered, configuration, find_turn
from .history_texts import with_history
from .paging import behind_number
from .services import Services
from .staged import staged_view

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
    behind = behind_number(after, binding) or 0
    events = services.turns.transcript(agent_id, turn_id, after=behind, limit=limit + 1, types=types)
    if len(events) <= limit and turn.reason == "timeout" and (not types or "turn.rolled_back" in types):
        events += _timeout(turn, behind, events)
    page = events[:limit]
    more = cursor(str(page[-1]["sequence"]), binding) if len(events) > limit else None
    return {"turn_id": turn_id, "attempt": turn.attempt, "events": joined(services, turn, page), "next": more}


def _timeout(turn: Turn, behind: int, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The end of a turn that timed out and is not written down yet: it has the number after all others."""
    is_there = behind >= turn.sequence or any(event["sequence"] == turn.sequence for event in events)
    return [] if is_there else [{"sequence": turn.sequence, **rollback_event(turn)}]


def joined(services: Services, turn: Turn, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of the attempt with the texts of the records that executions name, as far as they are there:
    committed, or staged by the attempt while it is open."""
    named = [entry for event in events for entry in _entries(event)]
    located = services.records.locate(turn.agent_id, (entry["id"] for entry in named)) if named else {}
    records = services.records.read(located) if located else {}
    if turn.status is TurnStatus.OPEN and not all(_at(entry, records) for entry in named):
        entered = Entered(turn, configuration(services, turn).config, first=0)
        records = records | staged_view(services, entered).settled.after
    return with_history(services, turn, [_with_text(event, records) for event in events])


def _entries(event: dict[str, Any]) -> Iterable[dict[str, Any]]:
    output = event.get("output") if event["type"] == "execution" else None
    return [entry for name in _LISTS for entry in (output or {}).get(name, ())]


def _with_text(event: dict[str, Any], records: dict[str, Record]) -> dict[str, Any]:
    if event["type"] != "execution" or not event.get("output"):
        return event
    lists = {name: [_entry(e, records) for e in event["output"][name]] for name in _LISTS if name in event["output"]}
    return {**event, "output": {**event["output"], **lists}}


def _entry(entry: dict[str, Any], records: dict[str, Record]) -> dict[str, Any]:
    """The record at that version. Of one that is gone, and of one that was staged and came to nothing, id and version
    are left."""
    at = _at(entry, records)
    return {**entry, **view(at)} if at else {**entry, "erased": True}


def _at(entry: dict[str, Any], records: dict[str, Record]) -> Record | None:
    record = records.get(entry["id"])
    return record.at(entry["version"]) if record else None
