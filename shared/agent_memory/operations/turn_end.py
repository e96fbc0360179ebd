"""A turn's end from the review to the commit, as whoever is told by `TurnEnds` carries it out: in AWS a state machine
does the same, step by step."""

from __future__ import annotations

from collections.abc import Callable

from agent_memory.domain.errors import Unavailable
from agent_memory.domain.turns import Turn

from .commit import Committed, commit
from .review import UNAVAILABLE, review
from .services import Services

Review = Callable[[Services, str, str], Turn]


def carry_out(services: Services, agent_id: str, turn_id: str, *, review: Review = review) -> Committed:
    """Steps of the review, and the commit. A review that fails does not fail the turn (EX-6): it commits without it.

    review: one step, with as many tries as it is to have. Raises `StoreUnavailable`: then it is to be told again."""
    error: str | None = None
    while True:
        try:
            review(services, agent_id, turn_id)
        except Unavailable:
            error = UNAVAILABLE
        done = commit(services, agent_id, turn_id, error=error)
        if not done.look_again:
            return done
