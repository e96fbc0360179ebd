"""Recall: what the agent knows, for the next model call (SPEC section 7).

The turn is entered; then the query is embedded while the unindexed changes of its places are read; then one search, one
read of records, and one write of what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_memory.domain.block import render
from agent_memory.domain.budget import Filled, Shown, best, fill, order
from agent_memory.domain.messages import Message
from agent_memory.domain.ranking import Ranked, best_cosine
from agent_memory.domain.recall_query import query_of
from agent_memory.domain.records import view
from agent_memory.domain.times import written

from .enter import Entered, enter
from .executions import Execution, versions_of
from .find import Found, Question, find
from .services import Services

_EVENTS = 4  # of one recall at most: the execution, what it showed, what had no room, what embedding cost


def recall(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    query: str | None = None,
    messages: Sequence[Message] = (),
    conversation: str = "agent",
    explain: bool = False,
) -> dict[str, Any]:
    """The answer of route 10, for `query` or for what `messages` ask. Raises `NotFound`, `Conflict` (turn_not_open)."""
    started = services.clock.now()
    entered = enter(services, agent_id, turn_id, events=_EVENTS)
    asked = query if query is not None else query_of(messages)
    memory = entered.config.memory
    found = find(services, entered, Question(asked, memory.search.max_results, staged=False))
    chosen = order(best(found.results, memory.search.max_results))
    filled = fill(
        [record for record, _ in chosen],
        max_tokens=memory.recall.max_tokens,
        max_item_tokens=memory.recall.max_item_tokens,
    )
    execution_id = _record(services, entered, started, conversation, asked, found, filled)
    ranked = {record.id: one for record, one in chosen}
    cosines = _cosines(services, found, filled, ranked) if explain else {}
    return {
        "recorded": execution_id is not None,
        "tool_execution_id": execution_id,
        "conversation": conversation,
        "constraints": [],
        "memories": [_item(item, ranked[item.record.id], cosines, explain) for item in filled.shown],
        "omitted": filled.omission,
        "below_min_score": found.below_min_score,
        "block": render([item.text for item in filled.shown]),
        "usage": found.usage.shown() if found.usage else None,
        **found.ranking(),
    }


def _item(item: Shown, ranked: Ranked, cosines: Mapping[str, float | None], explain: bool) -> dict[str, Any]:
    shown = {
        **view(item.record),
        "content": item.content,
        "score": ranked.score,
        "cut": item.cut,
        "tokens": item.tokens,
    }
    if not explain:
        return shown
    ranks = {"lexical": ranked.lexical_rank, "vector": ranked.vector_rank}
    return {**shown, "cosine": cosines.get(item.record.id), "ranks": ranks}


def _cosines(services: Services, found: Found, filled: Filled, ranked: Mapping[str, Ranked]) -> dict[str, float | None]:
    """Of records that only their words found the index tells no cosine: those are computed from the stored vectors."""
    known = {item.record.id: ranked[item.record.id].cosine for item in filled.shown}
    vector = found.vector
    if vector is None:
        return known
    unknown = {i.record.id: i.record.place for i in filled.shown if known[i.record.id] is None}
    vectors = services.records.vectors(unknown, services.embedder.model) if unknown else {}
    return known | {id: best_cosine(parts, vector) for id, parts in vectors.items()}


def _record(
    services: Services,
    entered: Entered,
    started: datetime,
    conversation: str,
    asked: str,
    found: Found,
    filled: Filled,
) -> str | None:
    """Write what the recall showed and what it cost; gives the execution's id, None where nothing was shown (RL-5)."""
    now = services.clock.now()
    at = written(now)
    events: list[dict[str, Any]] = []
    execution_id = services.ids.new(now) if filled.shown else None
    if execution_id:
        shown = [item.record for item in filled.shown]
        asked_for = {"query": asked, "recall": True}
        execution = Execution(execution_id, "search_memory", conversation, asked_for, started)
        events.append(execution.ended({"output": {"memories": versions_of(shown)}}, now))
        events.append(execution.retrieved(shown, now))
    if filled.omitted:
        events.append({"type": "recall.omitted", "at": at, "tool_execution_id": execution_id, **filled.omission})
    if found.usage:
        events.append(found.usage.event(at, "recall"))
    if events:
        services.turns.write(services.turns.events(entered.turn, entered.first, events))
    return execution_id
