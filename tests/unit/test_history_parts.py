"""What the index knows of the parts of history events (HI-3, HI-8)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_items import said

from agent_memory.domain.history import HistoryPlace, KeptEvent, kept_events
from agent_memory.domain.history_parts import (
    EMBEDDED_PARTS,
    SHORT,
    Part,
    part_id,
    parts_of_turn,
    place_of_part,
    within_turn,
)
from agent_memory.domain.vectors import unpacked

PLACE = HistoryPlace("support", "s1")


def parts(*texts: str, **fields: Any) -> list[Part]:
    stored = [said(text, **fields).stored(said_at="now") for text in texts]
    events = [{"sequence": n, "event_id": f"E{n}", **one} for n, one in enumerate(stored, 1)]
    return parts_of_turn(PLACE, 7, kept_events(events, "messages_and_tools"))


@pytest.mark.rule("HI-8")
def test_a_short_event_has_its_own_words_twice_and_its_neighbours_once() -> None:
    first, second, _ = parts("wharf", "seven", "thanks")
    assert sorted(second.words) == sorted(["seven", "seven", "wharf", "thank"])
    assert sorted(first.words) == sorted(["wharf", "wharf", "seven"])
    assert first.text == "wharf"


@pytest.mark.rule("HI-8")
def test_one_event_alone_and_a_long_one_have_no_context() -> None:
    (alone,) = parts("wharf")
    assert alone.words == ["wharf"]
    assert alone.texts(500) == ["wharf"]
    _, long, _ = parts("wharf", "seven " * (SHORT // 6 + 1), "thanks")
    assert set(long.words) == {"seven"}


@pytest.mark.rule("HI-8")
def test_of_a_long_neighbour_the_nearest_words_count() -> None:
    long = "early " * 400 + "middle " * 400 + "late"
    *_, after = parts(long, "seven")
    assert "late" in after.words
    assert "earli" not in after.words


@pytest.mark.rule("HI-8")
def test_the_vector_of_a_short_event_is_the_mean_of_it_and_its_context() -> None:
    _, second, _ = parts("wharf", "seven", "thanks")
    assert second.texts(500) == ["seven", "wharf\nseven\nthanks"]
    (vector,) = second.vectors([[1.0, 0.0], [0.0, 1.0]], 500)
    assert unpacked(vector) == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    (vector,) = second.vectors([[1.0, 0.0], None], 500)
    assert unpacked(vector) == (1.0, 0.0)
    assert second.vectors([None, None], 500) == ()


@pytest.mark.rule("HI-3", "RK-1")
def test_a_part_that_is_longer_than_the_window_has_several_vectors() -> None:
    (part,) = parts("word " * 300)
    texts = part.texts(500)
    assert len(texts) > 3
    assert all(len(text) <= 500 for text in texts)
    assert len(part.vectors([[1.0, 0.0] for _ in texts], 500)) == len(texts)


def test_of_a_huge_event_the_first_parts_are_embedded() -> None:
    several = parts("word " * 30_000)
    assert [part.is_embedded for part in several] == [n < EMBEDDED_PARTS for n in range(len(several))]


def test_a_result_is_found_by_its_tools_name() -> None:
    (part,) = parts("sent", role="tool", call_id="c", tool="lookup_order")
    assert {"lookup", "order", "send"} <= set(part.words)


NUMBERS = st.tuples(st.integers(1, 10**9), st.integers(1, 10**6), st.integers(1, 1023))
PLACES = st.builds(HistoryPlace, st.sampled_from(["a", "b"]), st.text(min_size=1, max_size=5), st.booleans())


@given(PLACES, NUMBERS, PLACES, NUMBERS)
def test_an_id_says_where_its_part_is_and_no_other_part_has_it(one, number, other, another) -> None:  # type: ignore[no-untyped-def]
    id, second = part_id(one, *number), part_id(other, *another)
    assert len(id) == 26
    assert place_of_part(id) == number
    assert (id == second) == ((one, number) == (other, another))
    if one == other:
        assert (id < second) == (number < another)
        if number[0] == another[0]:
            assert (within_turn(id) < within_turn(second)) == (number < another)


def test_an_event_of_nothing_but_parts_keeps_its_event() -> None:
    several = parts("a. " * 3000)
    assert {id(part.event) for part in several} == {id(several[0].event)}
    assert isinstance(several[0].event, KeptEvent)
    assert "".join(part.text for part in several) == several[0].event.body
