"""Do a failed review again, at once (EX-6, route 14)."""

from __future__ import annotations

from dataclasses import replace

from agent_memory.domain.errors import ConditionFailed, Conflict
from agent_memory.domain.turns import Turn

from .also import Also, nothing
from .commit import TRIES, busy
from .end import start
from .enter import find_turn
from .services import Services
from .unreviewed import claim_again


def review_again(services: Services, agent_id: str, turn_id: str, *, also: Also[Turn] = nothing) -> Turn:
    """Take up what the turn's review had to read, as far as no later one has read it, in one transaction; its decisions
    are committed in one of their own. Raises `NotFound`, `Conflict` (no_failed_review)."""
    for _ in range(TRIES):
        turn = find_turn(services, agent_id, turn_id)
        claimed = claim_again(services, turn)
        if claimed is None:
            message = "There is nothing to do again: its review has not failed, or a later one has read its messages."
            raise Conflict(message, code="no_failed_review")
        pending = replace(turn, review=claimed.review)
        turns = services.turns
        try:
            turns.transact([turns.change(turn, pending), *turns.ending(pending), *claimed.writes, *also(pending)])
        except ConditionFailed:
            continue
        start(services, pending)
        return pending
    raise busy()
