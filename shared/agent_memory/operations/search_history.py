"""What the tool `search_history` finds: what earlier turns of the session said (SPEC section 9).

Ranked as a search of the memory is (see `finding`): the index finds candidates, what it has not shown yet is read
before and ranked along, and every hit is read from its turn's messages before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_memory.domain import ranking
from agent_memory.domain.errors import EmbedderUnavailable, IndexUnavailable
from agent_memory.domain.history import KeptTurn
from agent_memory.domain.history_parts import Part
from agent_memory.domain.ports import Candidate, IndexAnswer, IndexQuery, Statistics
from agent_memory.domain.ranking import Mode, Ranked
from agent_memory.domain.tools import SearchHistory
from agent_memory.domain.words import query_words
from agent_memory.store.keys import history_partition

from .embed import Asked, Usage
from .enter import Entered
from .find import asked_for
from .finding import Degraded
from .index_history import Vectors, embed_parts, missing, page_of, texts_in
from .past import Past, Shown, fresh_parts
from .services import Services

BACKLOG = 100  # turns that the index has not shown and a search ranks along (RK-8)
FALLBACK = 200  # events that stand in for an index that does not answer (RK-8)
MOST_PARTS = 1000  # of both: 2 MB of text, whatever a turn has said
EMBEDDED_BY_SEARCH = 32  # texts of the newest parts that have no vectors yet: so that meaning finds them too (TU-4)

Fresh = tuple[KeptTurn, list[Part]]


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """events: in the order of the answer. What is read by its ids is not ranked."""

    events: Sequence[Shown]
    missing: Sequence[str] = ()
    ranked: int = 0
    degraded_reason: Degraded | None = None
    usage: Usage | None = None

    def output(self) -> dict[str, Any]:
        return self._output([{**shown.named(), "text": shown.text} for shown in self.events])

    def named(self) -> dict[str, Any]:
        """The same without the text, which the transcript joins when it is read (TR-2)."""
        return self._output([shown.named() for shown in self.events])

    def _output(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        reason = self.degraded_reason
        told = {"degraded": reason is not None, "degraded_reason": reason, "ranked": self.ranked}
        return {"events": list(events), "missing": list(self.missing), **told}


def search_history(services: Services, entered: Entered, request: SearchHistory) -> HistoryAnswer:
    past = Past.of_turn(services, entered.turn)
    if request.ids:
        found = past.by_ids(request.ids)
        return HistoryAnswer(
            [found[id] for id in request.ids if id in found], [id for id in request.ids if id not in found]
        )
    return _Search(services, entered, past, request.query or "", request.limit).answer()


class _Search:
    def __init__(self, services: Services, entered: Entered, past: Past, text: str, limit: int) -> None:
        self.services, self.past, self.text, self.limit = services, past, text, limit
        self.search = entered.config.memory.search
        self.words = query_words(text)

    def answer(self) -> HistoryAnswer:
        asked, ahead = self.services.together(
            lambda: asked_for(self.services, self.search, self.text), lambda: self.past.ahead(BACKLOG + 1)
        )
        fresh, is_cut = fresh_parts(self.services, ahead[:BACKLOG], most=MOST_PARTS)
        reason: Degraded | None = "index_behind" if is_cut or len(ahead) > BACKLOG else None
        try:
            found = self._indexed(asked)
        except IndexUnavailable:
            found, reason = _NOTHING, "index_down"
            turns = self.past.newest(FALLBACK)
            fresh, _ = fresh_parts(self.services, turns, most=MOST_PARTS, events=FALLBACK)
        if asked.down and reason is None:
            reason = "embedder_down"
        vectors, usage = self._vectors(fresh) if asked.vector else ({}, None)
        pool, statistics = ranking.pool(found, self._candidates(fresh, vectors, asked))
        knows_script = self.services.embedder.knows(self.text)
        mode: Mode = "lexical" if asked.vector is None else self.search.mode
        ranked = ranking.rank(mode, pool, statistics, floor=asked.floor, knows_script=knows_script)
        spent = asked.usage and asked.usage.plus(usage)
        return HistoryAnswer(self._verified(ranked), ranked=len(pool), degraded_reason=reason, usage=spent)

    def _indexed(self, asked: Asked) -> IndexAnswer:
        partitions = [history_partition(place) for place in self.past.places]
        query = IndexQuery(partitions, self.words, asked.vector, before=self.past.before.number)
        return self.services.history_index.search(query)

    def _candidates(self, fresh: Sequence[Fresh], vectors: Vectors, asked: Asked) -> list[Candidate]:
        return [self._candidate(kept, part, vectors.get(part.id, ()), asked) for kept, parts in fresh for part in parts]

    def _candidate(self, kept: KeptTurn, part: Part, vectors: Sequence[bytes], asked: Asked) -> Candidate:
        counted = part.counted
        counts = tuple(counted[word] for word in self.words)
        cosine = ranking.best_cosine(vectors, asked.vector) if asked.vector else None
        return Candidate(part.id, history_partition(kept.place), counts, counted.total(), cosine)

    def _vectors(self, fresh: Sequence[Fresh]) -> tuple[Vectors, Usage | None]:
        """Those that are stored, and the newest that are not; and what it cost to embed these."""
        stored = self._stored_vectors(fresh)
        try:
            new, usage = embed_parts(self.services, list(self._not_embedded(fresh, stored)))
        except EmbedderUnavailable:  # it answered the query: these are found by their words
            return stored, None
        return {**stored, **new}, usage

    def _stored_vectors(self, fresh: Sequence[Fresh]) -> Vectors:
        history, model = self.services.history, self.services.embedder.model
        calls = [lambda kept=kept: history.vectors(kept, model) for kept, _ in fresh]
        several: list[Vectors] = self.services.together(*calls) if calls else []
        return {id: vectors for known in several for id, vectors in known.items()}

    def _not_embedded(self, fresh: Sequence[Fresh], stored: Vectors) -> Iterator[Fresh]:
        """Of each turn the newest parts that have no vectors, as far as `EMBEDDED_BY_SEARCH` texts go in all."""
        room = EMBEDDED_BY_SEARCH
        for kept, parts in fresh:
            waiting = missing(parts, stored)[::-1]
            if waiting and room > 0:
                page = page_of(self.services, waiting, room)
                room -= texts_in(self.services, page)
                yield kept, page

    def _verified(self, ranked: Sequence[Ranked]) -> list[Shown]:
        """Read in rank order, twice as many at a time as are wanted; among equals the newer stands first (RK-2)."""
        shown: list[Shown] = []
        batch = 2 * self.limit
        for start in range(0, len(ranked), batch):
            several = ranked[start : start + batch]
            if len(shown) >= self.limit and several[0].score < (shown[self.limit - 1].score or 0.0):
                break
            shown += self.past.shown({one.id: one.score for one in several})
        newest_first = sorted(shown, key=lambda one: (one.event.id, -one.part), reverse=True)
        return sorted(newest_first, key=lambda one: one.score or 0.0, reverse=True)[: self.limit]


_NOTHING = IndexAnswer([], [], Statistics())
