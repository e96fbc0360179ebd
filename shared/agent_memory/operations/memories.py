"""Records of an agent for people and programs (GR-3, GR-4, as far as reading goes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent_memory.domain.cursors import cursor, number, position
from agent_memory.domain.errors import Fault, InvalidRequest, NotFound
from agent_memory.domain.records import Record, Status, answer
from agent_memory.domain.times import instant

from .configure import configuration_of
from .finding import Found
from .services import Services

LOOKED_AT = 2000  # records of one call: 20 pages of some 20 ms in DynamoDB
_PAGE = 100  # pointers read at a time: with both places of each record two batch reads


@dataclass(frozen=True, slots=True)
class Filters:
    """All of them hold. statuses: none means what the agent has (GR-3). Expired records are listed alone (`expired`) or
    not at all."""

    scope: str | None = None
    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    kind: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    statuses: Sequence[str] = ()
    memory_key: str | None = None
    source: str | None = None
    pinned: bool | None = None
    preview: bool | None = None
    expired: bool = False
    since: str | None = None
    until: str | None = None

    def match(self, record: Record, now: datetime) -> bool:
        given = {"session_id": self.session_id, "workflow_id": self.workflow_id, "user_id": self.user_id}
        return (
            self._has_status(record)
            and record.is_expired(now) == self.expired
            and self.scope in (None, record.place.scope)
            and all(id is None or record.place.ids[name] == id for name, id in given.items())
            and self.kind in (None, record.kind)
            and self.source in (None, record.source)
            and self.memory_key in (None, record.memory_key)
            and self.pinned in (None, record.pinned)
            and self.preview in (None, record.preview)
            and all(record.labels.get(name) == value for name, value in self.labels.items())
            and (self.since is None or instant(self.since) <= instant(record.created_at))
            and (self.until is None or instant(record.created_at) < instant(self.until))
        )

    def _has_status(self, record: Record) -> bool:
        """What the agent has, where no status is asked for: active records, and deletions that preview turns see."""
        return record.status in self.statuses if self.statuses else record.status is Status.ACTIVE or record.hides

    def binding(self) -> list[object]:
        return [getattr(self, name) for name in self.__slots__ if name not in ("labels", "statuses")] + [
            dict(self.labels),
            sorted(set(self.statuses)),
        ]


def list_memories(
    services: Services, agent_id: str | None, filters: Filters, *, limit: int = 50, after: str | None = None
) -> dict[str, Any]:
    """The agent's records, newest first; of agent None the platform's. The cursor is the id of the last one looked at:
    where few match, a page may be short, or empty, and have a next (IF-4)."""
    _check_labels(services, agent_id, filters)
    binding = ["memories", agent_id, filters.binding()]
    before = position(after, binding) if after is not None else None
    if after is not None and before is None:
        raise InvalidRequest("after takes the next of this very list.", code="invalid_cursor")
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
    places = services.records.locate(agent_id, [id])
    record = services.records.read(places).get(id) if places else None
    if record is None or record.place.agent_id != agent_id:
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
    before = number(after, binding) if after is not None else record.version + 1
    if before is None:
        raise InvalidRequest("after takes the next of this very list.", code="invalid_cursor")
    now = services.clock.now()
    numbers = range(min(before, record.version + 1) - 1, 0, -1)
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


def _check_labels(services: Services, agent_id: str | None, filters: Filters) -> None:
    if agent_id is None:
        return  # each agent's proposals carry its own labels
    declared = configuration_of(services, agent_id).config.memory.labels
    faults = [
        Fault(f"label.{name}", "invalid_request", f"takes a declared label: {', '.join(declared) or 'none is'}")
        for name in filters.labels
        if name not in declared
    ]
    if faults:
        raise InvalidRequest("A filter names a label that is not declared.", faults=faults)
