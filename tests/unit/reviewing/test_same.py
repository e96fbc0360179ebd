"""When a candidate says what a record says already (EX-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_items import candidate

from agent_memory.domain.reviewing.same import folded, says_the_same

pytestmark = pytest.mark.rule("EX-2")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A fact.", "a  FACT.\n"),
        ("ﬁle Ｎｏ １", "file no 1"),
        ("Straße", "STRASSE"),
        ("Cafe\u0301", "CAFÉ"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("a\u3000b", "a b"),
    ],
)
def test_case_width_and_white_space_say_nothing(one, other):
    assert folded(one) == folded(other)
    assert says_the_same(candidate(one), other, None)


@pytest.mark.parametrize(
    ("one", "other"), [("Café", "Cafe"), ("A.", "A ."), ("ab", "a b"), ("A.", "A!"), ("4 pm", "5 pm")]
)
def test_accents_signs_and_where_words_end_do(one, other):
    assert not says_the_same(candidate(one), other, None)


def test_where_summary_and_content_part_says_nothing():
    assert says_the_same(candidate("A.", content="B."), "a. b.", None)
    assert says_the_same(candidate("A. B."), "A.", "B.")
    assert not says_the_same(candidate("A.", content="B."), "A.", None)


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert folded(folded(text)) == folded(text)
    assert folded(f" {text.upper()}\n") == folded(text.upper())
