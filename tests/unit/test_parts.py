from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.parts import parts, record_text

WORDS = "The quick report about harbour dues was read aloud by the deputy and then filed. "
ENDS_OF_GRAPHEMES = ("\u0301", "\u200d", "\ufe0f", "\U0001f3fd", "\u0e31", "\u094d")
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from([*" \n.。", *ENDS_OF_GRAPHEMES]), max_size=400
)


def places(text: str, cut: list[str]) -> list[tuple[int, int]]:
    """Where each part lies, the leftmost place behind the beginning of the one before that reaches as far as it can."""
    found = [(0, len(cut[0]))]
    for part in cut[1:]:
        last_start, last_end = found[-1]
        start = next(s for s in range(last_end, last_start, -1) if text.startswith(part, s))
        found.append((start, start + len(part)))
    return found


@pytest.mark.rule("RK-1")
def test_a_record_is_embedded_as_its_summary_and_its_content_where_it_has_one():
    assert record_text("Likes tea.", None) == record_text("Likes tea.", "") == "Likes tea."
    assert record_text("Likes tea.", "Said so in May.") == "Likes tea.\nSaid so in May."


@pytest.mark.rule("RK-1")
@pytest.mark.parametrize("text", ["", "short", "x" * 500, "ก" * 500])
def test_a_text_that_fits_the_window_is_one_part(text):
    assert parts(text, 500) == [text]


@pytest.mark.rule("RK-1")
@given(TEXTS, st.integers(1, 60))
def test_every_character_lies_in_a_part_and_no_part_exceeds_the_window(text, window):
    cut = parts(text, window)
    assert all(len(part) <= window for part in cut)
    covered = places(text, cut)
    assert covered[0][0] == 0
    assert covered[-1][1] == len(text)
    assert all(behind[0] <= before[1] for before, behind in pairwise(covered))


@pytest.mark.rule("RK-1")
@given(st.integers(501, 3000))
def test_neighbours_share_10_to_15_percent_of_a_window(length):
    text = "".join(chr(0x4E00 + i) for i in range(length))  # no character twice
    shared = [len(set(before) & set(behind)) for before, behind in pairwise(parts(text, 500))]
    assert all(50 <= count <= 75 for count in shared)


@pytest.mark.rule("RK-1")
def test_parts_end_behind_sentences_and_begin_at_words():
    text = WORDS * 30
    cut = parts(text, 500)
    assert len(cut) > 4
    assert all(part.endswith("filed. ") for part in cut)
    assert all(part[0].isalpha() and text[text.index(part) - 1] == " " for part in cut[1:])


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("港口费报告已经宣读，然后归档。", "。"),
        ("वह रिपोर्ट पढ़ी गई और रखी गई। ", "। "),
        ("هل قرئ التقرير؟ ", "؟ "),
        ("“Is it so?” ", "?” "),
    ],
)
def test_sentences_end_in_every_script(sentence, end):
    assert all(part.endswith(end) for part in parts(sentence * 60, 200))


def test_a_text_without_sentences_is_cut_between_words():
    assert all(part.split(" ")[0] in ("", "harbour") for part in parts("harbour " * 200, 300))


@pytest.mark.parametrize(
    "grapheme",
    ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "🇳🇴", "ที่", "\u1112\u1161\u11ab", "क\u094dष", "น\u0e33", "\r\n"],
)
def test_no_grapheme_is_cut(grapheme):
    for part in parts("x" + grapheme * 100, 97):
        assert part.removeprefix("x") == grapheme * part.count(grapheme)


def test_the_last_part_is_no_scrap():
    lengths = [len(part) for part in parts("a" * 510, 500)]
    assert min(lengths) > 200


def test_a_window_of_no_characters_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        parts("text", 0)
