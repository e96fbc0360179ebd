"""What a rejection teaches (JD-1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_items import agent

from agent_memory.domain.reviewing.candidates import Candidate
from agent_memory.domain.reviewing.lessons import lesson_of
from agent_memory.domain.text import has_line_break
from agent_memory.domain.words import is_blank

pytestmark = pytest.mark.rule("JD-1")


def lesson(feedback, **settings):
    return lesson_of(feedback, agent(**settings))


def test_a_lesson_is_the_feedback_to_the_character_under_its_first_line():
    feedback = "Check the ledger first.\n\nIt was right there.\t"
    assert lesson(feedback, kinds=["fact", "lesson"]) == Candidate(
        False, "Check the ledger first.", "lesson", content=feedback, lesson=True
    )


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"kinds": ["fact", "guidance", "lesson"]}, "lesson"),
        ({"kinds": ["fact", "guidance"]}, "guidance"),
        ({"kinds": ["recipe", "fact"]}, "recipe"),
        ({}, "guidance"),
        ({"kinds": ["recipe"], "write": ("platform",)}, "lesson"),
    ],
)
def test_its_kind_is_lesson_if_declared_else_guidance_else_the_first(settings, kind):
    assert lesson("No.", **settings).kind == kind


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_the_first_line_ends_at_any_line_break(line_break):
    assert lesson(f" {line_break}\u200b{line_break}First.{line_break}Second.").summary == "First."


@pytest.mark.parametrize(
    ("line", "summary"),
    [
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300),
        ("x" * 299 + "e\u0301", "x" * 299),
        ("👩‍👩‍👧" * 100, "👩‍👩‍👧" * 60),
        ("a" + "\u0301" * 400, "a" + "\u0301" * 299),
    ],
)
def test_a_long_first_line_is_cut_between_two_characters(line, summary):
    assert lesson(line).summary == summary
    assert lesson(line).content == line


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=500).filter(lambda text: not is_blank(text))
)
def test_a_summary_is_one_line_of_1_to_300_characters(feedback):
    found = lesson(feedback)
    assert 1 <= len(found.summary) <= 300
    assert not has_line_break(found.summary)
    assert found.summary in feedback
    assert found.content == feedback
