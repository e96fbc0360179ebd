"""End a turn: commit it, or roll it back. The first outcome stands (TU-1, TU-2).

Where a review is due the turn is `ending` first, in one transaction with its last messages and with what the review is
to read; the review and the commit follow outside this call (`TurnEnds`). Where none is due, the call itself commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_memory.domain.errors import ConditionFailed, Conflict, Unavailable
from agent_memory.domain.messages import Message
from agent_memory.domain.ports import Write
from agent_memory.domain.times import written
from agent_memory.domain.turns import (
    MAX_MESSAGES,
    ReviewStatus,
    Turn,
    TurnStatus,
    not_open,
    rollback_event,
    rolled_back,
)

from .also import Also, nothing
from .commit import TRIES, busy, commit, end_first, write_commit
from .enter import Entered, configuration, find_turn
from .forget import forget
from .messages import full, message_events, said_in
from .retake import what_stands
from .services import Services
from .staged import staged_view
from .unreviewed import claim

Outcome = Literal["completed", "failed"]


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
    for _ in range(TRIES):
        turn = find_turn(services, agent_id, turn_id)
        if turn.status is not TurnStatus.OPEN:
            return Ended(_standing(services, turn, outcome), by_this_call=False)
        if turn.messages + len(messages) > MAX_MESSAGES:
            raise full()
        entered = Entered(turn, configuration(services, turn).config, first=turn.sequence + 1)
        events = message_events(services, messages, entered.config)
        ended = replace(
            turn,
            sequence=turn.sequence + len(events),
            messages=turn.messages + len(events),
            said=turn.said + said_in(messages),
        )
        try:
            if outcome == "completed":
                ended = _complete(services, entered, ended, events, also)
            else:
                ended = _roll_back(services, turn, ended, events, error, also)
        except ConditionFailed:
            continue
        if ended.status is TurnStatus.ENDING:
            start(services, ended)
        return Ended(ended, by_this_call=True)
    raise busy()


def start(services: Services, turn: Turn) -> None:
    """Have its review and its commit carried out. Where that cannot be begun now, upkeep begins it later."""
    try:
        services.turn_ends.start(turn.agent_id, turn.turn_id, turn.review.tries)
    except Unavailable:
        return


def _standing(services: Services, turn: Turn, outcome: Outcome) -> Turn:
    if turn.outcome == outcome and turn.status is TurnStatus.ENDING and turn.review.status is not ReviewStatus.PENDING:
        return commit(services, turn.agent_id, turn.turn_id).turn  # its end was cut off between two transactions
    if turn.outcome == outcome or (turn.outcome is None and outcome == "failed"):
        return turn
    if turn.outcome is None:
        raise not_open(turn)
    raise Conflict(f"The turn was ended as {turn.outcome} before.", code="outcome_differs")


def _complete(
    services: Services, entered: Entered, ended: Turn, messages: list[dict[str, Any]], also: Also[Turn]
) -> Turn:
    claimed, view = services.together(
        lambda: claim(services, entered.config, ended), lambda: staged_view(services, entered)
    )
    ended = replace(ended, review=claimed.review)
    if claimed.review.status is ReviewStatus.PENDING:
        said = services.turns.messages(entered.turn, entered.first, messages)
        return end_first(services, entered, ended, view, said, claims=claimed.writes, also=also)
    left = what_stands(services, entered, view, ended.review, at=written(services.clock.now()))
    return write_commit(services, entered, ended, left, messages, also)


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
