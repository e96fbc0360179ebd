"""Finding records by words and meaning: recall and search alike (RK-1 to RK-8).

The index only finds candidates. What the store has committed and the index has not shown yet is read first, then the
search is sent: the other way round a record could be in neither (DESIGN, invariant 7). Every hit is read from the store
before it is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from agent_memory.domain import ranking, words
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import Candidate, IndexAnswer, IndexQuery, Statistics
from agent_memory.domain.ranking import Ranked
from agent_memory.domain.records import Record, searchable_text
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board
from agent_memory.store.keys import memory_partition
from agent_memory.store.records import BACKLOG, Stored

from .embed import Asked, Usage, embed_query
from .enter import Entered
from .rivals import Rivals
from .services import Services
from .staged import View, staged_view

FALLBACK = 200  # newest records of each place that stand in for an index that does not answer (RK-8)

Degraded = Literal["embedder_down", "index_down", "index_behind"]


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
class Found:
    """results: best first, at least `limit` where there are as many, and all that equal the last of them."""

    results: list[tuple[Record, Ranked]]
    ranked: int = 0
    below_min_score: int = 0
    degraded_reason: Degraded | None = None
    usage: Usage | None = None
    vector: list[float] | None = None

    def ranking(self) -> dict[str, Any]:
        """How far the answer can be relied on, as recalls, searches and lists say it (RK-6, RK-8)."""
        reason = self.degraded_reason
        return {"degraded": reason is not None, "degraded_reason": reason, "ranked": self.ranked}


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is read before the search is sent. unindexed: committed, and not shown by the index: the newest changes of
    each place; behind: whether there are more. boards: of each visible place, and of places that bind."""

    view: View
    unindexed: Mapping[str, Place]
    behind: bool
    boards: Mapping[Place, Board]


def find(services: Services, entered: Entered, question: Question) -> Found:
    """The records that answer the question, checked against the store. A blank question finds nothing."""
    if not entered.visible or words.is_blank(question.text):
        return Found([])
    asked, ahead = services.together(
        lambda: asked_for(services, entered, question.text), lambda: read_ahead(services, entered)
    )
    return Finding(services, entered, question, asked, ahead).found()


def asked_for(services: Services, entered: Entered, text: str) -> Asked:
    """The query as the ranking takes it: embedded, where the agent searches by meaning."""
    search = entered.config.memory.search
    return Asked(None, None) if search.mode == "lexical" else embed_query(services, text, search.min_score)


def read_ahead(services: Services, entered: Entered) -> Ahead:
    """What the turn has staged, the boards of its places, and what the index has not shown of each.

    Of places that bind, constraints alone are visible: these are few, stand on the board, and are ranked along as if
    they were not indexed, since the search leaves those places out."""
    places = [*entered.visible, *entered.binding]
    calls = [lambda place=place: services.records.ahead(place) for place in places]
    view, *several = services.together(lambda: staged_view(services, entered), *calls)
    boards = {place: board for place, (board, _) in zip(places, several, strict=True)}
    unindexed: dict[str, Place] = {}
    behind = False
    for place, (board, ids) in zip(places, several, strict=True):
        if place in entered.binding:
            ids = list(board.constraints)
        behind |= len(ids) > BACKLOG
        unindexed |= dict.fromkeys(ids[:BACKLOG], place)
    return Ahead(view, unindexed, behind, boards)


class Finding:
    """One ranked search. rivals: of a recall, which settles keys and adds nothing staged; None: of a search."""

    def __init__(
        self,
        services: Services,
        entered: Entered,
        question: Question,
        asked: Asked,
        ahead: Ahead,
        rivals: Rivals | None = None,
    ) -> None:
        self.services, self.entered, self.question = services, entered, question
        self.asked, self.ahead, self.view, self.rivals = asked, ahead, ahead.view, rivals
        self.words = words.query_words(question.text)
        self.mode = "lexical" if asked.vector is None else entered.config.memory.search.mode
        self.now = services.clock.now()
        self.known: dict[str, Record] = {}  # read from the store already

    def found(self) -> Found:
        answer, fresh, reason = self._candidates()
        extra = [self._candidate(stored) for stored in fresh]
        pool, statistics = ranking.pool(answer, extra)
        floor, knows_script = self.asked.floor, self.services.embedder.knows(self.question.text)
        ranked = ranking.rank(self.mode, pool, statistics, floor=floor, knows_script=knows_script)
        below = ranking.below_floor(self.mode, pool, floor=floor)
        results = self._verified(ranked, {c.id: c.partition for c in pool})
        return Found(results, len(pool), below, reason, self.asked.usage, self.asked.vector)

    def _candidates(self) -> tuple[IndexAnswer, list[Stored], Degraded | None]:
        reason: Degraded | None = "embedder_down" if self.asked.down else None
        try:
            _, fresh, answer = self.services.together(self._read_boards, self._unindexed, self._search)
        except IndexUnavailable:
            return _NOTHING, [*self._from_store(), *self._staged()], "index_down"
        return answer, [*fresh, *self._staged()], "index_behind" if self.ahead.behind else reason

    def _read_boards(self) -> None:
        if self.rivals:
            self.rivals.read_boards(self.ahead.boards)

    def _search(self) -> IndexAnswer:
        partitions = [memory_partition(place) for place in self.entered.visible]
        return self.services.index.search(
            IndexQuery(
                partitions,
                words=self.words,
                vector=self.asked.vector,
                kind=self.question.kind,
                labels=self.question.labels,
            )
        )

    def _unindexed(self) -> list[Stored]:
        if not self.ahead.unindexed:
            return []
        return self._eligible(self.services.records.stored(self.ahead.unindexed, self.services.embedder.model))

    def _from_store(self) -> list[Stored]:
        records, model = self.services.records, self.services.embedder.model
        places = [*self.entered.visible, *self.entered.binding]
        calls = [lambda place=place: records.newest(place, limit=FALLBACK) for place in places]
        newest = {r.id: r for page in self.services.together(*calls) for r in page}
        vectors = records.vectors({r.id: r.place for r in newest.values()}, model) if self.asked.vector else {}
        return self._eligible(Stored(record, vectors.get(id, ())) for id, record in newest.items())

    def _staged(self) -> list[Stored]:
        if self.rivals:
            return []
        saved = [record for record in self.view.settled.saved if record.place in self.entered.visible]
        places = {record.id: record.place for record in saved}
        vectors = self.services.records.vectors(places, self.services.embedder.model) if places else {}
        return self._eligible(Stored(record, vectors.get(record.id, ())) for record in saved)

    def _eligible(self, stored: Iterable[Stored]) -> list[Stored]:
        kept = [one for one in stored if self._is_wanted(one.record)]
        self.known |= {one.record.id: one.record for one in kept}
        return kept

    def _is_wanted(self, record: Record) -> bool:
        wanted = self.entered.sees(record) and self.view.shows(record, self.now) and self.question.matches(record)
        return wanted and (self.rivals is None or self.rivals.counts(record))

    def _candidate(self, stored: Stored) -> Candidate:
        occurring = _occurring(searchable_text(stored.record))
        counts = tuple(occurring[word] for word in self.words)
        cosine = ranking.best_cosine(stored.vectors, self.asked.vector) if self.asked.vector else None
        return Candidate(stored.record.id, memory_partition(stored.record.place), counts, occurring.total(), cosine)

    def _verified(self, ranked: Sequence[Ranked], partitions: Mapping[str, str]) -> list[tuple[Record, Ranked]]:
        """Read in rank order, twice as many at a time as are wanted, until enough are alive; equals of the last too."""
        places = {memory_partition(place): place for place in self.entered.visible}
        results: list[tuple[Record, Ranked]] = []
        batch = 2 * self.question.limit
        for start in range(0, len(ranked), batch):
            several = ranked[start : start + batch]
            if self._has_enough(results, several[0]):
                break
            unread = {one.id: places[partitions[one.id]] for one in several if one.id not in self.known}
            read = self.known | (self.services.records.live(unread) if unread else {})
            alive = [(read[one.id], one) for one in several if one.id in read and self._is_wanted(read[one.id])]
            for result in self.rivals.settled(alive) if self.rivals else alive:
                if self._has_enough(results, result[1]):
                    return results
                results.append(result)
        return results

    def _has_enough(self, results: Sequence[tuple[Record, Ranked]], following: Ranked) -> bool:
        return len(results) >= self.question.limit and following.score < results[-1][1].score


@lru_cache(maxsize=256)
def _occurring(text: str) -> Counter[str]:
    """How often each word occurs. Kept, since what is not indexed yet is asked for again and again, and a long text
    takes milliseconds; the text of a record never changes."""
    return Counter(words.tokens(text))


_NOTHING = IndexAnswer([], [], Statistics())
