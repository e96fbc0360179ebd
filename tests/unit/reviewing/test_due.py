"""When a turn's end reviews (EX-3, CF-1, CF-2)."""

from __future__ import annotations

import pytest
from review_items import agent

from agent_memory.domain.reviewing.due import is_due, may_review


@pytest.mark.rule("EX-3")
@pytest.mark.parametrize(
    ("every", "said", "due"),
    [
        ("turn", 0, False),
        ("turn", 1, True),
        ({"messages": 1}, 0, False),
        ({"messages": 20}, 19, False),
        ({"messages": 20}, 20, True),
        ({"messages": 20}, 35, True),
    ],
)
def test_a_review_is_due_once_so_many_messages_were_added(every, said, due):
    assert is_due(agent(extraction={"every": every}).memory.extraction.every, said) is due


@pytest.mark.rule("CF-1", "CF-2")
@pytest.mark.parametrize(("settings", "may"), [({}, True), ({"enabled": False}, False), ({"write": ()}, False)])
def test_an_agent_that_remembers_or_writes_nothing_is_not_reviewed(settings, may):
    assert may_review(agent(**settings)) is may


@pytest.mark.rule("SC-3")
def test_a_turn_without_an_id_for_any_scope_is_reviewed_so_that_what_is_skipped_is_on_record():
    assert may_review(agent(write=("user",)))
