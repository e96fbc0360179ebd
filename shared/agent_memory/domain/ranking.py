"""Ranks what the index found, together with what it has not seen, by words, by meaning, or by both.

Knows the three modes, the floor of the cosine and the order of equals. Leaves to others: the word score (`bm25.py`),
how both are weighed (`fusion.py`), what a word is (`words.py`), vectors (the embedder), and which records are
candidates and whether they are alive (the search).
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from operator import mul
from typing import Literal, NamedTuple, assert_never

from .bm25 import bm25, with_unindexed, word_scores
from .fusion import LEG, Leg, Scores, fuse, leg_of, weight_of_words
from .ports import Candidate, IndexAnswer, Statistics

__all__ = ["LEG", "Mode", "Ranked", "below_floor", "best_cosine", "bm25", "cosine", "pool", "rank", "with_unindexed"]

Mode = Literal["hybrid", "lexical", "vector"]


class Ranked(NamedTuple):
    """A result. score: BM25 in lexical mode, the cosine in vector mode, 0 to 1 in hybrid; six decimals, as is cosine
    (None in lexical mode and where it is not known). Ranks count from 1, equals share one; None: not in that leg."""

    id: str
    score: float
    cosine: float | None
    lexical_rank: int | None
    vector_rank: int | None


def pool(answer: IndexAnswer, unindexed: Iterable[Candidate] = ()) -> tuple[list[Candidate], Statistics]:
    """What to rank, each id once, and the statistics of the index and the unindexed together.

    Where both know a record, the unindexed one stands and is not counted again.
    """
    indexed = {found.id: found for leg in (answer.lexical, answer.vector) for found in leg}
    extra = {found.id: found for found in unindexed}
    statistics = with_unindexed(answer.statistics, [found for found in extra.values() if found.id not in indexed])
    return list((indexed | extra).values()), statistics


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
    kinds, fused; with `knows_script` false (`Embedder.knows` of the query) by words where any word matches. At most the
    hundred best of each kind, so that an index that gives more and one that gives less answer alike.
    """
    words = leg_of([] if mode == "vector" else _word_scores(candidates, statistics))
    meaning = leg_of([] if mode == "lexical" else _cosines(candidates))
    least = round(floor, 6)
    near = [(cosine, id) for cosine, id in meaning.best if cosine >= least]
    match mode:
        case "lexical":
            found = words.best
        case "vector":
            found = near
        case "hybrid":
            fused = _fused(words, meaning, statistics, len(candidates), knows_script)
            found = sorted([(fused[id], id) for id in {id for _, id in (*words.best, *near)}], reverse=True)
        case _:
            assert_never(mode)
    cosine_by_id = {id: cosine for cosine, id in meaning.all}
    word_ranks, meaning_ranks = _ranks(words.best), _ranks(meaning.best)
    return [Ranked(id, score, cosine_by_id.get(id), word_ranks.get(id), meaning_ranks.get(id)) for score, id in found]


def _fused(words: Leg, meaning: Leg, statistics: Statistics, candidates: int, knows_script: bool) -> dict[str, float]:
    documents = max(statistics.documents, candidates)
    if knows_script or not words.all:
        weight = weight_of_words(words, meaning, statistics, documents, has_all=documents == candidates)
    else:
        weight = 1.0
    return {id: round(score, 6) for id, score in fuse(words, meaning, weight, documents).items()}


def below_floor(mode: Mode, candidates: Iterable[Candidate], *, floor: float) -> int:
    """How many candidates are no result for their cosine alone (CF-6)."""
    least = round(floor, 6)
    return sum(
        found.cosine is not None
        and found.cosine < least  # what lies below when rounded lies below before, and rounding takes long
        and round(found.cosine, 6) < least
        and not (mode == "hybrid" and any(found.counts))
        for found in (() if mode == "lexical" else candidates)
    )


def _word_scores(candidates: Iterable[Candidate], statistics: Statistics) -> Scores:
    matching = [found for found in candidates if any(found.counts)]
    scores = word_scores(matching, statistics)
    return [(round(score, 6), found.id) for score, found in zip(scores, matching, strict=True)]


def _cosines(candidates: Iterable[Candidate]) -> Scores:
    return [(round(found.cosine, 6), found.id) for found in candidates if found.cosine is not None]


def _ranks(best: Scores) -> dict[str, int]:
    """1 for the best; equals share the first rank among them."""
    ranks: dict[str, int] = {}
    shared, last = 0, None
    for at, (score, id) in enumerate(best, 1):
        if score != last:
            shared, last = at, score
        ranks[id] = shared
    return ranks


# ---------------------------------------------------------------- cosine


_sum_of_products: Callable[[Iterable[float], Iterable[float]], float] = getattr(
    math,
    "sumprod",
    lambda left, right: sum(map(mul, left, right)),  # before Python 3.12
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
