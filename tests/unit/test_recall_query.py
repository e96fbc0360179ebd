"""What a recall asks for when it is given messages (RL-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_items import a_record, said

from agent_memory.domain.block import render
from agent_memory.domain.budget import fitted
from agent_memory.domain.recall_query import query_of

BLOCK = render([fitted(a_record(), 400).text])

pytestmark = pytest.mark.rule("RL-7")


def test_the_newest_message_of_the_user_comes_first_then_what_was_said_before_it():
    messages = [said("one"), said("two", "agent"), said("three"), said("four", "agent")]
    assert query_of(messages) == "three\ntwo\none"


def test_system_and_tool_messages_ask_nothing():
    messages = [said("rules", "system"), said("found", "tool", call_id="c", tool="lookup"), said("question")]
    assert query_of(messages) == "question"


@pytest.mark.parametrize("purpose", ["skill", "retrieval"])
def test_what_nobody_said_asks_nothing(purpose):
    assert query_of([said("question"), said("a long text", purpose=purpose)]) == "question"


@pytest.mark.parametrize("messages", [[], [said("hello", "agent")], [said("  \u200b\n")], [said(BLOCK)]])
def test_where_the_user_said_nothing_the_query_is_blank(messages):
    assert query_of(messages) == ""


def test_blocks_that_a_recall_rendered_are_no_part_of_it():
    assert query_of([said(f"{BLOCK}\nbefore", "agent"), said(f"{BLOCK}\n\nThanks a lot.")]) == "Thanks a lot.\nbefore"


def test_a_message_that_is_a_block_alone_does_not_stand_for_the_users_newest():
    assert (
        query_of([said("question"), said("answer", "agent"), said("and this?"), said(BLOCK)])
        == "and this?\nanswer\nquestion"
    )


def test_the_newest_message_alone_may_take_all_the_room():
    query = query_of([said("older"), said("word " * 1000)])
    assert 1990 <= len(query) <= 2000
    assert query.endswith("word")
    assert "older" not in query


def test_the_message_that_has_no_more_room_is_cut_and_older_ones_are_left_out():
    query = query_of([said("oldest"), said("abc " * 100), said("x" * 1900)])
    assert len(query) <= 2000
    assert query.endswith("abc")
    assert "oldest" not in query


MESSAGES = st.lists(st.builds(said, st.text(max_size=1500), st.sampled_from(["user", "agent", "system"])), max_size=8)


@given(MESSAGES)
def test_a_query_is_short_and_made_of_what_was_said(messages):
    query = query_of(messages)
    assert len(query) <= 2000
    assert not query or any(
        m.role == "user" and m.text.strip() and query.startswith(m.text.strip()[:50]) for m in messages
    )
