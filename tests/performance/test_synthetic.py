"""The memory that the latency benchmark measures on is what it says it is."""

from __future__ import annotations

from collections import Counter
from math import hypot

import pytest
from synthetic import BIG, FIFTY, SMALL, SyntheticEmbedder, query_of, record_of, share_of, turns_to_grow
from timing import percentile


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_half_is_of_one_owner_half_of_a_hundred_and_fifty_of_one_more(size: int) -> None:
    assert share_of(BIG, size) == size // 2
    assert sum(share_of(owner, size) for owner in SMALL) == size // 2
    assert share_of(FIFTY, size) == 50


def test_growing_in_steps_saves_every_record_once() -> None:
    steps = turns_to_grow(0, 1_000) + turns_to_grow(1_000, 10_000)
    saved = Counter((owner, number) for owner, numbers in steps for number in numbers)
    assert set(saved.values()) == {1}
    assert set(saved) == {(owner, n) for owner in (BIG, FIFTY, *SMALL) for n in range(share_of(owner, 10_000))}


def test_a_turn_saves_no_more_than_its_tools_may() -> None:
    assert max(len(numbers) for _, numbers in turns_to_grow(0, 1_000)) == 15


def test_records_are_made_from_their_names_alone_and_fit_a_record() -> None:
    several = [record_of(BIG, number) for number in range(500)]
    assert several == [record_of(BIG, number) for number in range(500)]
    assert len({one["summary"] for one in several}) == 500
    assert max(len(one["summary"]) for one in several) <= 300
    assert 0.2 < sum("content" in one for one in several) / 500 < 0.4


def test_vectors_are_of_unit_length_and_near_those_of_their_topic() -> None:
    by_topic: dict[str, list[str]] = {}
    for number in range(300):
        by_topic.setdefault(query_of(number).split()[0], []).append(query_of(number))
    text, same = next(texts[:2] for texts in by_topic.values() if len(texts) > 1)
    other = next(texts[0] for name, texts in by_topic.items() if name != text.split()[0])
    left, near, far = SyntheticEmbedder().embed([text, same, other]).vectors
    assert left
    assert near
    assert far
    assert hypot(*left) == pytest.approx(1, abs=1e-6)
    cosine_near, cosine_far = (sum(a * b for a, b in zip(left, right, strict=True)) for right in (near, far))
    assert cosine_near > 0.3 > cosine_far


def test_the_median_of_an_even_number_is_the_lower_of_the_middle() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 95) == 95.0
    assert percentile([7.0], 95) == 7.0
