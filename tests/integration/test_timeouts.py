"""A turn left open ends after 24 hours, at the instant and not at the sweep (TU-5)."""

from dataclasses import replace

import pytest

from agent_memory.domain.errors import Conflict, StoreUnavailable
from agent_memory.domain.messages import UserMessage
from agent_memory.domain.ports import MAX_ACTIONS
from agent_memory.domain.turns import TurnStatus
from agent_memory.operations.end import end
from agent_memory.operations.enter import find_turn
from agent_memory.operations.messages import add_messages
from agent_memory.operations.upkeep import time_out
from agent_memory.store.turns import Turns

rule = pytest.mark.rule
NOT_DUE = {"extraction": {"every": {"messages": 1000}}}  # no review: the end itself commits
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
    assert world.services.turns.staged(find_turn(world.services, late.agent, late.id)) == []
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


class Sizes:
    """A table that notes how many writes each of its transactions had."""

    def __init__(self, table):
        self._table, self.sizes = table, []

    def __getattr__(self, name):
        return getattr(self._table, name)

    def transact(self, writes):
        self.sizes.append(len(writes))
        self._table.transact(writes)


def end_with_long_messages(world, turn):
    """5 MB of messages, a long one between two short ones, so that hardly two share an item: 34 items."""
    long, short = UserMessage(role="user", text="字" * 99_900), UserMessage(role="user", text="x")
    table = Sizes(world.table)
    services = replace(world.services, turns=Turns(table))
    ended = end(services, turn.agent, turn.id, outcome="completed", messages=[long, short] * 17).turn
    return ended, table.sizes


@rule("TU-1", "TU-5")
def test_the_largest_commit_that_tools_stage_fits_one_transaction(world):
    """15 records in four places, with all the messages that a call takes."""
    turn = world.begin(world.configure(memory=NOT_DUE), user_id="u", workflow_id="w")
    for n in range(15):
        turn.add(f"Fact {n}.", scope=("session", "workflow", "user", "agent")[n % 4])
    ended, sizes = end_with_long_messages(world, turn)
    assert (ended.status, len(ended.memories)) == (TurnStatus.COMMITTED, 15)
    # the turn, its place among the open ones, the log's end, the events, that no review has read them, 34 of messages,
    # 15 × 2 of records, 4 places and the commit not indexed
    assert sizes == [1 + 1 + 1 + 1 + 1 + 34 + 30 + 4 + 1]
    assert sizes[0] <= MAX_ACTIONS


@rule("TU-1", "TU-8")
def test_a_commit_that_grew_since_it_was_staged_goes_through_ending_in_two_transactions(world):
    """15 keys, each taken by another turn meanwhile: every save now supersedes a holder that nobody had named."""
    agent = world.configure(memory=NOT_DUE)
    who = {"user_id": "u", "workflow_id": "w"}
    scopes = [("session", "workflow", "user", "agent")[n % 4] for n in range(15)]
    turn, faster = world.begin(agent, **who), world.begin(agent, **who)
    saved = [turn.add(f"Fact {n}.", scope=scope, memory_key=f"k{n}") for n, scope in enumerate(scopes)]
    before = [faster.add(f"Faster {n}.", scope=scope, memory_key=f"k{n}") for n, scope in enumerate(scopes)]
    faster.commit()
    ended, sizes = end_with_long_messages(world, turn)
    # First the turn, its places among the open ones, among all that end and among those of its session, the log's end
    # and the messages; then the turn, both places where it no longer is, the log's end, the events, that no review has
    # read them, 15 × (record, fingerprint, key, holder put and taken away), 4 places and the commit not indexed.
    assert sizes == [1 + 1 + 2 + 1 + 34, 1 + 2 + 1 + 1 + 1 + 75 + 4 + 1]
    assert max(sizes) <= MAX_ACTIONS < sum(sizes)
    assert ended.status is TurnStatus.COMMITTED
    assert open_turns(world) == []
    assert [conflict["target"] for conflict in ended.conflicts] == before
    assert set(world.begin(agent, **who).search(limit=50)) == set(saved)
    assert len(turn.transcript("message")) == 34


@rule("TU-2")
def test_an_end_that_breaks_off_between_its_two_transactions_is_gone_on_with_by_the_same_call_again(world):
    agent = world.configure(memory=NOT_DUE)
    turn, faster = world.begin(agent), world.begin(agent)
    saved = [turn.add(f"Fact {n}.", memory_key=f"k{n}") for n in range(15)]
    before = [faster.add(f"Faster {n}.", memory_key=f"k{n}") for n in range(15)]
    faster.commit()
    plain = world.table.transact

    def breaking_off(writes):
        plain(writes)
        raise StoreUnavailable("killed")

    world.table.transact = breaking_off
    with pytest.raises(StoreUnavailable):
        end_with_long_messages(world, turn)
    world.table.transact = plain
    assert turn.state()["status"] == "ending"
    with pytest.raises(Conflict):
        turn.add("Too late.")
    assert set(world.begin(agent).search(limit=50)) == set(before)
    assert turn.commit()["status"] == "committed"
    assert set(world.begin(agent).search(limit=50)) == set(saved)
    assert len(turn.transcript("message")) == 34
