"""What is logged and counted of a turn that has come to its end, whoever carried it out."""

from __future__ import annotations

from agent_memory.domain.times import written
from agent_memory.domain.turns import ReviewStatus, Turn, TurnStatus
from agent_memory.operations.commit import Committed
from agent_memory.operations.services import Services

from . import metrics
from . import observability as log


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
