"""What a search finds and counts: filters, words, vectors. The same on both sides of the port."""

from __future__ import annotations

import math

import numpy as np
import pytest
from index_fixtures import OTHER, PLACE, Backend, by_id, entry, ids, numbered, packed, random_units, ulid, units
from index_reference import expected

from agent_memory.domain.ports import IndexQuery, Statistics

AWKWARD = [
    "Ab c",
    "ab c",
    "AB C",
    'say "hi"',
    "a,b",
    "a=b",
    "東京 タワー",
    "*",
    "x" * 256,
    "ß",
    "é",
    "e\u0301",
    " a",
    "a ",
]


def test_an_empty_index_gives_empty_legs_and_zero_statistics(backend: Backend) -> None:
    answer = backend.ask(words=["tea", "milk"], vector=random_units(1, 1)[0].tolist())
    assert (answer.lexical, answer.vector) == ([], [])
    assert answer.statistics == Statistics(containing=(0, 0))


def test_a_search_without_partitions_finds_nothing(backend: Backend) -> None:
    backend.put(entry(1, "tea"))
    assert backend.index.search(IndexQuery([], ["tea"])).lexical == []


@pytest.mark.rule("SC-5")
def test_only_the_partitions_asked_for_are_searched(backend: Backend) -> None:
    names = [PLACE, OTHER, PLACE + "1", PLACE[:-1], "support#user#s-1", PLACE.upper(), "a%23b", "a,b", "a"]
    backend.put(*(entry(number, "tea", partition=name) for number, name in enumerate(names)))
    for number, name in enumerate(names):
        answer = backend.ask(name, words=["tea"])
        assert [(found.id, found.partition) for found in answer.lexical] == [(ulid(number), name)]
        assert answer.statistics.documents == 1


def test_several_partitions_count_as_one_collection(backend: Backend) -> None:
    backend.put(entry(1, "tea milk"), entry(2, "tea", partition=OTHER), entry(3, "tea", partition="third"))
    answer = backend.ask(PLACE, OTHER, "unknown", words=["tea", "milk"])
    assert {found.id: found.partition for found in answer.lexical} == {ulid(1): PLACE, ulid(2): OTHER}
    assert (answer.statistics.documents, answer.statistics.tokens, answer.statistics.containing) == (2, 3, (2, 1))


def test_a_partition_named_twice_counts_once(backend: Backend) -> None:
    backend.put(entry(1, "tea"))
    answer = backend.ask(PLACE, PLACE, words=["tea"])
    assert (ids(answer.lexical), answer.statistics.documents) == (numbered(1), 1)


def test_a_kind_filters_words_vectors_and_statistics(backend: Backend) -> None:
    one, two = random_units(2, 3)
    backend.put(entry(1, "tea", vectors=packed(one)), entry(2, "tea", kind="event", vectors=packed(two)))
    answer = backend.ask(words=["tea"], vector=one.tolist(), kind="event")
    assert ids(answer.lexical) == ids(answer.vector) == numbered(2)
    assert (answer.statistics.documents, answer.statistics.containing) == (1, (1,))
    assert backend.ask(words=["tea"], kind="Event").lexical == []


@pytest.mark.rule("RC-2")
def test_label_values_compare_exactly(backend: Backend) -> None:
    backend.put(*(entry(number, "tea", labels={"name": value}) for number, value in enumerate(AWKWARD)))
    for number, value in enumerate(AWKWARD):
        assert ids(backend.ask(words=["tea"], labels={"name": value}).lexical) == numbered(number)
    assert backend.ask(words=["tea"], labels={"other": "a,b"}).lexical == []


@pytest.mark.rule("RC-2")
def test_several_labels_must_all_hold(backend: Backend) -> None:
    backend.put(entry(1, "tea", labels={"a": "1", "b": "2"}), entry(2, "tea", labels={"a": "1"}), entry(3, "tea"))
    assert sorted(ids(backend.ask(words=["tea"], labels={"a": "1"}).lexical)) == numbered(1, 2)
    assert ids(backend.ask(words=["tea"], labels={"a": "1", "b": "2"}, kind="fact").lexical) == numbered(1)
    assert backend.ask(words=["tea"], labels={"a": "2", "b": "1"}).lexical == []


@pytest.mark.rule("RK-7")
@pytest.mark.parametrize(
    "word",
    [
        '"',
        "*",
        "te*",
        "\\",
        ":",
        "words:tea",
        "tea AND milk",
        "-",
        "(",
        "~",
        "^2",
        "/x/",
        "a b",
        "東",
        "k" * 300,
        "wtea",
    ],
)
def test_a_word_is_matched_as_it_is_given(backend: Backend, word: str) -> None:
    backend.put(entry(1, ["tea", word]), entry(2, ["tea", "milk"]))
    answer = backend.ask(words=[word])
    assert [(found.id, found.counts) for found in answer.lexical] == [(ulid(1), (1,))]
    assert answer.statistics.containing == (1,)


def test_a_word_is_no_kind_and_no_label(backend: Backend) -> None:
    backend.put(entry(1, "tea", labels={"drink": "milk"}))
    assert backend.ask(words=["fact", "drink=milk", "milk"]).lexical == []


def test_counts_and_length_are_exact(backend: Backend) -> None:
    backend.put(entry(1, ["tea"] * 3 + ["milk"] * 300), entry(2, "sugar milk"))
    found = by_id(backend.ask(words=["milk", "cocoa", "tea"]).lexical)
    assert (found[ulid(1)].counts, found[ulid(1)].length) == ((300, 0, 3), 303)
    assert (found[ulid(2)].counts, found[ulid(2)].length) == ((1, 0, 0), 2)


def test_a_record_found_by_meaning_alone_brings_counts_and_length(backend: Backend) -> None:
    vector = random_units(1, 4)[0]
    backend.put(entry(1, "tea milk", vectors=packed(vector)), entry(2, "sugar"))
    answer = backend.ask(words=["sugar"], vector=vector.tolist())
    assert [(found.id, found.counts, found.length) for found in answer.vector] == [(ulid(1), (0,), 2)]
    assert ids(answer.lexical) == numbered(2)


def test_sixty_four_words_are_searched_at_once(backend: Backend) -> None:
    words = [f"w{number}" for number in range(64)]
    backend.put(entry(1, words), entry(2, words[:32]), entry(3, "other"))
    answer = backend.ask(words=words)
    assert by_id(answer.lexical)[ulid(2)].counts == (1,) * 32 + (0,) * 32
    assert answer.statistics.containing == (2,) * 32 + (1,) * 32


def test_the_best_by_words_come_first(backend: Backend) -> None:
    backend.put(entry(1, "tea milk sugar cocoa"), entry(2, "tea tea rare"), entry(3, "milk"), entry(4, "cake"))
    assert ids(backend.ask(words=["tea", "rare"]).lexical) == numbered(2, 1)


def test_a_long_text_is_found_by_each_of_its_words(backend: Backend) -> None:
    words = [f"word{number}" for number in range(3000)]
    backend.put(entry(1, words * 2))
    answer = backend.ask(words=["word0", "word1499", "word2999"])
    assert [(found.counts, found.length) for found in answer.lexical] == [((2, 2, 2), 6000)]


@pytest.mark.rule("RK-3")
def test_cosines_are_true_also_negative_ones(backend: Backend) -> None:
    asked = random_units(1, 5)[0]
    vectors = [asked, -asked, *random_units(20, 6)]
    entries = [entry(number, vectors=packed(vector)) for number, vector in enumerate(vectors)]
    backend.put(*entries)
    query = IndexQuery([PLACE], vector=asked.tolist())
    answer = backend.index.search(query)
    truth = expected(entries, query)
    assert ids(answer.vector) == truth.nearest(100)
    for found in answer.vector:
        assert found.cosine == pytest.approx(truth.cosines[found.id], abs=backend.cosine_error)
    assert (answer.vector[0].id, answer.vector[-1].id) == (ulid(0), ulid(1))


@pytest.mark.rule("RK-1")
def test_the_best_part_of_a_record_counts_and_each_record_once(backend: Backend) -> None:
    asked = random_units(1, 7)[0]
    parts = [units(asked + noise * 0.05) for noise in random_units(12, 8)]
    entries = [
        entry(1, vectors=packed(*parts)),
        entry(2, vectors=packed(-asked, parts[0])),
        entry(3, vectors=packed(-asked)),
    ]
    backend.put(*entries)
    query = IndexQuery([PLACE], vector=asked.tolist())
    answer = backend.index.search(query)
    truth = expected(entries, query)
    assert ids(answer.vector) == truth.nearest(3)
    assert [found.cosine for found in answer.vector] == pytest.approx(
        [truth.cosines[found.id] for found in answer.vector], abs=backend.cosine_error
    )


def test_a_hundred_different_records_come_by_meaning_whatever_their_parts(backend: Backend) -> None:
    entries = [entry(number, vectors=packed(*random_units(1 + number % 4, number))) for number in range(150)]
    backend.put(*entries)
    query = IndexQuery([PLACE], vector=random_units(1, 999)[0].tolist())
    found = ids(backend.index.search(query).vector)
    assert found == expected(entries, query).nearest(100)


def test_a_record_without_a_vector_is_found_by_words_alone(backend: Backend) -> None:
    vector = random_units(1, 9)[0]
    backend.put(entry(1, "tea"), entry(2, "milk", vectors=packed(vector)))
    answer = backend.ask(words=["tea"], vector=vector.tolist())
    assert (ids(answer.lexical), ids(answer.vector)) == (numbered(1), numbered(2))
    assert answer.lexical[0].cosine is None


def test_no_words_is_no_lexical_leg_and_no_vector_no_vector_leg(backend: Backend) -> None:
    vector = random_units(1, 10)[0]
    backend.put(entry(1, "tea", vectors=packed(vector)))
    by_meaning, by_words = backend.ask(vector=vector.tolist()), backend.ask(words=["tea"])
    assert (by_meaning.lexical, ids(by_meaning.vector), by_meaning.statistics.lexical) == ([], numbered(1), None)
    assert (ids(by_words.lexical), by_words.vector, by_words.statistics.vector) == (numbered(1), [], None)


def test_each_leg_holds_the_hundred_best(backend: Backend) -> None:
    vectors = random_units(230, 11)
    entries = [entry(n, ["tea"] * (1 + n % 7) + ["x"] * n, vectors=packed(vectors[n])) for n in range(230)]
    backend.put(*entries)
    query = IndexQuery([PLACE], ["tea"], vectors[0].tolist())
    answer = backend.index.search(query)
    assert ids(answer.vector) == expected(entries, query).nearest(100)
    assert (len(set(ids(answer.lexical))), answer.statistics.containing) == (100, (230,))


def test_the_spread_of_word_scores_counts_those_that_match_nothing_as_zero(backend: Backend) -> None:
    backend.put(*(entry(number, "tea milk" if number < 2 else "cake pie") for number in range(8)))
    spread = backend.ask(words=["tea"]).statistics.lexical
    assert spread is not None
    assert spread.mean == pytest.approx(spread.top * 2 / 8)
    assert spread.deviation == pytest.approx(spread.top * math.sqrt(0.25 * 0.75))


def test_the_spread_of_cosines_is_that_of_all_records(backend: Backend) -> None:
    asked, *vectors = random_units(61, 12)
    entries = [entry(number, vectors=packed(vector)) for number, vector in enumerate(vectors)] + [
        entry(100),
        entry(101),
    ]
    backend.put(*entries)
    query = IndexQuery([PLACE], vector=asked.tolist())
    spread = backend.index.search(query).statistics.vector
    cosines = [*expected(entries, query).cosines.values(), 0.0, 0.0]
    assert spread is not None
    assert (spread.top, spread.mean, spread.deviation) == pytest.approx(
        (max(cosines), np.mean(cosines), np.std(cosines)), abs=1e-5
    )


def test_the_spread_of_many_cosines_is_near_the_true_one(backend: Backend) -> None:
    asked = random_units(1, 13)[0]
    entries = [entry(number, vectors=packed(units(v + asked))) for number, v in enumerate(random_units(400, 14))]
    backend.put(*entries)
    query = IndexQuery([PLACE], vector=asked.tolist())
    spread = backend.index.search(query).statistics.vector
    cosines = list(expected(entries, query).cosines.values())
    assert spread is not None
    assert spread.top == pytest.approx(max(cosines), abs=1e-5)
    assert spread.mean == pytest.approx(np.mean(cosines), abs=4 * np.std(cosines) / 8)  # of a sample of 64
    assert spread.deviation == pytest.approx(np.std(cosines), rel=0.4)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_agrees_with_counting_by_hand(backend: Backend, seed: int) -> None:
    random = np.random.default_rng(seed)
    words, places = [f"w{number}" for number in range(12)], [PLACE, OTHER, "third"]
    entries = [
        entry(
            number,
            list(random.choice(words, random.integers(0, 20))),
            partition=str(random.choice(places)),
            kind=str(random.choice(["fact", "event"])),
            labels={"a": str(random.integers(2))} if number % 3 else {},
            vectors=packed(*random_units(int(random.integers(0, 3)), number)),
        )
        for number in range(80)
    ]
    backend.put(*entries)
    for filters in ({}, {"kind": "fact"}, {"labels": {"a": "1"}}, {"kind": "event", "labels": {"a": "0"}}):
        query = IndexQuery(places[: seed + 1], ["w3", "none", "w0", "w7"], random_units(1, 1)[0].tolist(), **filters)
        answer, truth = backend.index.search(query), expected(entries, query)
        counted = answer.statistics
        assert (counted.documents, counted.tokens, counted.containing) == (
            truth.documents,
            truth.tokens,
            truth.containing,
        )
        assert set(ids(answer.lexical)) == truth.matching
        assert ids(answer.vector) == truth.nearest(100)
        for found in answer.lexical + answer.vector:
            assert (found.counts, found.length) == (truth.counts[found.id], truth.lengths[found.id])


# ---------------------------------------------------------------- before


@pytest.mark.rule("HI-2")
def test_what_lies_behind_takes_no_place_among_the_hundred_and_does_not_count(backend: Backend) -> None:
    vector = random_units(1, 4)[0]
    early = [entry(n, "tea milk", ordinal=1 + n % 3, vectors=packed(-vector)) for n in range(5)]
    late = [entry(100 + n, "tea", ordinal=4 + n, vectors=packed(vector)) for n in range(120)]
    backend.put(*early, *late)
    answer = backend.ask(words=["tea"], vector=vector.tolist(), before=4)
    assert sorted(ids(answer.lexical)) == sorted(ids(answer.vector)) == numbered(*range(5))
    assert (answer.statistics.documents, answer.statistics.tokens, answer.statistics.containing) == (5, 10, (5,))
    assert sorted(ids(backend.ask(words=["tea"], before=2).lexical)) == numbered(0, 3)
    assert backend.ask(words=["tea"], before=1).lexical == []


@pytest.mark.rule("HI-2")
def test_the_bound_is_that_of_the_entry_as_it_stands(backend: Backend) -> None:
    backend.put(entry(1, "tea", ordinal=7), entry(2, "tea"))
    assert ids(backend.ask(words=["tea"], before=7).lexical) == numbered(2)
    backend.put(entry(1, "tea", ordinal=3, stamp=2))
    assert sorted(ids(backend.ask(words=["tea"], before=7).lexical)) == numbered(1, 2)
    assert sorted(ids(backend.ask_agent(words=["tea"], before=3).lexical)) == numbered(2)
