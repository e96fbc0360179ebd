"""What a record takes over from the one that it replaces (EX-9)."""

from __future__ import annotations

import pytest
from memory_items import a_record
from review_items import agent, candidate

from agent_memory.domain.reviewing.taking_over import taken_over

pytestmark = pytest.mark.rule("EX-9")

PINNING = agent(write=("session", "user"), labels=("room", "floor"), pinned={"max_tokens": 100})
OLD = a_record(labels={"room": "4", "floor": "2"}, memory_key="depot.hours", priority=80, pinned=True)


def test_what_a_candidate_does_not_state_is_taken_over():
    assert taken_over(candidate(), OLD, PINNING) == {
        "labels": {"room": "4", "floor": "2"},
        "memory_key": "depot.hours",
        "priority": 80,
        "pinned": True,
    }


def test_what_a_candidate_states_stands():
    stated = candidate(labels={"room": "5"}, memory_key="depot", priority=0)
    fields = taken_over(stated, OLD, PINNING)
    assert (fields["memory_key"], fields["priority"]) == ("depot", 0)
    assert fields["labels"] == {"room": "5", "floor": "2"}


def test_nothing_is_pinned_of_its_own_accord():
    assert not taken_over(candidate(priority=100), a_record(), PINNING)["pinned"]
    assert not taken_over(candidate(), OLD, agent())["pinned"]


@pytest.mark.parametrize(
    ("scope", "target", "key"),
    [
        (None, "session", "k"),
        ("session", "session", "k"),
        ("user", "user", "k"),
        (None, "user", None),
        ("user", "session", None),
    ],
)
def test_a_key_does_not_come_along_into_another_scope(scope, target, key):
    old = a_record(scope=target, memory_key="k")
    assert taken_over(candidate(scope=scope), old, PINNING)["memory_key"] == key
    assert taken_over(candidate(scope=scope, memory_key="own"), old, PINNING)["memory_key"] == "own"
