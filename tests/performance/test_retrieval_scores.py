"""The arithmetic of the quality benchmark."""

from __future__ import annotations

from math import log2

import pytest
from quality import Scores, verdict
from retrieval_scores import mean, ndcg_at, recall_at

RANKING = ["a", "x", "b", "y", "c"]


@pytest.mark.parametrize(("k", "share"), [(1, 1 / 3), (2, 1 / 3), (3, 2 / 3), (5, 1.0), (10, 1.0)])
def test_recall_is_the_share_of_the_gold_documents_among_the_first_k(k: int, share: float) -> None:
    assert recall_at(k, RANKING, {"a", "b", "c"}) == pytest.approx(share)


def test_a_question_without_gold_documents_scores_nothing() -> None:
    assert recall_at(5, RANKING, set()) == ndcg_at(5, RANKING, set()) == 0


def test_ndcg_of_the_best_order_is_one() -> None:
    assert ndcg_at(10, ["a", "b", "x"], {"a", "b"}) == 1


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    assert ndcg_at(10, ["x", "a", "b"], {"a", "b"}) == pytest.approx((1 / log2(3) + 1 / 2) / (1 + 1 / log2(3)))


def test_ndcg_compares_with_no_more_documents_than_k() -> None:
    assert ndcg_at(1, ["a"], {"a", "b", "c"}) == 1


def test_the_mean_of_nothing_is_nothing() -> None:
    assert mean([]) == 0
    assert mean([1.0, 0.0]) == 0.5


def test_the_verdict_compares_hybrid_with_the_better_leg() -> None:
    scores = {"lexical": Scores(0.5, 0.6, 0.5), "vector": Scores(0.4, 0.7, 0.4), "hybrid": Scores(0.6, 0.65, 0.6)}
    assert verdict(scores) == "hybrid FELL BELOW the better leg (vector) by 0.050 in recall@10"
    scores["hybrid"] = Scores(0.6, 0.71, 0.6)
    assert verdict(scores) == "hybrid did not fall below the better leg (vector): +0.010 in recall@10"
