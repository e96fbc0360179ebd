"""The scores of one search on one machine, exact over every record of its scopes: pure arithmetic on numpy arrays.

A record is its place in the scopes of the search, laid end to end: they count as one collection.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain.bm25 import K1, B
from ..domain.ports import Spread
from .sqlite_postings import Postings

NO_VECTOR = -2.0  # below every cosine


class WordScores(NamedTuple):
    """score: of every record, 0 where it matches nothing or is not allowed; containing: allowed records per word."""

    score: NDArray[np.float64]
    containing: NDArray[np.int64]


def allowed_records(live: NDArray[np.bool_], postings: Postings, words: int, filters: int) -> NDArray[np.bool_]:
    """Live and under every filter; the terms from `words` on are the filters."""
    if not filters:
        return live
    held = np.bincount(postings.record[postings.term >= words], minlength=len(live))
    allowed: NDArray[np.bool_] = live & (held == filters)
    return allowed


def word_scores(postings: Postings, words: int, lengths: NDArray[np.uint32], tokens: int, documents: int) -> WordScores:
    """BM25 with the statistics of the allowed records; the postings are theirs alone."""
    containing = np.bincount(postings.term, minlength=words)
    rarity = np.log1p((documents - containing + 0.5) / (containing + 0.5))
    length = lengths[postings.record] * (documents / max(tokens, 1))
    weight = postings.times * (K1 + 1) / (postings.times + K1 * (1 - B + B * length))
    weights = rarity[postings.term] * weight
    score = np.bincount(postings.record, weights=weights, minlength=len(lengths)).astype(np.float64, copy=False)
    return WordScores(score, containing)


def best(scores: NDArray[np.floating], found: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The records with the highest scores among `found`, best first; of equal ones the later in the index."""
    if len(found) > limit:
        least = np.partition(scores[found], -limit)[-limit]
        above = found[scores[found] > least]
        equal = found[scores[found] == least]
        found = np.concatenate([above, equal[len(equal) - (limit - len(above)) :]])
    return found[np.lexsort((-found, -scores[found]))]


def spread_of(scores: NDArray[np.floating], documents: int) -> Spread | None:
    """Of the scores of those that have one, among `documents` of which the others count as 0."""
    if not len(scores) or not documents:
        return None
    exact = scores.astype(np.float64)
    mean = float(exact.sum()) / documents
    squares = float(np.square(exact - mean).sum()) + (documents - len(exact)) * mean * mean
    return Spread(top=float(exact.max()), mean=mean, deviation=math.sqrt(squares / documents))


def counts_of(postings: Postings, chosen: NDArray[np.int64], words: int, records: int) -> list[list[int]]:
    """How often each word occurs in each chosen record, in their order."""
    row = np.full(records, -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    mine = row[postings.record]
    is_chosen = mine >= 0
    counts = np.zeros((len(chosen), words), np.int64)
    counts[mine[is_chosen], postings.term[is_chosen]] = postings.times[is_chosen]
    rows: list[list[int]] = counts.tolist()
    return rows
