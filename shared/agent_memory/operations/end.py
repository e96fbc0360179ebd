"""End a turn: commit it, or roll it back. The first outcome stands (TU-1, TU-2).

No review is built yet, so the call itself commits, in one transaction with the messages that came along. Only where
that transaction would be too large the turn is `ending` in between: then the same call again goes on, and so does
upkeep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_memory.domain.errors import ConditionFailed, Conflict, StoreUnavailable
from agent_memory.domain.messages import Message
from agent_memory.domain.ports import MAX_ACTIONS, Write
from agent_memory.domain.staging import Remove, Staged
from agent_memory.domain.times import written
from agent_memory.domain.turns import MAX_MESSAGES, Turn, TurnStatus, not_open, rollback_event, rolled_back
from agent_memory.store.commits import commit_writes

from .also import Also, nothing
from .enter import Entered, configuration, find_turn
from .messages import full, message_events
from .services import Services
from .staged import View, staged_view

Outcome = Literal["completed", "failed"]
_MESSAGES_BESIDE = 3_000_000  # bytes of messages that leave room for all changes in a transaction of 4 MB
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
    also: Also[Turn] = nothing,
) -> Ended:
    """End the turn and give it as it stands then. Asked again with the same outcome: the turn as it stands."""
    for _ in range(_TRIES):
        turn = find_turn(services, agent_id, turn_id)
        if turn.status not in (TurnStatus.OPEN, TurnStatus.ENDING) or turn.outcome not in (None, outcome):
            return Ended(_standing(turn, outcome), by_this_call=False)
        if turn.status is TurnStatus.ENDING:
            messages = ()  # they came with the call that ended it
        if turn.messages + len(messages) > MAX_MESSAGES:
            raise full()
        events = message_events(services, messages)
        ended = replace(turn, sequence=turn.sequence + len(events), messages=turn.messages + len(events))
        try:
            if outcome == "completed":
                ended = _commit(services, turn, ended, events, also)
            else:
                ended = _roll_back(services, turn, ended, events, error, also)
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


def _commit(services: Services, turn: Turn, ended: Turn, messages: list[dict[str, Any]], also: Also[Turn]) -> Turn:
    """One transaction: the turn, its messages and transcript, every record it changes, on the condition that nothing of
    it has changed since it was read. Where messages of many chunks meet many changes they do not fit one (DynamoDB
    takes a hundred actions and 4 MB): then the turn is ending first, with its messages, and commits in a second."""
    turns = services.turns
    entered = Entered(turn, configuration(services, turn).config, first=turn.sequence + 1)
    view = staged_view(services, entered)
    now = services.clock.now()
    said = turns.messages(turn, turn.sequence + 1, messages)
    events = _commit_events(view, at=written(now))
    committed = replace(
        ended,
        status=TurnStatus.COMMITTED,
        outcome="completed",
        ended_at=turn.ended_at or written(now),
        committed_at=written(now),
        sequence=ended.sequence + len(events),
        memories=view.settled.memories(),
        conflicts=view.settled.conflicts,
    )
    writes = [
        turns.change(turn, committed),
        turns.closed(turn.turn_id),
        *turns.no_longer_ending(turn),
        turns.nothing_staged_behind(turn, len(view.log)),
        *turns.events(turn, ended.sequence + 1, events),
        *commit_writes(view.settled, view.fingerprints, services.ids.new(now)),
        *also(committed),
    ]
    if len(writes) + len(said) > MAX_ACTIONS or sum(len(put.item["packed"]) for put in said) > _MESSAGES_BESIDE:
        ending = replace(ended, status=TurnStatus.ENDING, outcome="completed", ended_at=written(now))
        fence = turns.nothing_staged_behind(turn, len(view.log))
        turns.transact([turns.change(turn, ending), turns.ending(turn), fence, *said])
        return _commit(services, ending, ending, [], also)
    turns.transact([*writes, *said])
    services.together(
        lambda: turns.write(turns.forget_staged(turn, len(view.log))),
        lambda: turns.keep_seen(turn),
    )
    return committed


def _commit_events(view: View, *, at: str) -> list[dict[str, Any]]:
    settled = view.settled
    conflicts = [{"type": "conflict", "at": at, **conflict} for conflict in settled.conflicts]
    unpinned = [{**told, "type": "pin.unpinned"} for told in conflicts if told["change"] == "pin"]
    memories = [{"id": m["id"], "version": m["version"]} for m in settled.memories()]
    return [*conflicts, *unpinned, {"type": "turn.committed", "at": at, "memories": memories}]


def _roll_back(
    services: Services,
    turn: Turn,
    ended: Turn,
    messages: list[dict[str, Any]],
    error: str | None,
    also: Also[Turn],
) -> Turn:
    at, turns = written(services.clock.now()), services.turns
    failed = replace(rolled_back(ended, "failed", at), error=error, outcome="failed")
    writes: list[Write] = [turns.change(turn, failed), turns.closed(turn.turn_id)]
    writes += turns.messages(turn, turn.sequence + 1, messages)
    turns.transact([*writes, *turns.events(turn, failed.sequence, [rollback_event(failed)]), *also(failed)])
    forget(services, turn)
    return failed


def forget(services: Services, turn: Turn) -> None:
    """Take away what a turn that was rolled back had staged."""
    log: list[Staged] = services.turns.staged(turn.agent_id, turn.turn_id)
    new = [change.record for change in log if not isinstance(change, Remove)]
    if log:
        services.turns.write(
            [
                *services.turns.forget_staged(turn, len(log)),
                *services.records.forget(new, services.embedder.model),
            ]
        )
