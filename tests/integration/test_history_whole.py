"""What a history keeps of a turn that ends while messages come, or in two transactions (HI-1, TU-10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_memory.domain.messages import UserMessage
from agent_memory.operations.end import end
from agent_memory.operations.enter import find_turn
from agent_memory.operations.messages import add_messages
from agent_memory.store.turns import Turns

rule = pytest.mark.rule
KEPT = {"history": {"index": "messages"}, "memory": {"extraction": {"every": {"messages": 1000}}}}


def said(text):
    return [UserMessage(role="user", text=text)]


class EndsBetween(Turns):
    """A message has entered its turn, and before it is written another call reads the turn to end it."""

    def __init__(self, table, between):
        super().__init__(table)
        self._between = between

    def transact(self, writes):
        between, self._between = self._between, None
        if between:
            between(lambda: super(EndsBetween, self).transact(writes))
            return
        super().transact(writes)


@rule("HI-1", "TU-10")
def test_a_message_that_was_answered_is_in_the_history_though_the_turn_ended_meanwhile(world):
    turn = world.begin(world.configure(**KEPT))
    plain, services = world.services.turns.each_message, world.services

    def ends_while(write):
        """The end has read the messages when this one is written."""

        def overtaken(*turn_of):
            world.services.turns.each_message = plain
            found = list(plain(*turn_of))
            write()
            return found

        world.services.turns.each_message = overtaken
        end(services, turn.agent, turn.id, outcome="completed")

    add_messages(services, turn.agent, turn.id, said("The first."))
    slow = replace(services, turns=EndsBetween(world.table, ends_while))
    add_messages(slow, turn.agent, turn.id, said("The second."))
    assert turn.state()["status"] == "committed"
    assert [event["text"] for event in turn.transcript("message")] == ["The first.", "The second."]
    assert turn.state()["history_events"] == 2
    found = world.begin(turn.agent).tool("search_history", {"query": "second"})["events"]
    assert "turn 1, user\nThe second." in [event["text"] for event in found]


@rule("HI-1", "TU-2")
def test_an_end_in_two_transactions_counts_what_its_history_keeps_once(world):
    turn = world.begin(world.configure(**KEPT))
    long, short = "字" * 99_900, "x"
    messages = [UserMessage(role="user", text=text) for text in [long, short] * 16]
    for n in range(15):
        turn.add(f"Fact {n}.")
    end(world.services, turn.agent, turn.id, outcome="completed", messages=messages)
    ended = find_turn(world.services, turn.agent, turn.id)
    assert (ended.status.value, ended.history_events) == ("committed", 32)
