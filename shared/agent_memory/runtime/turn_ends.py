"""A turn's end as both editions carry it out: its steps in the log, and what is counted of a turn once it is done."""

from __future__ import annotations

from functools import wraps
from typing import Any

from agent_memory.domain.errors import AgentMemoryError
from agent_memory.domain.times import written
from agent_memory.domain.turns import ReviewStatus, Turn, TurnStatus
from agent_memory.operations.commit import Committed
from agent_memory.operations.services import Services

from . import metrics
from . import observability as log
from .lambda_handler import Event, Handle, lambda_handler


class StepBroke(Exception):
    """By a fault of ours, which is logged. The state machine keeps what a step raises, so it may show no more of it."""


def step(handle: Handle) -> Handle:
    """A step of the state machine `TurnEnd`: ids in, ids out."""

    @wraps(handle)
    def carried_out(event: Event, context: Any) -> dict[str, Any]:
        try:
            return handle(event, context)
        except AgentMemoryError:
            raise  # no message of ours holds a text
        except Exception as error:
            log.error("step broke", turn_id=event.get("turn_id"), **log.where(error))
            raise StepBroke(type(error).__name__) from None

    return lambda_handler(carried_out)


def tell(services: Services, done: Committed) -> None:
    """Of a turn that was reviewed; that it was, is kept for the status."""
    if done.by_this_call and done.turn.status is TurnStatus.COMMITTED:
        count(done.turn)
        services.deployment.ran("review", written(services.clock.now()))


def count(turn: Turn) -> None:
    counted = {metrics.COMMITS: 1, metrics.CHANGES: len(turn.memories), metrics.CONFLICTS: len(turn.conflicts)}
    has_failed = turn.review.status is ReviewStatus.FAILED
    if has_failed or turn.review.status is ReviewStatus.DONE:
        counted |= {metrics.REVIEWS: 1, metrics.REVIEWS_FAILED: int(has_failed)}
    if has_failed:
        log.warning("review failed", turn_id=turn.turn_id, error=turn.review.error)
    metrics.write(counted)
