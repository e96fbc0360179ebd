"""Finding what a turn sees, by words and meaning: recall and search alike (RK-1 to RK-8). How a search runs is told by
`finding`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agent_memory.domain import words
from agent_memory.domain.memory_settings import SearchSettings
from agent_memory.domain.ports import IndexQuery
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board
from agent_memory.store.keys import memory_partition
from agent_memory.store.past_records import LOOKED_AT

from .embed import Asked, embed_query
from .enter import Entered
from .finding import FALLBACK, Finding, Found, Result, Unindexed
from .rivals import Rivals
from .services import Services
from .staged import View, staged_view


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for; every filter holds. `limit`: how many results are wanted."""

    text: str
    limit: int
    kind: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def matches(self, record: Record) -> bool:
        fits = self.kind is None or record.kind == self.kind
        return fits and all(record.labels.get(name) == value for name, value in self.labels.items())


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is read before the search is sent. boards: of each visible place, and of places that bind."""

    view: View
    unindexed: Unindexed
    boards: Mapping[Place, Board]


def find(services: Services, entered: Entered, question: Question) -> Found:
    """The records that answer the question, checked against the store. A blank question finds nothing."""
    if not entered.visible or words.is_blank(question.text):
        return Found([])
    asked, ahead = services.together(
        lambda: asked_for(services, entered.config.memory.search, question.text), lambda: read_ahead(services, entered)
    )
    return TurnFinding(services, entered, question, asked, ahead).found()


def asked_for(services: Services, search: SearchSettings, text: str) -> Asked:
    """The query as the ranking takes it: embedded, where the agent searches by meaning."""
    return Asked(None, None) if search.mode == "lexical" else embed_query(services, text, search.min_score)


def read_ahead(services: Services, entered: Entered) -> Ahead:
    """What the turn has staged, the boards of its places, and what the index has not shown of each.

    Of places that bind, constraints alone are visible: these are few, stand on the board, and are ranked along as if
    they were not indexed, since the search leaves those places out."""
    places = [*entered.visible, *entered.binding]
    calls = [lambda place=place: services.records.ahead(place) for place in places]
    view, *several = services.together(lambda: staged_view(services, entered), *calls)
    boards = {place: board for place, (board, _) in zip(places, several, strict=True)}
    changed = {place: ids for place, (_, ids) in zip(places, several, strict=True)}
    changed |= {place: list(boards[place].constraints) for place in entered.binding}
    return Ahead(view, Unindexed.of(changed.items()), boards)


class TurnFinding(Finding):
    """A search in a turn. rivals: of a recall, which settles keys and adds nothing staged; None: of a tool."""

    def __init__(
        self,
        services: Services,
        entered: Entered,
        question: Question,
        asked: Asked,
        ahead: Ahead,
        rivals: Rivals | None = None,
    ) -> None:
        mode, unindexed = entered.config.memory.search.mode, ahead.unindexed
        super().__init__(services, question.text, question.limit, mode=mode, asked=asked, unindexed=unindexed)
        self.entered, self.question, self.ahead, self.rivals = entered, question, ahead, rivals

    @property
    def searched(self) -> Sequence[Place]:
        return self.entered.visible

    def query(self) -> IndexQuery:
        partitions = [memory_partition(place) for place in self.searched]
        return IndexQuery(partitions, kind=self.question.kind, labels=self.question.labels)

    def newest(self) -> Iterable[Record]:
        places, records = [*self.searched, *self.entered.binding], self.services.records
        most = FALLBACK if records.is_indexed else LOOKED_AT
        calls = [lambda place=place: records.newest(place, limit=most) for place in places]
        return [record for page in self.services.together(*calls) for record in page]

    def places(self, partitions: Mapping[str, str]) -> Mapping[str, Place]:
        places = {memory_partition(place): place for place in self.searched}
        return {id: places[partition] for id, partition in partitions.items()}

    def wants(self, record: Record) -> bool:
        is_there = self.entered.sees(record) and self.ahead.view.shows(record, self.now)
        return (
            is_there
            and self.question.matches(record)
            and (self.rivals is None or self.entered.recalls(record, self.now))
        )

    def staged(self) -> Iterable[Record]:
        saved = self.ahead.view.settled.saved if self.rivals is None else ()
        return [record for record in saved if record.place in self.searched]

    def settled(self, batch: Sequence[Result]) -> Iterable[Result]:
        return self.rivals.settled(batch) if self.rivals else batch

    def beside(self) -> None:
        if self.rivals:
            self.rivals.read_boards(self.ahead.boards)
