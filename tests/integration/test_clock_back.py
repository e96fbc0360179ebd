"""The machine's clock is set back while the product runs: order, versions and the index go on."""

from __future__ import annotations

import pytest
from world import World

HOUR = {"hours": -1}


@pytest.mark.rule("TU-1", "TU-4", "RK-5", "IF-4")
def test_what_is_saved_after_the_clock_went_back_is_newer_all_the_same(world: World) -> None:
    agent = world.configure()
    before = world.remember(agent, "The depot closes at noon.")
    world.clock.advance(**HOUR)
    after = world.remember(agent, "The depot opens at eight.")
    assert before < after
    assert world.begin(agent).search() == [after, before]
    world.index_all()
    assert world.begin(agent).search() == [after, before]
    assert set(world.recall(agent, "depot")) == {before, after}


@pytest.mark.rule("TU-8", "RC-5", "RC-6", "RK-5")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_change_made_by_an_earlier_clock_wins_over_what_it_changes(world: World, indexed: bool) -> None:
    """In the index too, which takes a version only if it is greater than the one it has."""
    agent = world.configure()
    replaced = world.remember(agent, "The depot closes at noon.")
    deleted = world.remember(agent, "The depot is red.")
    if indexed:
        world.index_all()
    world.clock.advance(**HOUR)
    turn = world.begin(agent)
    new = turn.add("The depot closes at one.", replaces=replaced)
    turn.remove(deleted)
    turn.commit()
    assert world.recall(agent, "depot") == [new]
    world.index_all()
    world.index.searches = 0
    assert world.recall(agent, "depot") == [new]
    assert world.index.searches == 1
    assert world.services.records.waiting(limit=10) == []
    for id, status in ((replaced, "SUPERSEDED"), (deleted, "DELETED")):
        assert world.begin(agent).read(id)["status"] == status


@pytest.mark.rule("TU-1", "TU-3", "TU-10")
def test_a_turn_lives_through_a_clock_that_goes_back(world: World) -> None:
    agent = world.configure()
    turn = world.begin(agent)
    first = turn.add("The depot closes at noon.")
    world.clock.advance(**HOUR)
    second = turn.add("The depot closes at one.", replaces=first)
    assert turn.search("depot") == [second]
    ended = turn.commit()
    assert (ended["status"], [memory["id"] for memory in ended["memories"]]) == ("committed", [first, second])
    assert ended["conflicts"] == []
    assert turn.commit() == ended
    sequence = [event["sequence"] for event in turn.transcript()]
    assert sequence == sorted(set(sequence))


@pytest.mark.rule("LC-1")
def test_what_had_expired_is_back_while_the_clock_says_so(world: World) -> None:
    """Expiry is the clock's to say, at each reading; nothing was removed by it."""
    agent = world.configure()
    turn = world.begin(agent)
    ends = world.clock.moment.replace(microsecond=0)
    saved = turn.add("The depot is shut.", expires_at=ends.replace(hour=ends.hour + 1).isoformat())
    turn.commit()
    world.clock.advance(hours=2)
    assert world.recall(agent, "depot") == []
    world.clock.advance(hours=-2)
    assert world.recall(agent, "depot") == [saved]


@pytest.mark.rule("TU-6", "TU-7")
def test_turns_keep_their_numbers_and_attempts(world: World) -> None:
    agent = world.configure()
    first = world.begin(agent)
    first.roll_back()
    world.clock.advance(**HOUR)
    again = world.begin(agent, retry_of=first.id)
    second = world.begin(agent)
    assert [turn.state()["number"] for turn in (first, again, second)] == [1, 1, 2]
    assert again.state()["attempt"] == 2
    assert again.commit()["status"] == second.commit()["status"] == "committed"
