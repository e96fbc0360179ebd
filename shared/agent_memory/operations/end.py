"""End a turn: commit it, or roll it back. The first outcome stands (TU-1, TU-2).

No review is built yet, so the call itself commits, in one transaction with the messages that came along: after a crash
the turn is open or committed, wholly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_memory.domain.errors import ConditionFailed, Conflict, StoreUnavailable
from agent_memory.domain.messages import Message
from agent_memory.domain.ports import Write
from agent_memory.domain.staging import Save, Staged
from agent_memory.domain.times import written
from agent_memory.domain.turns import MAX_MESSAGES, Turn, TurnStatus, not_open, rollback_event, rolled_back

from .enter import Entered, configuration, find_turn
from .messages import full, message_events
from .services import Services
from .staged import View, staged_view

Outcome = Literal["completed", "failed"]
_TRIES = 64  # each lost try is another writer that was faster, of this turn or of a record that it changes (TU-8): more
# than the calls that a server carries out at once, so that the slowest of them comes through


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn as it stands. by_this_call: false where an earlier call, or time, ended it."""

    turn: Turn
    by_this_call: bool


def end(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    outcome: Outcome,
    error: str | None = None,
    messages: Sequence[Message] = (),
) -> Ended:
    """End the turn and give it as it stands then. Asked again with the same outcome: the turn as it stands."""
    for _ in range(_TRIES):
        turn = find_turn(services, agent_id, turn_id)
        if turn.status is not TurnStatus.OPEN:
            return Ended(_standing(turn, outcome), by_this_call=False)
        if turn.messages + len(messages) > MAX_MESSAGES:
            raise full()
        events = message_events(services, messages)
        ended = replace(turn, sequence=turn.sequence + len(events), messages=turn.messages + len(events))
        try:
            if outcome == "completed":
                ended = _commit(services, turn, ended, events)
            else:
                ended = _roll_back(services, turn, ended, events, error)
        except ConditionFailed:
            continue
        return Ended(ended, by_this_call=True)
    raise StoreUnavailable("Others kept changing what this turn changes; send it again.")


def _standing(turn: Turn, outcome: Outcome) -> Turn:
    if turn.outcome == outcome or (turn.outcome is None and outcome == "failed"):
        return turn
    if turn.outcome is None:
        raise not_open(turn)
    raise Conflict(f"The turn was ended as {turn.outcome} before.", code="outcome_differs")


def _commit(services: Services, turn: Turn, ended: Turn, messages: list[dict[str, Any]]) -> Turn:
    """One transaction: the turn, its messages and transcript, every record it changes (at most 15 changes by tools, so
    fewer than 100 writes), on the condition that nothing of it has changed since it was read."""
    entered = Entered(turn, configuration(services, turn).config, first=turn.sequence + 1)
    view = staged_view(services, entered)
    now = services.clock.now()
    events = _commit_events(view, at=written(now))
    committed = replace(
        ended,
        status=TurnStatus.COMMITTED,
        outcome="completed",
        ended_at=written(now),
        committed_at=written(now),
        sequence=ended.sequence + len(events),
        memories=view.settled.memories(),
        conflicts=view.settled.conflicts,
    )
    turns, records = services.turns, services.records
    services.turns.transact(
        [
            turns.change(turn, committed),
            turns.closed(turn.turn_id),
            turns.nothing_staged_behind(turn, len(view.log)),
            *turns.forget_staged(turn, len(view.log)),
            *turns.messages(turn, turn.sequence + 1, messages),
            *turns.events(turn, ended.sequence + 1, events),
            *records.writes(view.settled, view.fingerprints, services.ids.new(now)),
        ]
    )
    return committed


def _commit_events(view: View, *, at: str) -> list[dict[str, Any]]:
    conflicts = [{"type": "conflict", "at": at, **conflict} for conflict in view.settled.conflicts]
    memories = [{"id": m["id"], "version": m["version"]} for m in view.settled.memories()]
    return [*conflicts, {"type": "turn.committed", "at": at, "memories": memories}]


def _roll_back(services: Services, turn: Turn, ended: Turn, messages: list[dict[str, Any]], error: str | None) -> Turn:
    at, turns = written(services.clock.now()), services.turns
    failed = replace(rolled_back(ended, "failed", at), error=error, outcome="failed")
    writes: list[Write] = [turns.change(turn, failed), turns.closed(turn.turn_id)]
    writes += turns.messages(turn, turn.sequence + 1, messages)
    turns.transact([*writes, *turns.events(turn, failed.sequence, [rollback_event(failed)])])
    forget(services, turn)
    return failed


def forget(services: Services, turn: Turn) -> None:
    """Take away what a turn that was rolled back had staged."""
    log: list[Staged] = services.turns.staged(turn.agent_id, turn.turn_id)
    saved = {change.record.id: change.record.place for change in log if isinstance(change, Save)}
    if log:
        services.turns.write(
            [
                *services.turns.forget_staged(turn, len(log)),
                *services.records.forget(turn.agent_id, saved, services.embedder.model),
            ]
        )
