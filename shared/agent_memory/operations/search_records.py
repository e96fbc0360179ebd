"""Ranking all records of an agent, or of the platform, for people and programs (GR-3, `?query=`).

How a search runs is told by `finding`; what a list shows by `memories`. Where the filters leave a few places alone,
these are searched instead of all that the agent has. Filters that the index does not know (since, until, expired; what
is not pinned or not preview) are applied to the hundred best by words and by meaning that it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from agent_memory.domain.errors import Fault
from agent_memory.domain.memory_settings import SearchSettings
from agent_memory.domain.ports import IndexQuery
from agent_memory.domain.ranking import Mode
from agent_memory.domain.records import Record, Status, answer
from agent_memory.domain.scopes import Place
from agent_memory.store.keys import memory_partition

from .embed import Asked
from .find import asked_for
from .finding import FALLBACK, Finding, Found, Result, Unindexed, cosines_of, explained
from .record_filters import Filters
from .services import Services

UNINDEXED = 500  # newest changes of an agent that are ranked along: several places' worth
_LOOKED_AT = 2000  # pointers, in search of records that stand in for the index


def search_records(
    services: Services,
    agent_id: str | None,
    filters: Filters,
    text: str,
    *,
    search: SearchSettings,
    limit: int,
    explain: bool,
) -> dict[str, Any]:
    """The best records for `text` (not blank) under all filters, each with its score. agent_id: None is the
    platform."""
    places = filters.places(agent_id)
    asked, unindexed = services.together(
        lambda: asked_for(services, search, text), lambda: _unindexed(services, agent_id, places)
    )
    whose = _Whose(agent_id, filters, places)
    finding = RecordFinding(services, text, limit, mode=search.mode, asked=asked, unindexed=unindexed, whose=whose)
    found = finding.found()
    memories = _shown(services, found, found.results[:limit], finding.now, explain=explain)
    return {"memories": memories, "next": None, **found.ranking()}


def faults_of_ranking(filters: Filters, after: str | None) -> list[Fault]:
    """What a list takes and a ranking does not."""
    faults = []
    if after is not None:
        faults.append(Fault("after", "invalid_request", "takes nothing beside query: what is ranked is one page"))
    if set(filters.statuses) - {Status.ACTIVE}:
        faults.append(Fault("status", "invalid_request", "takes ACTIVE beside query: nothing else is ranked"))
    return faults


def _shown(
    services: Services, found: Found, shown: Sequence[Result], now: datetime, *, explain: bool
) -> list[dict[str, Any]]:
    scored = [{**answer(record, now), "score": ranked.score} for record, ranked in shown]
    if not explain:
        return scored
    cosines = cosines_of(services, found, shown)
    return [one | explained(ranked, cosines[one["id"]]) for one, (_, ranked) in zip(scored, shown, strict=True)]


class _Whose(NamedTuple):
    """Whose records are searched, and where: in these places, None: in all of the agent's."""

    agent_id: str | None
    filters: Filters
    places: Sequence[Place] | None


class RecordFinding(Finding):
    def __init__(
        self,
        services: Services,
        text: str,
        limit: int,
        *,
        mode: Mode,
        asked: Asked,
        unindexed: Unindexed,
        whose: _Whose,
    ) -> None:
        super().__init__(services, text, limit, mode=mode, asked=asked, unindexed=unindexed)
        self.agent_id, self.filters, self.searched = whose

    def query(self) -> IndexQuery:
        kind, labels = self.filters.kind, {**self.filters.labels, **self.filters.facets}
        if self.searched is None:
            return IndexQuery(agent_id=self.agent_id, kind=kind, labels=labels)
        return IndexQuery([memory_partition(place) for place in self.searched], kind=kind, labels=labels)

    def newest(self) -> Iterable[Record]:
        if self.searched is None:
            return _newest_of_agent(self.services, self.agent_id)
        calls = [lambda place=place: self.services.records.newest(place, limit=FALLBACK) for place in self.searched]
        return [record for page in self.services.together(*calls) for record in page]

    def places(self, partitions: Mapping[str, str]) -> Mapping[str, Place]:
        """As the table says, and of this agent alone."""
        return self.services.records.locate(self.agent_id, partitions, platform=False)

    def wants(self, record: Record) -> bool:
        is_active = record.status is Status.ACTIVE and record.place.agent_id == self.agent_id
        return is_active and self.filters.match(record, self.now)


def _unindexed(services: Services, agent_id: str | None, places: Sequence[Place] | None) -> Unindexed:
    if places is None:
        unindexed_of = services.records.unindexed_of
        return Unindexed(*unindexed_of(agent_id or "", limit=UNINDEXED, together=services.together))
    several = services.together(*(lambda place=place: services.records.ahead(place) for place in places))
    return Unindexed.of((place, ids) for place, (_, ids) in zip(places, several, strict=True))


def _newest_of_agent(services: Services, agent_id: str | None) -> list[Record]:
    """The newest live records, as many as of one place. What is staged or ended has a pointer too and is passed by."""
    found: list[Record] = []
    before: str | None = None
    for _ in range(0, _LOOKED_AT, FALLBACK):
        places = services.records.of_agent(agent_id, before=before, limit=FALLBACK)
        page = services.records.live(places) if places else {}
        found += [page[id] for id in places if id in page]
        if len(places) < FALLBACK or len(found) >= FALLBACK:
            break
        before = list(places)[-1]
    return found[:FALLBACK]
