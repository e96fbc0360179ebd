"""Records of an agent for people and programs (GR-3, GR-4, as far as reading goes)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_memory.domain import words
from agent_memory.domain.cursors import cursor
from agent_memory.domain.errors import Fault, NotFound
from agent_memory.domain.memory_settings import SearchSettings
from agent_memory.domain.records import Record, answer

from .configure import configuration_of
from .finding import Found
from .paging import behind, behind_number
from .record_filters import Filters, check
from .search_records import faults_of_ranking, search_records
from .services import Services

LOOKED_AT = 2000  # records of one call: 20 pages of some 20 ms in DynamoDB
_UNEXPLAINED = Fault("explain", "invalid_request", "takes true beside query alone")
_PAGE = 100  # pointers read at a time: with both places of each record two batch reads


def list_memories(
    services: Services,
    agent_id: str | None,
    filters: Filters,
    *,
    query: str | None = None,
    explain: bool = False,
    limit: int = 50,
    after: str | None = None,
) -> dict[str, Any]:
    """The agent's records, newest first, or those that answer `query`, best first; of agent None the platform's. A
    blank query is none. Raises `InvalidRequest`, `NotFound`."""
    is_ranked = query is not None and not words.is_blank(query)
    faults = faults_of_ranking(filters, after) if is_ranked else [_UNEXPLAINED] if explain else []
    memory = configuration_of(services, agent_id).config.memory if agent_id else None
    check(filters, memory, faults)
    if query is not None and is_ranked:
        search = memory.search if memory else SearchSettings()
        return search_records(services, agent_id, filters, query, search=search, limit=limit, explain=explain)
    return _listed(services, agent_id, filters, limit=limit, after=after)


def _listed(
    services: Services, agent_id: str | None, filters: Filters, *, limit: int, after: str | None
) -> dict[str, Any]:
    """The cursor is the id of the last record looked at: where few match, a page may be short, or empty, and have a
    next (IF-4)."""
    binding = ["memories", agent_id, filters.binding()]
    before = behind(after, binding)
    now = services.clock.now()
    shown: list[Record] = []
    last: str | None = None
    for looked_at, (id, record) in enumerate(_newest_first(services, agent_id, before)):
        if looked_at == LOOKED_AT:
            break
        if record and filters.match(record, now):
            if len(shown) == limit:
                last = shown[-1].id
                break
            shown.append(record)
        last = id
    else:
        last = None
    more = cursor(last, binding) if last else None
    # Read from the table alone, so whole whatever the index does.
    return {"memories": [answer(r, now) for r in shown], "next": more, **Found([]).ranking()}


def find_record(services: Services, agent_id: str | None, id: str) -> Record:
    """A committed record of the agent, whatever its status; of agent None one of the platform."""
    places = services.records.locate(agent_id, [id], platform=False)
    record = services.records.read(places).get(id) if places else None
    if record is None:
        raise NotFound("No such record of this agent." if agent_id else "No such platform record.")
    return record


def read_memory(services: Services, agent_id: str | None, id: str) -> dict[str, Any]:
    return answer(find_record(services, agent_id, id), services.clock.now())


def version(services: Services, agent_id: str | None, id: str, number: int) -> dict[str, Any]:
    record = find_record(services, agent_id, id).at(number)
    if record is None:
        raise NotFound("No such version of this record.")
    return answer(record, services.clock.now())


def versions(
    services: Services, agent_id: str | None, id: str, *, limit: int = 50, after: str | None = None
) -> dict[str, Any]:
    """Newest first."""
    record = find_record(services, agent_id, id)
    binding = ["versions", agent_id, id]
    before = behind_number(after, binding)
    now = services.clock.now()
    newest = record.version if before is None else min(before - 1, record.version)
    numbers = range(newest, 0, -1)
    shown = [record.at(n) for n in numbers[:limit]]
    more = cursor(str(numbers[limit - 1]), binding) if len(numbers) > limit else None
    return {"versions": [answer(r, now) for r in shown if r], "next": more}


def _newest_first(services: Services, agent_id: str | None, before: str | None) -> Iterator[tuple[str, Record | None]]:
    """Ids of the agent's records with the records; None for one that is staged."""
    while places := services.records.of_agent(agent_id, before=before, limit=_PAGE):
        found = services.records.read(places)
        yield from ((id, found.get(id)) for id in places)
        if len(places) < _PAGE:
            return
        before = list(places)[-1]
