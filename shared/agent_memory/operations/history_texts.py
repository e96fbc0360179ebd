"""Joins the text of history events into executions that name them, as a transcript is read (TR-2).

Whoever reads a transcript reads history to the event that a search showed, whatever the search's turn may see today.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_memory.domain.history import HistoryPlace, KeptTurn
from agent_memory.domain.turns import Turn

from .past import Shown, events_at
from .services import Services

Event = Mapping[str, Any]


def with_history(services: Services, turn: Turn, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """turn: whose executions these are."""
    named = [entry for event in events for entry in _named(event)]
    if not named or turn.session_id is None:
        return list(events)
    texts = _texts(services, HistoryPlace.both(turn.agent_id, turn.session_id), named)
    return [_joined(event, texts) if _named(event) else event for event in events]


def _named(event: Event) -> Sequence[Event]:
    output = event.get("output") if event["type"] == "execution" else None
    entries: Sequence[Event] = (output or {}).get("events", ())
    return entries


def _joined(event: dict[str, Any], texts: Mapping[tuple[str, int, int], str]) -> dict[str, Any]:
    entries = []
    for entry in _named(event):
        text = texts.get(_key(entry))
        entries.append({**entry, "text": text} if text is not None else {**entry, "erased": True})
    return {**event, "output": {**event["output"], "events": entries}}


def _texts(
    services: Services, places: Iterable[HistoryPlace], named: Iterable[Event]
) -> dict[tuple[str, int, int], str]:
    by_turn: defaultdict[int, list[Event]] = defaultdict(list)
    for entry in named:
        by_turn[entry["turn"]].append(entry)
    turns = [kept for place in places for kept in services.history.several(place, by_turn).values()]
    return {_key(entry): text for kept in turns for entry, text in _of_turn(services, kept, by_turn[kept.number])}


def _of_turn(services: Services, kept: KeptTurn, entries: Sequence[Event]) -> Iterable[tuple[Event, str]]:
    events = events_at(services, kept, {entry["sequence"] for entry in entries})
    for entry in entries:
        event = events.get(entry["sequence"])
        if event and event.id == entry["id"] and entry["part"] <= len(event.parts):
            yield entry, Shown(kept, event, entry["part"], entry["parts"]).text


def _key(entry: Event) -> tuple[str, int, int]:
    return entry["id"], entry["part"], entry["parts"]
