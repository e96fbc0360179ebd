"""Recall: what the agent knows, for the next model call (SPEC section 7).

The turn is entered; then the query is embedded while the boards and the unindexed changes of its places are read; then
one search beside the records of the boards, one read of records, and one write of what was shown. A memory_key among
the records found takes one read more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain import words
from agent_memory.domain.block import render
from agent_memory.domain.budget import Filled, Shown, best, fill, order
from agent_memory.domain.messages import Message
from agent_memory.domain.pins import PinList, line, pin_list
from agent_memory.domain.ports import Write
from agent_memory.domain.ranking import Ranked
from agent_memory.domain.recall_query import query_of
from agent_memory.domain.records import Record, view
from agent_memory.domain.times import written
from agent_memory.store.turns import Seen

from .also import Also, nothing
from .embed import Asked
from .enter import Entered, enter
from .executions import Execution, versions_of
from .find import Question, TurnFinding, asked_for, read_ahead
from .finding import Found, cosines_of, explained, unranked
from .replays import as_seen
from .rivals import Rivals
from .services import Services

_EVENTS = 5  # of one recall at most: the execution, what it showed, the pins, what had no room, what embedding cost
_NOBODY = Asked(None, None)


def recall(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    query: str | None = None,
    messages: Sequence[Message] = (),
    conversation: str = "agent",
    explain: bool = False,
    also: Also[dict[str, Any]] = nothing,
) -> dict[str, Any]:
    """The answer of route 10, for `query` or for what `messages` ask. Raises `NotFound`, `Conflict` (turn_not_open)."""
    started = services.clock.now()
    entered = enter(services, agent_id, turn_id, events=_EVENTS)
    services = as_seen(services, entered)
    text = query if query is not None else query_of(messages)
    recalled = _recalled(services, entered, text, conversation)
    recording = _Recording(services, entered, recalled, _execution(services, conversation, text, started))
    answer = _answer(services, recalled, recording, explain=explain)
    recording.write(also(answer))
    return answer


def _execution(services: Services, conversation: str, text: str, started: datetime) -> Execution:
    id = services.ids.new(services.clock.now())
    return Execution(id, "search_memory", conversation, {"query": text, "recall": True}, started)


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What the recall shows. seen: the versions that its conversation was shown before."""

    found: Found
    filled: Filled
    ranked: Mapping[str, Ranked]
    pins: PinList
    overridden: list[dict[str, object]]
    seen: Seen


def _recalled(services: Services, entered: Entered, text: str, conversation: str) -> _Recalled:
    memory, is_blank = entered.config.memory, words.is_blank(text)
    if not memory.enabled:
        nothing_recalled = fill([], max_tokens=0, max_item_tokens=memory.recall.max_item_tokens)
        return _Recalled(Found([]), nothing_recalled, {}, pin_list([], 0), [], Seen())
    asked, ahead, seen = services.together(
        lambda: _NOBODY if is_blank else asked_for(services, memory.search, text),
        lambda: read_ahead(services, entered),
        lambda: services.turns.seen(entered.turn, conversation),
    )
    rivals = Rivals(services, entered, ahead.view, services.clock.now())
    if is_blank:
        rivals.read_boards(ahead.boards)
        found = unranked(services)
    else:
        question = Question(text, memory.search.max_results)
        found = TurnFinding(services, entered, question, asked, ahead, rivals).found()
    chosen = order(best(found.results, memory.search.max_results))
    filled = fill(
        [record for record, _ in chosen],
        constraints=rivals.constraints,
        max_tokens=memory.recall.max_tokens,
        max_item_tokens=memory.recall.max_item_tokens,
    )
    pins = pin_list(rivals.pinned, memory.pinned.max_tokens) if memory.pinned else pin_list([], 0)
    ranked = {record.id: one for record, one in chosen}
    return _Recalled(found, filled, ranked, pins, rivals.overridden(), seen)


# ---------------------------------------------------------------- the answer


def _answer(services: Services, recalled: _Recalled, recording: _Recording, *, explain: bool) -> dict[str, Any]:
    found, filled, pins = recalled.found, recalled.filled, recalled.pins
    shown = [(item.record, recalled.ranked.get(item.record.id)) for item in filled.items]
    cosines = cosines_of(services, found, shown) if explain else {}
    items = {item.record.id: _item(item, recalled, cosines, explain=explain) for item in filled.items}
    return {
        "recorded": recording.is_due,
        "tool_execution_id": recording.execution_id,
        "conversation": recording.execution.conversation,
        "constraints": [items[item.record.id] for item in filled.constraints],
        "memories": [items[item.record.id] for item in filled.shown],
        "overridden": recalled.overridden,
        "omitted": filled.omission,
        "below_min_score": found.below_min_score,
        "block": render([item.text for item in filled.items]),
        "instructions": pins.instructions,
        "pinned": [{"id": r.id, "version": r.version, "line": line(r)} for r in pins.listed],
        "pinned_tokens": pins.tokens,
        "pinned_omitted": pins.omitted_ids,
        "usage": found.usage.shown() if found.usage else None,
        **found.ranking(),
    }


def _item(item: Shown, recalled: _Recalled, cosines: Mapping[str, float | None], *, explain: bool) -> dict[str, Any]:
    record = item.record
    ranked = recalled.ranked.get(record.id)
    shown = {
        **view(record),
        "content": item.content,
        "score": ranked.score if ranked else None,
        "seen": recalled.seen.has(record),
        "cut": item.cut,
        "tokens": item.tokens,
    }
    return {**shown, **explained(ranked, cosines.get(record.id))} if explain else shown


# ---------------------------------------------------------------- the record of it


@dataclass(frozen=True, slots=True)
class _Recording:
    """What is written of a recall: what it showed, unless that is nothing, or nothing that its conversation had not
    seen (RL-5); the pin list where it differs from the last; what had no room; what embedding cost."""

    services: Services
    entered: Entered
    recalled: _Recalled
    execution: Execution

    @property
    def is_due(self) -> bool:
        return not all(self.recalled.seen.has(record) for record in self._shown)

    @property
    def execution_id(self) -> str | None:
        return self.execution.id if self.is_due else None

    @property
    def _shown(self) -> list[Record]:
        return [item.record for item in self.recalled.filled.items]

    def write(self, more: Sequence[Write]) -> None:
        """more: what the caller has kept along with it, in one transaction then."""
        turns, turn, seen = self.services.turns, self.entered.turn, self.recalled.seen
        now = self.services.clock.now()
        writes: list[Any] = []
        if events := self._events(now):
            writes += turns.events(turn, self.entered.first, events)
        if self.is_due:
            writes += turns.saw(turn, self.execution.conversation, seen, self._shown)
        if self._pins_changed:
            writes += turns.pins_shown(turn, self._pins)
        if more:
            turns.transact([*writes, *more])
        elif writes:
            turns.write(writes)

    def _events(self, now: datetime) -> list[dict[str, Any]]:
        at, filled, found = written(now), self.recalled.filled, self.recalled.found
        events: list[dict[str, Any]] = []
        if self._pins_changed:
            pins = self.recalled.pins
            told = {"records": self._pins, "omitted": pins.omitted_ids, "tokens": pins.tokens}
            events.append({"type": "memory.pinned", "at": at, **told})
        if self.is_due:
            events.append(self.execution.ended({"output": {"memories": versions_of(self._shown)}}, now))
            events.append(self.execution.retrieved(self._shown, now))
        if filled.omitted:
            omitted = {"tool_execution_id": self.execution_id, **filled.omission}
            events.append({"type": "recall.omitted", "at": at, **omitted})
        if found.usage:
            events.append(found.usage.event(at, "recall"))
        return events

    @property
    def _pins(self) -> list[dict[str, Any]]:
        return versions_of(self.recalled.pins.listed)

    @property
    def _pins_changed(self) -> bool:
        """The first list of an attempt counts where it is not empty, a later one where it differs from the last."""
        return self._pins != list(self.recalled.seen.pins)
