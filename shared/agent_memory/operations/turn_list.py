"""The turns of an agent, newest first (route 7).

A turn is as new as its id: the moment it was begun here, whatever `started_at` the harness gave. Filters by what never
changes are held against the list's own rows; only the turns that pass are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

from agent_memory.domain.cursors import cursor
from agent_memory.domain.times import instant
from agent_memory.domain.turns import Turn, as_of
from agent_memory.domain.ulids import made_at, time_prefix
from agent_memory.store.turns import Listed

from .configure import configuration_of
from .paging import behind
from .services import Services
from .turns import turn_answer

LOOKED_AT = 2000  # turns of one call: 20 pages of some 20 ms in DynamoDB
_PAGE = 100  # rows of the list read at a time
_LEAST_READ = 20  # turns looked at together: so few a page asks for are mostly filtered away
_BEHIND_IDS = "~"  # sorts behind every character of an id: `until` may lie within the millisecond
_SAME = ("session_id", "workflow_id", "user_id", "execution_id", "invocation_id", "preview")


@dataclass(frozen=True, slots=True)
class TurnFilters:
    """All of them hold. since, until: since <= begun < until."""

    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    execution_id: str | None = None
    invocation_id: str | None = None
    preview: bool | None = None
    status: str | None = None
    review: str | None = None
    since: str | None = None
    until: str | None = None

    def fit(self, listed: Listed) -> bool:
        """As far as what never changes tells."""
        given = {name: getattr(self, name) for name in _SAME}
        return all(value is None or value == getattr(listed, name) for name, value in given.items()) and (
            self.until is None or made_at(listed.turn_id) < instant(self.until)
        )

    def fit_now(self, turn: Turn) -> bool:
        """As far as what changes tells."""
        return self.status in (None, turn.status) and self.review in (None, turn.review.status)

    def is_before(self, turn_id: str) -> bool:
        """Whether this turn and all older ones are too old."""
        return self.since is not None and made_at(turn_id) < instant(self.since)


def list_turns(
    services: Services, agent_id: str, filters: TurnFilters, *, limit: int = 50, after: str | None = None
) -> dict[str, Any]:
    """The cursor is the id of the last turn looked at: where few match, a page may be short, or empty, and have a next
    (IF-4). Raises `NotFound`."""
    binding = ["turns", agent_id, *astuple(filters)]
    before = behind(after, binding)
    shown: list[Turn] = []
    last: str | None = None
    looked_at = 0
    for looked_at, (id, turn) in enumerate(_newest_first(services, agent_id, filters, before, limit), 1):
        if turn and filters.fit_now(turn):
            if len(shown) == limit:
                last = shown[-1].turn_id
                break
            shown.append(turn)
        last = id
        if looked_at == LOOKED_AT:
            break
    else:
        last = None
    if not looked_at:
        configuration_of(services, agent_id)  # says so where there is no such agent
    more = cursor(last, binding) if last else None
    return {"turns": [turn_answer(services, turn) for turn in shown], "next": more}


def _newest_first(
    services: Services, agent_id: str, filters: TurnFilters, before: str | None, limit: int
) -> Iterator[tuple[str, Turn | None]]:
    """Ids of turns, with those that fit, as they are now; None for the others. Ends where all others are too old."""
    now, at_a_time = services.clock.now(), max(limit + 1, _LEAST_READ)
    for several in _in_batches(services, agent_id, _start(filters, before), at_a_time):
        fitting = [listed.turn_id for listed in several if filters.fit(listed)]
        turns = services.turns.several(agent_id, fitting) if fitting else {}
        for id in (listed.turn_id for listed in several):
            if filters.is_before(id):
                return
            yield id, as_of(turns[id], now) if id in turns else None


def _in_batches(services: Services, agent_id: str, before: str | None, size: int) -> Iterator[list[Listed]]:
    while rows := services.turns.newest_first(agent_id, before=before, limit=_PAGE):
        yield from (rows[start : start + size] for start in range(0, len(rows), size))
        if len(rows) < _PAGE:
            return
        before = rows[-1].turn_id


def _start(filters: TurnFilters, before: str | None) -> str | None:
    """Behind the page before, or at `until`, whichever is older: what is newer need not be looked at."""
    until = time_prefix(instant(filters.until)) + _BEHIND_IDS if filters.until else None
    return min(filter(None, (before, until)), default=None)
