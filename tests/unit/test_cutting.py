"""Where a text may be cut: sentences, words, and what people see as one character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.cutting import cut, is_border

FAMILY = "👩\u200d👩\u200d👧"
WHOLE = {
    "an accent": "e\u0301",
    "a family": FAMILY,
    "a skin tone": "👍🏽",
    "a flag": "🇪🇸",
    "a flag of tags": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a keycap": "1\ufe0f\u20e3",
    "a heart in colour": "❤\ufe0f",
    "a spelt Hangul syllable": "\u1112\u1161\u11ab",
    "a Devanagari conjunct": "क\u094dष",
    "a Devanagari vowel": "क\u093f",
    "a Thai vowel": "น\u0e33",
    "a voiced half-width kana": "ｶ\uff9e",
    "a line break of two characters": "\r\n",
}


@pytest.mark.rule("RL-3")
@pytest.mark.parametrize("character", WHOLE.values(), ids=WHOLE)
def test_no_position_inside_a_character_is_a_border(character):
    text = f"ab{character}cd"
    borders = [at for at in range(len(text) + 1) if is_border(text, at)]
    assert borders == [0, 1, 2, 2 + len(character), 3 + len(character), 4 + len(character)]


def test_flags_in_a_row_are_parted_between_flags_alone():
    flags = "🇪🇸🇫🇷🇩🇪"
    assert [at for at in range(7) if is_border(flags, at)] == [0, 2, 4, 6]


@pytest.mark.rule("RL-3")
@pytest.mark.parametrize(
    ("text", "most", "left"),
    [
        ("The depot closes. It opens again at one.", 20, "The depot closes."),
        ("The depot closes.", 17, "The depot closes."),
        ("The depot closes", 13, "The depot"),
        ("The depot closes", 9, "The depot"),
        ("He said “stop.” Then he left.", 18, "He said “stop.”"),
        ("One. " + "Then a long sentence follows that does not end.", 30, "One. Then a long sentence"),
        ("First line\nsecond line", 14, "First line"),
        ("See https://example.org/a/very/long/address", 30, "See"),
        ("unbrokenword", 5, "unbro"),
        ("仓库中午关门。下午一点再开门。", 9, "仓库中午关门。"),
        ("仓库中午关门然后下午一点再开门", 9, "仓库中午关门然后下"),
        (FAMILY * 2, 7, FAMILY),
        (FAMILY, 4, ""),
        ("e" + "\u0301" * 50, 20, ""),
        ("word", 0, ""),
    ],
)
def test_a_text_is_cut_behind_a_sentence_else_a_word_else_a_character(text, most, left):
    assert cut(text, most) == left


def test_without_sentences_the_last_word_that_has_room_ends_the_text():
    assert cut("It closes. It opens at one", 22, sentences=False) == "It closes. It opens at"


TEXTS = st.lists(st.sampled_from([*WHOLE.values(), "word", " ", ". ", "。", "仓", "\n", "ไทย"]), max_size=40).map(
    "".join
)


@pytest.mark.rule("RL-3")
@given(TEXTS, st.integers(0, 100))
def test_what_is_left_begins_the_text_has_room_and_ends_at_a_border(text, most):
    left = cut(text, most)
    assert text.startswith(left)
    assert len(left) <= most
    assert is_border(text, len(left))


@pytest.mark.parametrize("unit", ["\u0301", "🇪", ".", '"', " ", "仓", "\u200d", "a"])
def test_a_long_run_of_anything_is_cut(unit):
    assert len(cut(unit * 200_000, 199_999)) <= 199_999
