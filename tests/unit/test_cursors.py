import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.cursors import cursor, position

positions = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@pytest.mark.rule("IF-4")
@given(positions)
def test_a_cursor_leads_back_to_its_position_in_its_own_list(where):
    assert position(cursor(where, ["list", "a"]), ["list", "a"]) == where


@pytest.mark.rule("IF-4")
@given(positions, st.data())
def test_a_cursor_that_was_altered_is_of_no_list(where, data):
    text = cursor(where, ["list"])
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda c: c != text[at]))
    assert position(text[:at] + other + text[at + 1 :], ["list"]) is None


@pytest.mark.rule("IF-4")
@pytest.mark.parametrize("text", ["", "x", "=", "AAAA", "ä", "a" * 5000, "\x00"])
def test_what_is_no_cursor_is_of_no_list(text):
    assert position(text, ["list"]) is None


@pytest.mark.rule("IF-4", "TL-1")
@given(positions, st.lists(st.text(max_size=5), max_size=3), st.lists(st.text(max_size=5), max_size=3))
def test_a_cursor_is_for_its_own_list_alone(where, one, other):
    assert (position(cursor(where, one), other) is None) == (one != other)
