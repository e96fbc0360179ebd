"""What is known already of what a review proposes: the records most like each candidate (EX-1, EX-2).

They are looked for among all that the turn sees or may write, by meaning; what a candidate shares words with is looked
at too, since it may say the same to the letter. The holder of a candidate's key belongs to them however unlike it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from agent_memory.domain.near import near_of
from agent_memory.domain.parts import record_text
from agent_memory.domain.records import Record
from agent_memory.domain.reviewing.candidates import Candidate
from agent_memory.domain.reviewing.compared import Neighbour
from agent_memory.domain.reviewing.same import says_the_same
from agent_memory.domain.scopes import Place, Scope
from agent_memory.store.records import BACKLOG, Stored

from .embed import Asked, Usage
from .enter import Entered
from .find import Ahead, Question, TurnFinding, read_ahead
from .finding import Unindexed
from .replays import as_seen
from .services import Services
from .staged import View

MOST = 5  # near neighbours of one candidate (EX-2)
AT_ONCE = 5  # searches: each makes up to three calls at once, and sixteen threads are there for all of them


@dataclass(frozen=True, slots=True)
class Proposed:
    """A candidate, and where its record would lie; None of a retraction for which the turn has no such place."""

    candidate: Candidate
    place: Place | None

    @property
    def text(self) -> str:
        return record_text(self.candidate.summary, self.candidate.content)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """near: of each candidate in order, its neighbours, the most like it first. records: all of them, by id. view: what
    the turn has staged. usage: of embedding the candidates, None where there was nothing to embed."""

    near: Sequence[Sequence[Neighbour]]
    records: Mapping[str, Record]
    view: View
    usage: Usage | None


def neighbours(
    services: Services, entered: Entered, proposed: Sequence[Proposed], view: View | None = None
) -> Neighbourhood:
    """view: of the turn, where it is not what is staged. Raises `EmbedderUnavailable`; where the index is down the
    newest records stand in for it."""
    seen = as_seen(services, entered)
    asked, ahead = services.together(lambda: _asked(services, proposed), lambda: _ahead(seen, entered))
    ahead = replace(ahead, view=view) if view else ahead
    holders = _holders(seen, entered, ahead.view, proposed)
    shared = _Shared(_Looking(seen, entered, "", _with_vector(asked), ahead))
    searches = [_Nearest(shared, one.candidate, one.text, each) for one, each in zip(proposed, asked, strict=True)]
    records: dict[str, Record] = {}
    near: list[list[Neighbour]] = []
    for found, holder in zip(_searched(services, searches), holders, strict=True):
        if holder and holder.id not in {record.id for record, _ in found}:
            found.append((holder, None))
        records |= {record.id: record for record, _ in found}
        near.append([_shown(entered, record, cosine) for record, cosine in found])
    return Neighbourhood(near, records, ahead.view, asked[0].usage if asked else None)


class _Looking(TurnFinding):
    """A search also where the turn writes and does not look."""

    def __init__(self, services: Services, entered: Entered, text: str, asked: Asked, ahead: Ahead) -> None:
        super().__init__(services, entered, Question(text, MOST), asked, ahead)
        self._searched = list(dict.fromkeys([*entered.visible, *entered.writable]))

    @property
    def searched(self) -> Sequence[Place]:
        return self._searched

    def wants(self, record: Record) -> bool:
        is_looked_at = record.place in self._searched or self.entered.sees(record)
        return is_looked_at and self.ahead.view.shows(record, self.now)


class _Shared:
    """What all searches of a review read alike, read once: what the index has not shown, what is staged, and where no
    index answers what stands in for it. known: records that one of them has read."""

    def __init__(self, looking: _Looking) -> None:
        self.looking = looking
        self.known: dict[str, Record] = {}

    @cached_property
    def fresh(self) -> list[Stored]:
        return self.looking.read_fresh()

    @cached_property
    def staged(self) -> list[Stored]:
        return self.looking.read_staged()

    @cached_property
    def newest(self) -> list[Stored]:
        return self.looking.read_newest()


class _Nearest(_Looking):
    """The search for what is like one candidate."""

    def __init__(self, shared: _Shared, candidate: Candidate, text: str, asked: Asked) -> None:
        alike = shared.looking
        super().__init__(alike.services, alike.entered, text, asked, alike.ahead)
        self.shared, self.candidate = shared, candidate
        self._known = shared.known

    def read_fresh(self) -> list[Stored]:
        return self.shared.fresh

    def read_staged(self) -> list[Stored]:
        return self.shared.staged

    def read_newest(self) -> list[Stored]:
        return self.shared.newest

    def nearest(self) -> list[tuple[Record, float | None]]:
        """By cosine; and where none of these says the same, what does, among the first by words."""
        pool = self._pool()
        found = self._found("vector", pool).results[:MOST]
        by_meaning = [(record, ranked.cosine) for record, ranked in found]
        if any(self._says_the_same(record) for record, _ in by_meaning):
            return [*by_meaning]
        by_words = [record for record, _ in self._found("lexical", pool).results[:MOST]]
        same = [record for record in by_words if self._says_the_same(record)]
        return [*((record, None) for record in same[:1]), *by_meaning]

    def _says_the_same(self, record: Record) -> bool:
        return says_the_same(self.candidate, record.summary, record.content)


def _searched(services: Services, searches: Sequence[_Nearest]) -> Iterator[list[tuple[Record, float | None]]]:
    for start in range(0, len(searches), AT_ONCE):
        yield from services.together(*(one.nearest for one in searches[start : start + AT_ONCE]))


def _with_vector(asked: Sequence[Asked]) -> Asked:
    """For what is read once: vectors too, if one of the searches compares any."""
    return next((one for one in asked if one.vector), Asked(None, None))


def _asked(services: Services, proposed: Sequence[Proposed]) -> list[Asked]:
    """The candidates' texts as what is searched for, in one call of the model; each cut at its window."""
    if not proposed:
        return []
    embedder = services.embedder
    embedded = embedder.embed([one.text for one in proposed])
    usage = Usage(embedder.model, embedded.tokens, embedded.cached)
    return [Asked(vector, usage, floor=near_of(embedder)) for vector in embedded.vectors]


def _ahead(services: Services, entered: Entered) -> Ahead:
    """As of a search of the turn; and of the places that it writes and does not see, what the index has not shown."""
    unseen = [place for place in entered.writable if place not in entered.visible]
    calls = [lambda place=place: services.records.ahead(place) for place in unseen]
    together: list[Any] = services.together(lambda: read_ahead(services, entered), *calls)
    ahead: Ahead = together[0]
    several = together[1:]
    changed = {id: place for place, (_, ids) in zip(unseen, several, strict=True) for id in ids[:BACKLOG]}
    behind = ahead.unindexed.behind or any(len(ids) > BACKLOG for _, ids in several)
    return replace(ahead, unindexed=Unindexed({**ahead.unindexed.places, **changed}, behind))


def _holders(services: Services, entered: Entered, view: View, proposed: Sequence[Proposed]) -> list[Record | None]:
    """Who has each candidate's key now, as far as the turn sees or may write it."""
    now = services.clock.now()
    keyed = [
        [(place, one.candidate.memory_key) for place in dict.fromkeys([one.place, one.place.live])]
        if one.candidate.memory_key and one.place
        else []
        for one in proposed
    ]
    wanted = {each for several in keyed for each in several}
    held = services.records.look({}, wanted).holders if wanted else {}
    held = {key: id for key, id in {**held, **view.settled.holders}.items() if key in wanted and id}
    read = services.records.live({id: place for (place, _), id in held.items() if id}) if held else {}
    known = {**read, **view.settled.after}

    def of(several: Sequence[tuple[Place, str]]) -> Record | None:
        there = (known[id] for key in several if (id := held.get(key)) and id in known)
        return next((record for record in there if view.shows(record, now)), None)

    return [of(several) for several in keyed]


def _shown(entered: Entered, record: Record, cosine: float | None) -> Neighbour:
    return Neighbour(
        id=record.id,
        version=record.version,
        summary=record.summary,
        content=record.content,
        kind=record.kind,
        scope=record.place.scope.value,
        cosine=None if cosine is None else round(cosine, 6),
        writable=record.place in entered.writable,
        protected=entered.is_broader(record) or record.place.scope is Scope.PLATFORM,
    )
