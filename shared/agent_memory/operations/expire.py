"""The sweep removes records whose time is over (LC-1). Nobody waits for it: since the instant of its end a record is
shown to no turn and on no list."""

from __future__ import annotations

from datetime import timedelta

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.turns import OPEN_FOR
from agent_memory.domain.ulids import made_at
from agent_memory.store.removal import Due

from .services import Services
from .upkeep import HasTime

PAGE = 100  # rows of each shard of the list
_NEVER = OPEN_FOR + timedelta(hours=1)  # a record that is not there so long after its staging never will be


def remove_expired(services: Services, has_time: HasTime) -> int:
    """Remove what is due, oldest first; gives how many records are gone."""
    done = 0
    seen: set[str] = set()
    while several := [one for one in services.records.due(services.clock.now(), limit=PAGE) if one.id not in seen]:
        for one in several:
            if not has_time():
                return done
            seen.add(one.id)
            done += _remove(services, one)
    return done


def _remove(services: Services, one: Due) -> bool:
    record = services.records.read({one.id: one.place}).get(one.id)
    now = services.clock.now()
    if record is None:
        if made_at(one.id) + _NEVER < now:
            services.records.strike_off(one)
        return False
    if not record.is_expired(now):
        return False
    try:
        services.records.remove(record, one, services.embedder.model, services.ids.new(now), now)
    except ConditionFailed:
        return False  # somebody changed it: the next run looks again
    return True
