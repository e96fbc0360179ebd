"""Makes one ranking of two, of words and of meaning, without a weight that must be set for a kind of text.

Each leg's scores are spread over 0 to 1 among its hundred best, then added with weights that follow the query. A leg
weighs by the square of how far its best stands out from all that is visible, z = (best - mean) / deviation: where one
record holds the words a question names, words decide; where all records hold them, meaning does. z of the cosines
counts double, since most word scores are zero, from which any match stands out far. z of the words counts in full when
any records hold two thirds of the query's words, weighed by rarity, and in proportion below: one number or name that an
English question shares with a Chinese text says little (nDCG@10 .85 against .81 there, and no other set lost).
"""

from __future__ import annotations

from math import sqrt
from operator import mul
from typing import NamedTuple

from .bm25 import idf
from .ports import Spread, Statistics

LEG = 100  # the best of each leg that count, as many as the index gives (DESIGN, "Ranking")
VECTOR_STRENGTH = 2.0  # by what z of cosines is multiplied
KNOWN_ENOUGH = 2 / 3  # of the query's words

Scores = list[tuple[float, str]]  # score to six decimals and id, best first, equals by the greater id


class Leg(NamedTuple):
    all: Scores
    best: Scores  # the first hundred


def leg_of(scores: Scores) -> Leg:
    """Puts scores in order."""
    ordered = sorted(scores, reverse=True)
    return Leg(ordered, ordered[:LEG])


def fuse(words: Leg, meaning: Leg, weight: float, documents: int) -> dict[str, float]:
    """Scores of 0 to 1, by id, of all that stands in a leg. documents: how many are visible, indexed or not."""
    # A record that matches no word has 0 in the leg of words, so where such stand in it, they are its lowest.
    low = 0.0 if len(words.all) < min(LEG, documents) else None
    fused = {id: weight * score for id, score in _spread_out(words.best, low)}
    for id, score in _spread_out(meaning.best):
        fused[id] = fused.get(id, 0.0) + (1 - weight) * score
    return fused


def _spread_out(best: Scores, low: float | None = None) -> list[tuple[str, float]]:
    """A leg on a scale from `low`, else from the last of it, 0, to the first, 1; all 1 where they are equal."""
    if not best:
        return []
    bottom = best[-1][0] if low is None else low
    width = best[0][0] - bottom
    return [(id, (score - bottom) / width if width else 1.0) for score, id in best]


def weight_of_words(words: Leg, meaning: Leg, statistics: Statistics, documents: int, *, has_all: bool) -> float:
    """0 to 1. A leg's own scores give its spread where they are all there is (`has_all`: of the visible); else the
    statistics do."""
    if not words.all or not meaning.all:
        return 1.0 if words.all else 0.0
    has_all_words = has_all or len(words.all) < LEG  # else more may match than the index gave
    lexical = (None if has_all_words else statistics.lexical) or _spread(words.all, documents)
    vector = (None if has_all else statistics.vector) or _spread(meaning.all, len(meaning.all))
    z_words = _stand_out(lexical.top, lexical) * min(1.0, _known_share(statistics) / KNOWN_ENOUGH)
    z_meaning = VECTOR_STRENGTH * _stand_out(meaning.best[0][0], vector)  # a sampled spread may have missed the best
    return z_words**2 / (z_words**2 + z_meaning**2) if z_words or z_meaning else 0.5


def _spread(scores: Scores, documents: int) -> Spread:
    """Of these scores, and zeros for the rest of the documents."""
    values = [score for score, _ in scores]
    mean = sum(values) / documents
    variance = sum(map(mul, values, values)) / documents - mean * mean
    return Spread(values[0], mean, sqrt(variance) if variance > 1e-12 else 0.0)


def _stand_out(top: float, spread: Spread) -> float:
    return (top - spread.mean) / spread.deviation if spread.deviation > 0 else 0.0


def _known_share(statistics: Statistics) -> float:
    """How much of the query's words any record holds, by idf, 0 to 1."""
    weights = idf(statistics)
    known = sum(weight for weight, n in zip(weights, statistics.containing, strict=True) if n)
    return known / (sum(weights) or 1.0)
