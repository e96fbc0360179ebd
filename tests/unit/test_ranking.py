import math
import struct

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_memory.domain.ports import Candidate, IndexAnswer, Spread, Statistics
from agent_memory.domain.ranking import LEG, Ranked, below_floor, best_cosine, bm25, cosine, pool, rank, with_unindexed

UNHURRIED = settings(deadline=None)  # a busy machine is no failure
NO_FLOOR = -1.0


def candidate(id: str, *counts: int, cosine: float | None = None, length: int = 10) -> Candidate:
    return Candidate(id, "p", counts, length, cosine)


def of(candidates: list[Candidate]) -> Statistics:
    """The statistics of a scope that holds these alone."""
    return with_unindexed(Statistics(), candidates)


def ids(ranked: list[Ranked]) -> list[str]:
    return [found.id for found in ranked]


# ---------------------------------------------------------------- words


def test_bm25_is_that_of_the_books() -> None:
    # idf = ln(1 + (10 - 2 + .5) / (2 + .5)) = ln 4.4; the count's part 2 · 2.2 / (2 + 1.2 · (.25 + .75 · 20 / 10)).
    expected = math.log(4.4) * 4.4 / (2 + 1.2 * 1.75)
    assert bm25([2, 0], 20, Statistics(documents=10, tokens=100, containing=(2, 5))) == pytest.approx(expected)


def test_a_rarer_word_a_higher_count_and_a_shorter_text_score_higher() -> None:
    statistics = Statistics(documents=100, tokens=1000, containing=(2, 50))
    assert bm25([1, 0], 10, statistics) > bm25([0, 1], 10, statistics) > 0
    assert bm25([2, 0], 10, statistics) > bm25([1, 0], 10, statistics) > bm25([1, 0], 20, statistics)


def test_statistics_that_lag_behind_make_no_negative_score() -> None:
    assert bm25([1], 10, Statistics(documents=3, tokens=30, containing=(9,))) >= 0
    assert bm25([1], 10, Statistics(documents=1, tokens=0, containing=(1,))) >= 0


@pytest.mark.rule("RK-5")
def test_unindexed_records_count_in_the_statistics_they_are_scored_by() -> None:
    indexed = Statistics(documents=10, tokens=100, containing=(1, 0))
    counted = with_unindexed(indexed, [candidate("a", 1, 1, length=7), candidate("b", 0, 3, length=3)])
    assert (counted.documents, counted.tokens, counted.containing) == (12, 110, (2, 2))


@pytest.mark.rule("RK-5")
def test_a_record_that_index_and_store_both_give_is_ranked_once_as_the_store_has_it() -> None:
    indexed = candidate("a", 1, cosine=0.1)
    answer = IndexAnswer([indexed], [indexed], Statistics(documents=1, tokens=10, containing=(1,)))
    candidates, statistics = pool(answer, [candidate("a", 2, cosine=0.2), candidate("b", 1, cosine=0.3)])
    assert sorted(candidates, key=lambda found: found.id) == [
        candidate("a", 2, cosine=0.2),
        candidate("b", 1, cosine=0.3),
    ]
    assert statistics.documents == 2


# ---------------------------------------------------------------- modes


@pytest.mark.rule("RK-1")
def test_vector_mode_ranks_by_cosine_and_cuts_at_the_floor() -> None:
    found = [
        candidate("a", 5, cosine=0.2),
        candidate("b", 0, cosine=0.9),
        candidate("c", 9),
        candidate("d", 0, cosine=0.5),
    ]
    ranked = rank("vector", found, of(found), floor=0.5)
    assert ranked == [Ranked("b", 0.9, 0.9, None, 1), Ranked("d", 0.5, 0.5, None, 2)]
    assert below_floor("vector", found, floor=0.5) == 1


@pytest.mark.rule("RK-1", "RK-3")
def test_lexical_mode_ranks_by_words_alone_and_no_floor_cuts() -> None:
    found = [candidate("a", 1, cosine=0.1), candidate("b", 3, cosine=0.0), candidate("c", 0, cosine=1.0)]
    ranked = rank("lexical", found, of(found), floor=1.0)
    assert ids(ranked) == ["b", "a"]
    assert [(one.cosine, one.lexical_rank, one.vector_rank) for one in ranked] == [(None, 1, None), (None, 2, None)]
    assert ranked[0].score == round(bm25([3], 10, of(found)), 6)
    assert below_floor("lexical", found, floor=1.0) == 0


@pytest.mark.rule("RK-1")
def test_hybrid_mode_spares_a_shared_word_the_floor_and_no_other_record() -> None:
    found = [
        candidate("a", 1, cosine=0.1),
        candidate("b", 0, cosine=0.1),
        candidate("c", 0, cosine=0.6),
        candidate("d", 1),
    ]
    assert set(ids(rank("hybrid", found, of(found), floor=0.5))) == {"a", "c", "d"}
    assert below_floor("hybrid", found, floor=0.5) == 1


@pytest.mark.rule("RK-1", "RK-2")
def test_the_floor_is_compared_to_six_decimals() -> None:
    found = [candidate("a", cosine=0.4999999), candidate("b", cosine=0.4999990)]
    assert ids(rank("vector", found, of(found), floor=0.5)) == ["a"]
    assert ids(rank("hybrid", found, of(found), floor=0.5)) == ["a"]


@pytest.mark.rule("RK-4")
@pytest.mark.parametrize(("mode", "expected"), [("hybrid", ["b", "a"]), ("vector", ["b", "a"]), ("lexical", [])])
def test_a_query_without_words_is_answered_by_meaning_or_not_at_all(mode: str, expected: list[str]) -> None:
    found = [candidate("a", cosine=0.3), candidate("b", cosine=0.4)]
    assert ids(rank(mode, found, of(found), floor=NO_FLOOR)) == expected  # type: ignore[arg-type]


def test_nothing_ranks_to_nothing() -> None:
    assert rank("hybrid", [], Statistics(), floor=0) == rank("lexical", [], Statistics(), floor=0) == []


# ---------------------------------------------------------------- order


@pytest.mark.rule("RK-2")
def test_scores_equal_to_six_decimals_share_a_rank_and_the_newer_stands_first() -> None:
    found = [
        candidate("01A", cosine=0.70000001),
        candidate("01C", cosine=0.7),
        candidate("01B", cosine=0.69999999),
        candidate("01D", cosine=0.1),
    ]
    ranked = rank("vector", found, of(found), floor=NO_FLOOR)
    assert [(one.id, one.vector_rank) for one in ranked] == [("01C", 1), ("01B", 1), ("01A", 1), ("01D", 4)]


@pytest.mark.rule("RK-2")
def test_equal_fused_scores_stand_newest_first() -> None:
    found = [candidate(id, 1, cosine=0.5) for id in ("01A", "01C", "01B")]
    ranked = rank("hybrid", found, of(found), floor=NO_FLOOR)
    assert [(one.id, one.score, one.lexical_rank, one.vector_rank) for one in ranked] == [
        ("01C", 1.0, 1, 1),
        ("01B", 1.0, 1, 1),
        ("01A", 1.0, 1, 1),
    ]


# ---------------------------------------------------------------- fusion


@pytest.mark.rule("RK-9")
def test_the_leg_whose_best_stands_out_weighs_more() -> None:
    flat = [0.80 + 0.001 * n for n in range(20)]
    named = [candidate(f"{n:02}", int(n == 3), cosine=flat[n]) for n in range(20)]  # a word that one record alone has
    assert ids(rank("hybrid", named, of(named), floor=NO_FLOOR))[0] == "03"
    common = [candidate(f"{n:02}", int(n != 3), length=10 + n, cosine=0.9 if n == 3 else 0.5) for n in range(20)]
    assert ids(rank("hybrid", common, of(common), floor=NO_FLOOR))[0] == "03"


@pytest.mark.rule("RK-9")
def test_where_one_ranking_is_empty_the_other_stands() -> None:
    by_words = [candidate("a", 1), candidate("b", 3), candidate("c", 2)]
    assert ids(rank("hybrid", by_words, of(by_words), floor=0)) == ids(rank("lexical", by_words, of(by_words), floor=0))
    by_meaning = [candidate("a", 0, cosine=0.2), candidate("b", 0, cosine=0.3)]
    assert ids(rank("hybrid", by_meaning, of(by_meaning), floor=0)) == ["b", "a"]


@pytest.mark.rule("RK-9")
def test_a_query_in_a_script_the_model_does_not_know_is_ranked_by_words() -> None:
    found = [candidate("a", 1, cosine=0.1), candidate("b", 0, cosine=0.9), candidate("c", 2, cosine=0.2)]
    assert ids(rank("hybrid", found, of(found), floor=NO_FLOOR, knows_script=False)) == ["c", "a", "b"]
    wordless = [candidate("a", 0, cosine=0.1), candidate("b", 0, cosine=0.9)]
    assert ids(rank("hybrid", wordless, of(wordless), floor=NO_FLOOR, knows_script=False)) == ["b", "a"]


@pytest.mark.rule("RK-3")
def test_only_the_best_hundred_of_a_leg_count() -> None:
    found = [candidate(f"{n:04}", int(n < 20), cosine=n / 1000) for n in range(300)]
    ranked = rank("hybrid", found, of(found), floor=NO_FLOOR)
    assert {one.id for one in ranked} == {found[n].id for n in (*range(20), *range(200, 300))}
    assert [one.vector_rank for one in ranked if one.lexical_rank is None] == list(range(1, LEG + 1))
    assert len(rank("vector", found, of(found), floor=NO_FLOOR)) == LEG


@pytest.mark.rule("RK-9")
def test_words_weigh_less_where_most_of_the_query_is_in_no_record() -> None:
    found = [candidate(f"{n:02}", int(n == 3), 0, 0, 0, 0, cosine=0.5 + 0.3 * (n == 4)) for n in range(20)]
    known = [candidate(one.id, one.counts[0], cosine=one.cosine) for one in found]
    score = {one.id: one.score for one in rank("hybrid", found, of(found), floor=NO_FLOOR)}
    score_known = {one.id: one.score for one in rank("hybrid", known, of(known), floor=NO_FLOOR)}
    assert score["03"] < score_known["03"]
    assert score["04"] > score_known["04"]


@pytest.mark.rule("RK-3")
def test_the_spread_of_a_backend_may_have_any_unit() -> None:
    found = [candidate(f"{n:04}", 1 + n % 7, cosine=math.sin(n)) for n in range(150)]
    scope = Statistics(1000, 10_000, (400,), Spread(9, 2, 1.5), Spread(0.99, 0.1, 0.2))
    other = Statistics(1000, 10_000, (400,), Spread(90, 20, 15), Spread(0.5, 0.1, 0.2))  # a sample that missed the best
    assert rank("hybrid", found, scope, floor=0.2) == rank("hybrid", found, other, floor=0.2)


CANDIDATES = st.lists(
    st.builds(
        Candidate,
        id=st.text("ABCD0123", min_size=1, max_size=6),
        partition=st.just("p"),
        counts=st.tuples(st.integers(0, 4), st.integers(0, 2)),
        length=st.integers(0, 50),
        cosine=st.none() | st.floats(-1, 1),
    ),
    unique_by=lambda found: found.id,
    max_size=30,
)


@UNHURRIED
@given(CANDIDATES, st.sampled_from(["hybrid", "lexical", "vector"]), st.floats(-1, 1), st.randoms())
def test_ranking_is_a_total_order_that_no_order_of_arrival_changes(found, mode, floor, random) -> None:  # type: ignore[no-untyped-def]
    ranked = rank(mode, found, of(found), floor=floor)
    shuffled = random.sample(found, len(found))
    assert ids(rank(mode, shuffled, of(found), floor=floor)) == ids(ranked)
    assert len(set(ids(ranked))) == len(ranked)
    keys = [(one.score, one.id) for one in ranked]
    assert keys == sorted(keys, reverse=True)
    if mode == "hybrid":
        assert all(0 <= one.score <= 1 for one in ranked)


@pytest.mark.rule("RK-1")
@UNHURRIED
@given(CANDIDATES, st.sampled_from(["hybrid", "lexical", "vector"]), st.floats(-1, 1))
def test_what_is_ranked_shares_a_word_or_is_near_enough(found, mode, floor) -> None:  # type: ignore[no-untyped-def]
    kept = set(ids(rank(mode, found, of(found), floor=floor)))
    for one in found:
        has_word = mode != "vector" and any(one.counts)
        is_near = mode != "lexical" and one.cosine is not None and round(one.cosine, 6) >= round(floor, 6)
        assert (one.id in kept) == (has_word or is_near)
    left_out = below_floor(mode, found, floor=floor)
    assert mode == "lexical" or left_out == sum(one.id not in kept and one.cosine is not None for one in found)


# ---------------------------------------------------------------- cosine


def packed(vector: list[float]) -> bytes:
    return struct.pack(f"<{len(vector)}f", *vector)


@UNHURRIED
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_the_cosine_of_stored_bytes_is_true(values: list[float]) -> None:
    length = math.hypot(*values)
    assume(length > 0.01)
    unit = [value / length for value in values]
    assert cosine(packed(unit), unit) == pytest.approx(1, abs=1e-6)
    assert cosine(unit, [-value for value in unit]) == pytest.approx(-1, abs=1e-6)
    assert -1 <= cosine(packed(unit), packed(unit)) <= 1


@pytest.mark.rule("RK-1")
def test_a_record_is_as_near_as_its_best_part() -> None:
    assert best_cosine([packed([1, 0]), packed([0.6, 0.8])], [0, 1]) == pytest.approx(0.8)
    assert best_cosine([], [0, 1]) is None
