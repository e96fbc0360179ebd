"""The rows of a call are made from its events: what leads to an execution, and what was paid, each once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.turns import Turn
from agent_memory.domain.ulids import is_ulid, made_at
from agent_memory.store.calls import call_rows

AT = "2026-05-12T08:00:00.123Z"
TURN = Turn("support", "01J" + "0" * 23, "01J" + "0" * 23, 2, 1, "run", AT, session_id="s#1", user_id="u1")

executions = st.uuids().map(lambda id: {"type": "execution", "at": AT, "tool_execution_id": id.hex})
usages = st.integers(0, 1000).map(
    lambda tokens: {
        "type": "usage",
        "at": AT,
        "purpose": "embed",
        "model": "hash",
        "input_tokens": tokens,
        "output_tokens": 0,
        "cached": tokens == 0,
        "limited": False,
        "for": "search",
    }
)
others = st.sampled_from(["output_use", "recall.omitted", "memory.pinned", "conflict"]).map(
    lambda kind: {"type": kind, "at": AT, "tool_execution_id": "another"}
)


@given(st.lists(executions | usages | others, max_size=6, unique_by=repr))
def test_every_execution_has_a_row_and_every_usage_stands_in_one(events):
    rows = call_rows(TURN, 7, events)
    made = [event["tool_execution_id"] for event in events if event["type"] == "execution"]
    spent = [event["input_tokens"] for event in events if event["type"] == "usage"]
    ids = [row.key.sort for row in rows]
    assert ids[: len(made)] == made
    assert len(ids) == len(set(ids)) == (len(made) or bool(spent))
    assert [one["input_tokens"] for row in rows for one in row.item["usage"]] == spent
    assert all((row.item["turn_id"], row.item["attempt"], row.item["first"]) == (TURN.turn_id, 2, 7) for row in rows)


@pytest.mark.rule("RL-6")
@given(usages, st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_call_that_was_no_execution_has_one_id_however_often_it_is_written(spent, first, other):
    (row,), (again,), (another,) = (call_rows(TURN, n, [spent]) for n in (first, first, other))
    assert row == again
    assert (row.key == another.key) == (first == other)
    assert is_ulid(row.key.sort)
    assert made_at(row.key.sort).isoformat(timespec="milliseconds") == AT.replace("Z", "+00:00")


def test_messages_leave_no_row():
    assert call_rows(TURN, 1, [{"type": "message", "at": AT, "text": "x"}]) == []
