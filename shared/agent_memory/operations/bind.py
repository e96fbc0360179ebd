"""Kinds that a new version of a configuration makes binding: their records are constraints from then on, and every
recall shows them (CF-3, RL-1). Whatever comes later is put on the boards by the commit that brings it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.errors import ConditionFailed, StoreUnavailable
from agent_memory.domain.scopes import Place

from .services import Services

PAGE = 50  # records looked at together: so many fit a transaction with the board that they are put on
_TRIES = 16  # each lost try is a commit that changed the board, or one of the records, meanwhile


def bind_kinds(services: Services, agent_id: str, before: AgentConfig, after: AgentConfig) -> None:
    """Put the live records of such kinds on the boards of their places. Comes before the version is stored: until then
    nobody takes them for constraints, and a call that breaks off is simply made again."""
    kinds = {kind for kind in after.kinds if after.precedence(kind) == "broader" != before.precedence(kind)}
    for place, ids in _of_kinds(services, agent_id, kinds) if kinds else ():
        _bind(services, place, ids)


def _of_kinds(services: Services, agent_id: str, kinds: Collection[str]) -> Iterator[tuple[Place, list[str]]]:
    before: str | None = None
    while places := services.records.of_agent(agent_id, before=before, limit=PAGE):
        by_place: dict[Place, list[str]] = {}
        for record in services.records.live(places).values():
            if record.kind in kinds:
                by_place.setdefault(record.place, []).append(record.id)
        yield from by_place.items()
        before = list(places)[-1]


def _bind(services: Services, place: Place, ids: Sequence[str]) -> None:
    for _ in range(_TRIES):
        try:
            return services.records.bind(place, ids, services.clock.now())
        except ConditionFailed:
            continue
    raise StoreUnavailable("Others kept changing the constraints of a place; send it again.")
