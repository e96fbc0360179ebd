"""What the tools `search_memory` and `read_memory` find (TL-1, TL-3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from agent_memory.domain import words
from agent_memory.domain.cursors import cursor, position
from agent_memory.domain.errors import ToolRefused
from agent_memory.domain.ranking import Ranked
from agent_memory.domain.records import Record, Status, view
from agent_memory.domain.scopes import Place
from agent_memory.domain.tools import SearchMemory

from .enter import Entered
from .find import Question, find
from .finding import Found, unranked
from .save import visible_record
from .services import Services
from .staged import View, staged_view

_LEAST_PAGE, _LARGEST_PAGE = 20, 320  # records that one read of a place gives
_UNRANKED = Found([])


@dataclass(frozen=True, slots=True)
class Answer:
    """records: in the order of the answer, ranked ones with their scores. found: how they were; what is read by id or
    listed comes from the store alone: nothing was ranked, and nothing is missing but to a replay."""

    records: Sequence[tuple[Record, Ranked | None]]
    next: str | None = None
    missing: Sequence[str] = ()
    found: Found = _UNRANKED

    def output(self) -> dict[str, Any]:
        scored = [view(r) | ({"score": ranked.score} if ranked else {}) for r, ranked in self.records]
        return {"memories": scored, "next": self.next, "missing": list(self.missing), **self.found.ranking()}


def search(services: Services, entered: Entered, request: SearchMemory) -> Answer:
    if request.ids:
        return _by_ids(services, entered, request)
    if request.query is not None and not words.is_blank(request.query):
        return _ranked(services, entered, request)
    return _listed(services, entered, request)


def read(services: Services, entered: Entered, id: str) -> Record:
    """One record of a visible scope: active, superseded or deleted."""
    found = visible_record(services, entered, staged_view(services, entered), [id]).get(id)
    if found is None or found.status not in (Status.ACTIVE, Status.SUPERSEDED, Status.DELETED):
        raise ToolRefused("not_found", "id takes the id of a record that this turn sees.", "id")
    return found


def _ranked(services: Services, entered: Entered, request: SearchMemory) -> Answer:
    limit = _limit(entered, request)
    question = Question(request.query or "", limit, request.kind, request.labels or {})
    found = find(services, entered, question)
    return Answer(found.results[:limit], found=found)


def _by_ids(services: Services, entered: Entered, request: SearchMemory) -> Answer:
    ids = request.ids or ()
    found = visible_record(services, entered, staged_view(services, entered), ids)
    question = Question("", 1, request.kind, request.labels or {})
    kept = {id: r for id, r in found.items() if r.status is Status.ACTIVE and question.matches(r)}
    return Answer([(kept[id], None) for id in ids if id in kept], missing=[id for id in ids if id not in kept])


def _listed(services: Services, entered: Entered, request: SearchMemory) -> Answer:
    """Newest first, staged records among the rest. The cursor is the id of the last record shown."""
    limit = _limit(entered, request)
    question = Question("", limit, request.kind, request.labels or {})
    binding = ["search_memory", entered.turn.agent_id, question.kind, dict(question.labels), entered.visible]
    binding += [entered.turn.replay_of] if entered.turn.replay_of else []  # another list of the same places
    before = position(request.after, binding) if request.after else None
    if request.after and before is None:
        raise ToolRefused("invalid_cursor", "after takes the next of this very list.", "after")
    listing = _Listing(services, entered, question, staged_view(services, entered))
    several = list(islice(listing.newest_first(before), limit + 1))
    more = cursor(several[limit - 1].id, binding) if len(several) > limit else None
    return Answer([(record, None) for record in several[:limit]], next=more, found=unranked(services))


def _limit(entered: Entered, request: SearchMemory) -> int:
    return request.limit or entered.config.memory.search.max_results


@dataclass(frozen=True, slots=True)
class _Listing:
    """Every visible active record, newest first: the places' own lists, merged."""

    services: Services
    entered: Entered
    question: Question
    view: View

    def newest_first(self, before: str | None) -> Iterator[Record]:
        now = self.services.clock.now()
        size = max(self.question.limit + 1, _LEAST_PAGE)
        staged = [r for r in self.view.settled.saved if before is None or r.id < before]
        own = sorted(staged, key=_by_id, reverse=True)
        pages = [lambda place=place: self._page(place, before, size) for place in self.entered.visible]
        binding, *firsts = self.services.together(lambda: self._binding(before), *pages)
        lists = [self._of_place(place, first, size) for place, first in zip(self.entered.visible, firsts, strict=True)]
        merged = merge(own, binding, *lists, key=_by_id, reverse=True)
        return (r for r in merged if self.entered.sees(r) and self.view.shows(r, now) and self.question.matches(r))

    def _binding(self, before: str | None) -> list[Record]:
        """Constraints of places that bind: few, and on the board; the places themselves may hold many others."""
        boards = self.services.records.look({}, boards=self.entered.binding).boards if self.entered.binding else {}
        ids = {id: place for place, board in boards.items() for id in board.constraints}
        older = {id: place for id, place in ids.items() if before is None or id < before}
        return sorted(self.services.records.live(older).values() if older else (), key=_by_id, reverse=True)

    def _of_place(self, place: Place, page: list[Record], size: int) -> Iterator[Record]:
        """Pages grow: where many are read for few, it is a filter that few match."""
        yield from page
        while len(page) == size:
            size = min(2 * size, _LARGEST_PAGE)
            page = self._page(place, page[-1].id, size)
            yield from page

    def _page(self, place: Place, before: str | None, size: int) -> list[Record]:
        return self.services.records.newest(place, before=before, limit=size)


def _by_id(record: Record) -> str:
    return record.id
