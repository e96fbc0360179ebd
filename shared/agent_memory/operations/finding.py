"""One ranked search, whosever records they are (RK-1 to RK-8).

The index only finds candidates. What the store has committed and the index has not shown yet was read before the search
is sent, and is ranked along. Every hit is read from the store before it is believed. A subclass says whose records are
searched, where they lie and which of them count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from agent_memory.domain import ranking, words
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import Candidate, IndexAnswer, IndexQuery, Statistics
from agent_memory.domain.ranking import Mode, Ranked
from agent_memory.domain.records import Record, searchable_text
from agent_memory.domain.scopes import Place
from agent_memory.store.keys import memory_partition
from agent_memory.store.records import BACKLOG, Stored

from .embed import Asked, Usage
from .services import Services

FALLBACK = 200  # newest records of each place that stand in for an index that does not answer (RK-8)

Degraded = Literal["embedder_down", "index_down", "index_behind"]
Result = tuple[Record, Ranked]


@dataclass(frozen=True, slots=True)
class Found:
    """results: best first, at least as many as were wanted where there are, and all that equal the last of them."""

    results: list[Result]
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
class Unindexed:
    """Committed, and not shown by the index: the newest changes, and whether there are more (RK-8)."""

    places: Mapping[str, Place]
    behind: bool

    @classmethod
    def of(cls, several: Iterable[tuple[Place, Sequence[str]]]) -> Unindexed:
        """Of these places, each with the records that changed there, newest first."""
        found, behind = dict[str, Place](), False
        for place, ids in several:
            found |= dict.fromkeys(ids[:BACKLOG], place)
            behind |= len(ids) > BACKLOG
        return cls(found, behind)


def unranked(services: Services) -> Found:
    """Of what is read and not ranked: whole, but for a replay that looked at less than there was."""
    return Found([], degraded_reason="index_behind" if services.records.is_cut else None)


@dataclass(frozen=True, slots=True)
class _Pool:
    candidates: Sequence[Candidate]
    statistics: Statistics
    reason: Degraded | None


class Finding(ABC):
    """text: not blank. limit: how many results are wanted. asked: the text as the ranking takes it. unindexed: read
    before the search is sent: the other way round a record could be in neither."""

    def __init__(
        self, services: Services, text: str, limit: int, *, mode: Mode, asked: Asked, unindexed: Unindexed
    ) -> None:
        self.services, self.text, self.limit = services, text, limit
        self.asked, self.unindexed = asked, unindexed
        self.words = words.query_words(text)
        self.mode: Mode = "lexical" if asked.vector is None else mode
        self.now = services.clock.now()
        self._known: dict[str, Record] = {}  # read from the store already

    # ---------------------------------------------------------------- whose records

    @abstractmethod
    def query(self) -> IndexQuery:
        """Which records the index is asked for, without words and vector."""

    @abstractmethod
    def newest(self) -> Iterable[Record]:
        """Those that stand in for an index that does not answer."""

    @abstractmethod
    def places(self, partitions: Mapping[str, str]) -> Mapping[str, Place]:
        """Where candidates lie, by id. partitions: as the index said; one that lies nowhere is left out."""

    @abstractmethod
    def wants(self, record: Record) -> bool:
        """Whether a record, as the store has it, counts."""

    def staged(self) -> Iterable[Record]:
        """Records that are found besides, and lie in no index."""
        return ()

    def settled(self, batch: Sequence[Result]) -> Iterable[Result]:
        """What of a batch of records that count, in rank order, is a result."""
        return batch

    def read_fresh(self) -> list[Stored]:
        """What the index has not shown yet."""
        places = self.unindexed.places
        return self.services.records.stored(places, self.services.embedder.model) if places else []

    def read_newest(self) -> list[Stored]:
        return self._with_vectors(self.newest())

    def read_staged(self) -> list[Stored]:
        return self._with_vectors(self.staged())

    def beside(self) -> None:
        """Reads what else is needed, while the index is searched."""
        return

    # ---------------------------------------------------------------- the search

    def found(self) -> Found:
        return self._found(self.mode, self._pool())

    def _found(self, mode: Mode, pool: _Pool) -> Found:
        """What of the pool is found in one mode; the legs of a search may be asked one by one."""
        floor, knows_script = self.asked.floor, self.services.embedder.knows(self.text)
        ranked = ranking.rank(mode, pool.candidates, pool.statistics, floor=floor, knows_script=knows_script)
        below = ranking.below_floor(mode, pool.candidates, floor=floor)
        results = self._verified(ranked, {c.id: c.partition for c in pool.candidates})
        return Found(results, len(pool.candidates), below, pool.reason, self.asked.usage, self.asked.vector)

    def _pool(self) -> _Pool:
        answer, fresh, reason = self._candidates()
        extra = [self._candidate(stored) for stored in fresh]
        pool, statistics = ranking.pool(answer, extra)
        # What changed and does not count any more is ranked no more, however far the index lags.
        gone = self.unindexed.places.keys() - {stored.record.id for stored in fresh}
        return _Pool([candidate for candidate in pool if candidate.id not in gone], statistics, reason)

    def _candidates(self) -> tuple[IndexAnswer, list[Stored], Degraded | None]:
        reason: Degraded | None = "embedder_down" if self.asked.down else None
        records = self.services.records
        if not records.is_indexed:
            self.beside()
            stands = self._from_the_store()
            return _NOTHING, stands, "index_behind" if records.is_cut else reason
        try:
            _, fresh, answer = self.services.together(self.beside, self._fresh, self._search)
        except IndexUnavailable:
            return _NOTHING, self._from_the_store(), "index_down"
        fresh += self._eligible(self.read_staged())
        return answer, fresh, "index_behind" if self.unindexed.behind else reason

    def _from_the_store(self) -> list[Stored]:
        """What stands in for an index that does not answer, or that is not asked: it knows nothing of the past."""
        return self._eligible([*self.read_newest(), *self.read_staged()])

    def _search(self) -> IndexAnswer:
        return self.services.index.search(replace(self.query(), words=self.words, vector=self.asked.vector))

    def _fresh(self) -> list[Stored]:
        return self._eligible(self.read_fresh())

    def _with_vectors(self, records: Iterable[Record]) -> list[Stored]:
        by_id = {record.id: record for record in records}
        places = {id: record.place for id, record in by_id.items()}
        is_compared = places and self.asked.vector
        vectors = self.services.records.vectors(places, self.services.embedder.model) if is_compared else {}
        return [Stored(record, vectors.get(id, ())) for id, record in by_id.items()]

    def _eligible(self, stored: Iterable[Stored]) -> list[Stored]:
        kept = [one for one in stored if self.wants(one.record)]
        self._known |= {one.record.id: one.record for one in kept}
        return kept

    def _candidate(self, stored: Stored) -> Candidate:
        occurring = _occurring(searchable_text(stored.record))
        counts = tuple(occurring[word] for word in self.words)
        cosine = ranking.best_cosine(stored.vectors, self.asked.vector) if self.asked.vector else None
        return Candidate(stored.record.id, memory_partition(stored.record.place), counts, occurring.total(), cosine)

    def _verified(self, ranked: Sequence[Ranked], partitions: Mapping[str, str]) -> list[Result]:
        """Read in rank order, twice as many at a time as are wanted, until enough are alive; equals of the last too."""
        results: list[Result] = []
        batch = 2 * self.limit
        for start in range(0, len(ranked), batch):
            several = ranked[start : start + batch]
            if self._has_enough(results, several[0]):
                break
            read = self._read({one.id: partitions[one.id] for one in several})
            alive = [(read[one.id], one) for one in several if one.id in read and self.wants(read[one.id])]
            for result in self.settled(alive):
                if self._has_enough(results, result[1]):
                    return results
                results.append(result)
        return results

    def _read(self, partitions: Mapping[str, str]) -> Mapping[str, Record]:
        unread = {id: partition for id, partition in partitions.items() if id not in self._known}
        places = self.places(unread) if unread else {}
        self._known |= self.services.records.live(places) if places else {}
        return self._known

    def _has_enough(self, results: Sequence[Result], following: Ranked) -> bool:
        return len(results) >= self.limit and following.score < results[-1][1].score


def cosines_of(
    services: Services, found: Found, shown: Sequence[tuple[Record, Ranked | None]]
) -> dict[str, float | None]:
    """By id. Of records that only their words found, or that are shown unasked, the index tells none: those are
    computed from the stored vectors. None: the record has no vector, or the query has none."""
    known = {record.id: ranked.cosine if ranked else None for record, ranked in shown}
    if found.vector is None:
        return known
    unknown = {record.id: record.place for record, _ in shown if known[record.id] is None}
    vectors = services.records.vectors(unknown, services.embedder.model) if unknown else {}
    return known | {id: ranking.best_cosine(parts, found.vector) for id, parts in vectors.items()}


def explained(ranked: Ranked | None, cosine: float | None) -> dict[str, Any]:
    """What `explain` adds to a record that is shown."""
    ranks = {"lexical": ranked and ranked.lexical_rank, "vector": ranked and ranked.vector_rank}
    return {"cosine": cosine, "ranks": ranks}


@lru_cache(maxsize=256)
def _occurring(text: str) -> Counter[str]:
    """How often each word occurs. Kept, since what is not indexed yet is asked for again and again, and a long text
    takes milliseconds; the text of a record never changes."""
    return Counter(words.tokens(text))


_NOTHING = IndexAnswer([], [], Statistics())
