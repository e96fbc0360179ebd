"""The word score of a document (BM25), from counts that the index gives for the records under the filter alone.

Knows the formula and how documents that the index has not seen join its statistics. Leaves words to `words.py`, ranks
to `ranking.py`. Computed here and not by a backend, so that both backends and the unindexed are scored alike, and no
other owner's words weigh in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log

from .ports import Candidate, Statistics

K1, B = 1.2, 0.75  # saturation of a word's count, weight of a text's length (Robertson & Zaragoza 2009)


def bm25(counts: Sequence[int], length: int, statistics: Statistics) -> float:
    """The word score of one document: Σ idf · count · (k1 + 1) / (count + k1 · (1 - b + b · length / average))."""
    return word_scores([Candidate("", "", tuple(counts), length, None)], statistics)[0]


def word_scores(candidates: Iterable[Candidate], statistics: Statistics) -> list[float]:
    """`bm25` of each candidate, in order. Plain loops: numpy is not there on Lambda, and a comprehension for each
    candidate costs half as much again."""
    weights = [weight * (K1 + 1) for weight in idf(statistics)]
    fixed, per_token = K1 * (1 - B), K1 * B * statistics.documents / max(statistics.tokens, 1)
    scores = []
    for candidate in candidates:
        base = fixed + per_token * candidate.length
        score = 0.0
        for weight, count in zip(weights, candidate.counts, strict=False):
            if count:
                score += weight * count / (count + base)
        scores.append(score)
    return scores


def idf(statistics: Statistics) -> list[float]:
    """How much each word of the query tells, by its rarity; never negative."""
    # Where counts come from a lagging replica a word may seem to be in more documents than there are: then it is 0.
    number = statistics.documents
    return [log(1 + max(number - n + 0.5, 0) / (n + 0.5)) for n in statistics.containing]


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
