"""Keep what somebody thought of a turn's work (JD-1). What is learned of it the review decides."""

from __future__ import annotations

from typing import Any, Literal

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.ports import Write
from agent_memory.domain.times import written
from agent_memory.domain.turns import not_open

from .also import Also, nothing
from .enter import enter, find_turn
from .services import Services

Verdict = Literal["accepted", "rejected"]


def judge(
    services: Services,
    agent_id: str,
    turn_id: str,
    *,
    verdict: Verdict,
    feedback: str | None = None,
    judge: str | None = None,
    also: Also[dict[str, Any]] = nothing,
) -> dict[str, Any]:
    """One more judgement of an open turn; a rejection is a lesson to be. Its event, and itself beside the turn's first
    attempt, are one transaction. Raises `NotFound`, `Conflict` (turn_not_open)."""
    entered = enter(services, agent_id, turn_id, events=1, rejections=int(verdict == "rejected"))
    turn, turns, now = entered.turn, services.turns, services.clock.now()
    id, at = services.ids.new(now), written(now)
    judgement = {"verdict": verdict, "feedback": feedback, "judge": judge}
    event = {"type": "judgement", "at": at, "judgement_id": id, **judgement}
    answer = {"judgement_id": id, "turn_id": turn_id, "verdict": verdict, "lesson": verdict == "rejected"}
    writes: list[Write] = [*turns.events(turn, entered.first, [event])]
    writes += [turns.judgement(turn, id, {**judgement, "turn_id": turn_id, "at": at}), turns.still_open(turn)]
    try:
        turns.transact([*writes, *also(answer)])
    except ConditionFailed as failed:
        if failed.positions[0] >= len(writes):
            raise  # what came along met another; the turn is open
        raise not_open(find_turn(services, agent_id, turn_id)) from failed
    return answer
