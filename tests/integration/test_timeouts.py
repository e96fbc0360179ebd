"""A turn left open ends after 24 hours, at the instant and not at the sweep (TU-5)."""

from dataclasses import replace

import pytest

from agent_memory.domain.errors import Conflict
from agent_memory.domain.messages import UserMessage
from agent_memory.domain.ports import MAX_ACTIONS
from agent_memory.operations.end import end
from agent_memory.operations.messages import add_messages
from agent_memory.operations.upkeep import time_out
from agent_memory.store.turns import Turns

rule = pytest.mark.rule
MESSAGE = UserMessage(role="user", text="By post, please.")


def sweep(world, has_time=lambda: True):
    return time_out(world.services, has_time)


def open_turns(world):
    return [turn_id for _, turn_id in world.services.turns.longest_open(limit=100)]


@pytest.fixture
def late(world):
    """A turn with a staged record, whose 24 hours are over and which no sweep has seen."""
    turn = world.begin(world.configure(), user_id="u1", started_at="2031-01-01T00:00:00Z")
    turn.add("Never to be.")
    world.clock.advance(hours=24)
    return turn


@rule("TU-5")
def test_a_turn_takes_calls_until_its_24_hours_are_over(world):
    turn = world.begin(world.configure())
    world.clock.advance(hours=23, minutes=59, seconds=59)
    kept = turn.add("In time.")
    assert [memory["id"] for memory in turn.commit()["memories"]] == [kept]


@rule("TU-5", "TU-1")
def test_from_then_on_every_call_finds_it_rolled_back(world, late):
    for call in (
        lambda: late.recall("anything"),
        lambda: late.tool("search_memory"),
        lambda: late.add("Too late."),
        lambda: add_messages(world.services, late.agent, late.id, [MESSAGE]),
        late.commit,
    ):
        with pytest.raises(Conflict) as refused:
            call()
        assert refused.value.code == "turn_not_open"
    state = late.state()
    assert (state["status"], state["reason"], state["memories"]) == ("rolled_back", "timeout", [])
    assert late.roll_back() == late.state()
    assert world.begin(late.agent).search("never") == []


@rule("TU-5", "TR-1")
def test_what_is_read_before_the_sweep_is_what_the_sweep_writes_down(world, late):
    before = late.state(), late.transcript(), late.transcript("turn.rolled_back")
    assert [event["type"] for event in before[1]][-1] == "turn.rolled_back"
    assert before[2] == [{**before[1][-1], "at": before[0]["ended_at"], "reason": "timeout"}]
    assert sweep(world) == 1
    assert (late.state(), late.transcript(), late.transcript("turn.rolled_back")) == before
    assert sweep(world) == 0
    assert open_turns(world) == []
    assert late.roll_back()["reason"] == "timeout"


@rule("TU-5")
def test_the_sweep_leaves_open_turns_open_and_takes_back_what_was_staged(world, late):
    young = world.begin(late.agent)
    young.add("Still to be.")
    assert sweep(world) == 1
    assert open_turns(world) == [young.id]
    assert world.services.turns.staged(late.agent, late.id) == []
    young.commit()
    assert [view["summary"] for view in world.begin(late.agent).tool("search_memory")["memories"]] == ["Still to be."]


@rule("TU-5")
def test_a_sweep_without_time_leaves_the_rest_to_the_next(world):
    agent = world.configure()
    for n in range(3):
        world.begin(agent, f"s{n}")
    world.clock.advance(hours=25)
    time_left = iter([True, False])
    assert sweep(world, lambda: next(time_left)) == 1
    assert sweep(world) == 2


@rule("TU-6", "TU-5")
@pytest.mark.parametrize("swept", [False, True])
def test_a_turn_that_timed_out_can_be_retried_and_keeps_its_reason(world, late, swept):
    if swept:
        sweep(world)
    retry = world.begin(late.agent, retry_of=late.id)
    assert retry.state()["attempt"] == 2
    assert late.state()["reason"] == "timeout"
    assert open_turns(world) == [retry.id]
    assert [e["reason"] for e in late.transcript("turn.rolled_back")] == ["timeout"]
    retry.commit()
    assert open_turns(world) == []


@rule("TU-5")
def test_a_turn_that_ends_while_the_sweep_looks_at_it_ends_once(world, late):
    plain = world.services.turns.transact

    def overtaken(writes):
        world.services.turns.transact = plain
        sweep(world)
        plain(writes)

    world.services.turns.transact = overtaken
    assert sweep(world) == 0
    assert [e["reason"] for e in late.transcript("turn.rolled_back")] == ["timeout"]


def test_every_end_of_a_turn_takes_it_off_the_list_of_open_turns(world):
    agent = world.configure()
    world.begin(agent).commit()
    world.begin(agent).roll_back()
    superseded = world.begin(agent)
    newest = world.begin(agent, retry_of=superseded.id)
    assert open_turns(world) == [newest.id]


class Longest:
    """A table that notes how many writes its longest transaction had."""

    def __init__(self, table):
        self._table, self.writes = table, 0

    def __getattr__(self, name):
        return getattr(self._table, name)

    def transact(self, writes):
        self.writes = max(self.writes, len(writes))
        self._table.transact(writes)


@rule("TU-1", "TU-5")
def test_the_largest_commit_that_tools_can_make_fits_one_transaction(machine):
    """15 records in four places; and 5 MB of messages, a long one between two short ones, so that hardly two share an
    item."""
    turn = machine.begin(machine.configure(), user_id="u", workflow_id="w")
    for n in range(15):
        turn.add(f"Fact {n}.", scope=("session", "workflow", "user", "agent")[n % 4])
    long, short = UserMessage(role="user", text="字" * 99_900), UserMessage(role="user", text="x")
    table = Longest(machine.table)
    services = replace(machine.services, turns=Turns(table))
    ended = end(services, turn.agent, turn.id, outcome="completed", messages=[long, short] * 17).turn
    assert len(ended.memories) == 15
    # the turn, its place among the open ones, the log's end, 15 staged, 34 of messages, the events, 15 × 2 of records,
    # 4 places and the commit not indexed
    assert table.writes == 1 + 1 + 1 + 15 + 34 + 1 + 30 + 4 + 1 < MAX_ACTIONS
