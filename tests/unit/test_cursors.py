import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.cursors import cursor, number, position

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


@pytest.mark.rule("IF-4")
def test_a_number_comes_back_as_one():
    assert number(cursor("42", ["list"]), ["list"]) == 42
    assert number(cursor("42", ["list"]), ["other"]) is None


@pytest.mark.rule("IF-4")
@pytest.mark.parametrize("where", ["x", "-5", "1.5", "٣", "1" * 10, "\x00"])
def test_what_was_made_up_as_a_number_and_is_none_is_of_no_list(where):
    assert number(cursor(where, ["list"]), ["list"]) is None


@pytest.mark.rule("IF-4")
def test_a_position_is_no_longer_than_any_id():
    longest = "😀" * 128
    assert position(cursor(longest, ["list"]), ["list"]) == longest
    assert position(cursor("a" * 601, ["list"]), ["list"]) is None
