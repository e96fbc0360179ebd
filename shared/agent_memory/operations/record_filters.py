"""Which records a list for people and programs shows: the filters, and what may stand beside them (GR-3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agent_memory.domain.errors import Fault, InvalidRequest
from agent_memory.domain.facets import KEY, SCOPE, SOURCE, marks
from agent_memory.domain.memory_settings import MemorySettings
from agent_memory.domain.records import Record, Status
from agent_memory.domain.scopes import Place, Scope
from agent_memory.domain.times import instant


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

    @property
    def facets(self) -> dict[str, str]:
        """What the index knows of them, beside kind and labels."""
        known = {SCOPE: self.scope, SOURCE: self.source, KEY: self.memory_key}
        given = {name: value for name, value in known.items() if value is not None}
        return given | marks(pinned=self.pinned, preview=self.preview)

    def places(self, agent_id: str | None) -> list[Place] | None:
        """The places where alone that can lie which they let through; None: in any of the agent's. Where they
        contradict each other they let nothing through, wherever it lies. agent_id: None is the platform."""
        if agent_id is None:
            places = [Place(Scope.PLATFORM, None)]
        else:
            owners = {Scope.SESSION: self.session_id, Scope.WORKFLOW: self.workflow_id, Scope.USER: self.user_id}
            places = [Place(scope, agent_id, owner) for scope, owner in owners.items() if owner is not None]
            places += [Place(Scope.AGENT, agent_id)] if self.scope == Scope.AGENT else []
        return [each for place in places for each in (place.live, place.trial)] or None


def check(filters: Filters, memory: MemorySettings | None, more: Iterable[Fault] = ()) -> None:
    """Raises `InvalidRequest` with every fault, `more` among them. memory: the agent's; None: the platform's records,
    among which each agent's proposals carry its own labels."""
    faults = [*(_undeclared(filters, memory) if memory else ()), *more]
    if faults:
        raise InvalidRequest("The list does not take what is asked of it.", faults=faults)


def _undeclared(filters: Filters, memory: MemorySettings) -> list[Fault]:
    takes = f"takes a declared label: {', '.join(memory.labels) or 'none is'}"
    return [Fault(f"label.{name}", "invalid_request", takes) for name in filters.labels if name not in memory.labels]
