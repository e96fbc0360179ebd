"""Ranks what the index found, together with what it has not seen, by words, by meaning, or by both.

Knows BM25, the legs of a hundred, the floor of the cosine, the fusion and the order of equals. Leaves to others: which
records are candidates and whether they are alive (the search), what a word is (`words.py`), vectors (the embedder).

**The fusion.** Each leg's scores are spread over 0 to 1 among its hundred best, then added with weights that follow the
query: a leg weighs by how far its best stands out from all that is visible, z = (best - mean) / deviation. With words a
question names what it wants, one record stands far above the rest and words decide; where every record has the same few
words, or none, meaning does. z of the cosines counts double, since they lie closer to a normal distribution, whose best
stands out less than that of word scores, most of which are zero.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import log, sqrt
from operator import mul
from typing import Literal, NamedTuple

from .ports import Candidate, IndexAnswer, Spread, Statistics

Mode = Literal["hybrid", "lexical", "vector"]

LEG = 100  # the best of each leg that count, as many as the index gives (DESIGN, "Ranking")
K1, B = 1.2, 0.75  # BM25: saturation of a word's count, weight of a text's length (Robertson & Zaragoza 2009)
VECTOR_STRENGTH = 2.0  # by what z of cosines is multiplied, see above


class Ranked(NamedTuple):
    """A result. score: BM25 in lexical mode, the cosine in vector mode, 0 to 1 in hybrid; six decimals, as is cosine
    (None in lexical mode and where it is not known). Ranks count from 1, equals share one; None: not in that leg."""

    id: str
    score: float
    cosine: float | None
    lexical_rank: int | None
    vector_rank: int | None


# ---------------------------------------------------------------- the pool


def pool(answer: IndexAnswer, unindexed: Iterable[Candidate] = ()) -> tuple[list[Candidate], Statistics]:
    """What to rank, each id once, and the statistics of the index and the unindexed together.

    Where both know a record, the unindexed one stands and is not counted again.
    """
    indexed = {found.id: found for leg in (answer.lexical, answer.vector) for found in leg}
    extra = {found.id: found for found in unindexed}
    statistics = with_unindexed(answer.statistics, [found for found in extra.values() if found.id not in indexed])
    return list((indexed | extra).values()), statistics


def with_unindexed(statistics: Statistics, unindexed: Sequence[Candidate]) -> Statistics:
    """The statistics of the index with documents added that it has not seen; its spreads stay as they are.

    Scored by their own frequencies alone, unindexed records lose twelve points of recall (DESIGN, "Ranking").
    """
    if not unindexed:
        return statistics
    columns = zip(*(found.counts for found in unindexed), strict=True)
    added = [sum(map(bool, column)) for column in columns]
    before = statistics.containing or [0] * len(added)
    return replace(
        statistics,
        documents=statistics.documents + len(unindexed),
        tokens=statistics.tokens + sum(found.length for found in unindexed),
        containing=tuple(old + new for old, new in zip(before, added, strict=True)),
    )


# ---------------------------------------------------------------- words


def bm25(counts: Sequence[int], length: int, statistics: Statistics) -> float:
    """The word score of one document: Σ idf · count · (k1 + 1) / (count + k1 · (1 - b + b · length / average))."""
    return _scorer(statistics)(counts, length)


def _scorer(statistics: Statistics) -> Callable[[Sequence[int], int], float]:
    number = statistics.documents
    # Where counts come from a lagging replica a word may seem to be in more documents than there are: then idf is 0.
    idf = [log(1 + max(number - n + 0.5, 0) / (n + 0.5)) * (K1 + 1) for n in statistics.containing]
    short, per_token = K1 * (1 - B), K1 * B * number / max(statistics.tokens, 1)

    def score(counts: Sequence[int], length: int) -> float:
        base = short + per_token * length
        return sum([weight * count / (count + base) for weight, count in zip(idf, counts, strict=False) if count])

    return score


# ---------------------------------------------------------------- ranking


def rank(
    mode: Mode,
    candidates: Sequence[Candidate],
    statistics: Statistics,
    *,
    floor: float,
    knows_script: bool = True,
) -> list[Ranked]:
    """Rank candidates (each id once, as `pool` gives them), best first; equals by the greater id, which is the newer.

    Lexical: records that share a word with the query. Vector: records whose cosine is at least `floor`. Hybrid: both
    kinds, fused; with `knows_script` false (`Embedder.knows` of the query) by words where any word matches.
    """
    words = _ordered([] if mode == "vector" else _word_scores(candidates, statistics))
    meaning = _ordered([] if mode == "lexical" else _cosines(candidates))
    near = {id: cosine for cosine, id in meaning if cosine >= round(floor, 6)}
    if mode == "hybrid":
        documents = max(statistics.documents, len(candidates))
        weight = _weight_of_words(words, meaning, statistics, documents=documents, has_all=documents == len(candidates))
        scores = _fused(words, meaning, weight if knows_script or not words else 1.0, documents)
        kept = near.keys() | {id for _, id in words}
        found = [(round(scores.get(id, 0.0), 6), id) for id in kept]
    else:
        found = words if mode == "lexical" else [(cosine, id) for id, cosine in near.items()]
    cosine_by_id = {id: cosine for cosine, id in meaning}
    word_ranks, meaning_ranks = _ranks(words), _ranks(meaning)
    return [
        Ranked(id, score, cosine_by_id.get(id), word_ranks.get(id), meaning_ranks.get(id))
        for score, id in sorted(found, reverse=True)
    ]


def below_floor(mode: Mode, candidates: Iterable[Candidate], *, floor: float) -> int:
    """How many candidates `rank` leaves out for their cosine alone (CF-6)."""
    least = round(floor, 6)
    return sum(
        found.cosine is not None and round(found.cosine, 6) < least and not (mode == "hybrid" and any(found.counts))
        for found in (() if mode == "lexical" else candidates)
    )


_Scores = list[tuple[float, str]]  # score to six decimals and id; a leg: best first, equals by the greater id


def _ordered(scores: _Scores) -> _Scores:
    return sorted(scores, reverse=True)


def _word_scores(candidates: Iterable[Candidate], statistics: Statistics) -> _Scores:
    score = _scorer(statistics)
    return [(round(score(found.counts, found.length), 6), found.id) for found in candidates if any(found.counts)]


def _cosines(candidates: Iterable[Candidate]) -> _Scores:
    return [(round(found.cosine, 6), found.id) for found in candidates if found.cosine is not None]


def _ranks(leg: _Scores) -> dict[str, int]:
    """1 for the best; equals share the first rank among them. The best hundred alone have one."""
    ranks: dict[str, int] = {}
    shared, last = 0, None
    for at, (score, id) in enumerate(leg[:LEG], 1):
        if score != last:
            shared, last = at, score
        ranks[id] = shared
    return ranks


# ---------------------------------------------------------------- fusion


def _fused(words: _Scores, meaning: _Scores, weight: float, documents: int) -> dict[str, float]:
    """Scores of 0 to 1 of all that stands among the best hundred of a leg."""
    # A record that matches no word has 0 in the leg of words, so where such stand in it, they are its lowest.
    low = 0.0 if len(words) < min(LEG, documents) else None
    fused = {id: weight * score for id, score in _spread_out(words, low)}
    for id, score in _spread_out(meaning):
        fused[id] = fused.get(id, 0.0) + (1 - weight) * score
    return fused


def _spread_out(leg: _Scores, low: float | None = None) -> list[tuple[str, float]]:
    """The best hundred on a scale from `low`, else the last of them, 0, to the first, 1; all 1 where they are equal."""
    best = leg[:LEG]
    if not best:
        return []
    bottom = best[-1][0] if low is None else low
    width = best[0][0] - bottom
    return [(id, (score - bottom) / width if width else 1.0) for score, id in best]


def _weight_of_words(
    words: _Scores, meaning: _Scores, statistics: Statistics, *, documents: int, has_all: bool
) -> float:
    """0 to 1. `has_all`: the candidates are all that is visible, so that their own spread is exact."""
    if not words or not meaning:
        return 1.0 if words else 0.0
    has_all_words = has_all or len(words) < LEG  # else more records match than the index gave
    cosines = statistics.vector and replace(statistics.vector, top=meaning[0][0])  # a sample may miss the best
    lexical = _stand_out(words, None if has_all_words else statistics.lexical, documents)
    vector = VECTOR_STRENGTH * _stand_out(meaning, None if has_all else cosines, len(meaning))
    return lexical**2 / (lexical**2 + vector**2) if lexical or vector else 0.5


def _stand_out(leg: _Scores, spread: Spread | None, documents: int) -> float:
    """z of the best, from the spread or, without one, from the leg itself and zeros for all other documents."""
    if spread is not None:
        return (spread.top - spread.mean) / spread.deviation if spread.deviation > 0 else 0.0
    mean = sum(score for score, _ in leg) / documents
    variance = sum(score * score for score, _ in leg) / documents - mean * mean
    return (leg[0][0] - mean) / sqrt(variance) if variance > 1e-12 else 0.0


# ---------------------------------------------------------------- cosine


_sum_of_products: Callable[[Iterable[float], Iterable[float]], float] = getattr(
    math,
    "sumprod",
    lambda left, right: sum(map(mul, left, right)),  # Python 3.12 has it, four times as fast
)


def cosine(vector: Sequence[float] | bytes, other: Sequence[float] | bytes) -> float:
    """The cosine of two vectors of unit length, −1 to 1; bytes are little-endian float32 as the table keeps them."""
    return max(-1.0, min(1.0, _sum_of_products(_floats(vector), _floats(other))))


def best_cosine(parts: Iterable[bytes], query: Sequence[float]) -> float | None:
    """The cosine of a record: that of its best part (RK-1); None where it has no vector yet."""
    return max((cosine(part, query) for part in parts), default=None)


def _floats(vector: Sequence[float] | bytes) -> Sequence[float]:
    if not isinstance(vector, bytes):
        return vector
    floats = array("f", vector)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats
