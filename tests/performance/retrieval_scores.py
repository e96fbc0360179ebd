"""How good a ranking is, against the documents that answer: recall and normalised discounted cumulative gain at k."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2


def recall_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """The share of the gold documents among the first k; 0 where there is none to find."""
    return len(set(ranking[:k]) & set(gold)) / len(gold) if gold else 0.0


def ndcg_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Gains of 1 discounted by log2(rank + 1), against the best order (Järvelin & Kekäläinen, TOIS 2002)."""
    gain = sum(1 / log2(rank + 1) for rank, id in enumerate(ranking[:k], 1) if id in gold)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    return gain / ideal if ideal else 0.0


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
