"""Records whose time is over: gone for turns at the instant, and removed by the sweep (LC-1)."""

from __future__ import annotations

import pytest
from world import World

from agent_memory.domain.errors import NotFound
from agent_memory.operations.expire import remove_expired
from agent_memory.operations.index import index_commits
from agent_memory.operations.memories import list_memories, read_memory
from agent_memory.operations.record_filters import Filters
from agent_memory.store import keys

MEMORY = {
    "kinds": {"fact": {}, "rule": {"precedence": "broader"}},
    "pinned": {"max_tokens": 200},
    "retention": {"scope": {"session": "30d"}, "kind": {"rule": "10d"}, "preview": "2d"},
}


def sweep(world: World) -> int:
    return remove_expired(world.services, lambda: True)


def ids(world: World, agent: str, **filters: object) -> list[str]:
    return [r["id"] for r in list_memories(world.services, agent, Filters(**filters))["memories"]]  # type: ignore[arg-type]


def listed(world: World) -> list[str]:
    """Records that are to end by themselves."""
    shards = [keys.expiring_partition(shard) for shard in range(keys.SHARDS)]
    return [row.key.sort for shard in shards for row in world.table.query("memory", shard)]


@pytest.mark.rule("LC-1")
def test_the_sweep_removes_what_has_ended_with_all_that_leads_to_it(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    turn = world.begin(agent)
    short = turn.add("Rule for a while.", kind="rule", memory_key="k", pinned=True)
    long = turn.add("Fact for longer.")
    turn.commit()
    world.index_all()
    world.clock.advance(days=11)
    assert ids(world, agent) == [long]
    assert read_memory(world.services, agent, short)["expired"] is True
    later = world.begin(agent)
    assert later.recall("rule")["constraints"] == later.recall("rule")["pinned"] == []
    assert sweep(world) == 1
    with pytest.raises(NotFound):
        read_memory(world.services, agent, short)
    assert ids(world, agent, expired=True) == []
    world.index_all()
    assert later.search("rule while") == [long]
    left = {row.key.sort for place in (f"{agent}#session#s1", agent) for row in world.table.query("memory", place)}
    assert not [sort for sort in left if short in sort or sort.startswith(keys.HOLDER)]
    assert sweep(world) == 0
    assert later.add("The next one takes the key.", memory_key="k")


@pytest.mark.rule("LC-1", "GR-3")
def test_what_ended_and_is_still_there_is_listed_alone_and_only_when_asked_for(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    gone = world.remember(agent, "Rule for a while.", kind="rule")
    world.clock.advance(days=11)
    assert ids(world, agent) == []
    assert ids(world, agent, statuses=["ACTIVE", "DELETED"]) == []
    assert ids(world, agent, expired=True) == [gone]


@pytest.mark.rule("LC-1", "TU-5")
def test_a_record_that_ended_before_its_turn_did_is_removed_all_the_same(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    turn = world.begin(agent)
    moment = (world.clock.moment.replace(microsecond=0)).isoformat().replace("T08", "T09")
    saved = turn.add("For an hour.", expires_at=moment)
    world.clock.advance(hours=2)
    assert sweep(world) == 0
    turn.commit()
    assert sweep(world) == 1
    with pytest.raises(NotFound):
        read_memory(world.services, agent, saved)


@pytest.mark.rule("LC-1")
def test_what_was_staged_and_rolled_back_leaves_the_list_at_once(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    turn = world.begin(agent)
    turn.add("Never.")
    assert listed(world)
    turn.roll_back()
    assert not listed(world)


@pytest.mark.rule("PV-2", "PV-3", "LC-1")
def test_a_preview_deletion_ends_and_what_a_replacement_hides_stays_hidden(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    deleted, replaced = world.remember(agent, "To be hidden."), world.remember(agent, "To be replaced.")
    preview = world.begin(agent, preview=True)
    preview.remove(deleted)
    preview.add("Instead.", replaces=replaced)
    preview.commit()
    assert world.begin(agent).search() == [replaced, deleted]
    world.clock.advance(days=3)
    for _ in range(2):
        assert world.begin(agent, preview=True).search() == [deleted]
        assert world.begin(agent).search() == [replaced, deleted]
        sweep(world)


@pytest.mark.rule("LC-1", "RC-5")
def test_superseded_and_deleted_versions_end_too(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    old = world.remember(agent, "Old.")
    world.remember(agent, "New.", replaces=old)
    world.clock.advance(days=31)
    assert sweep(world) == 2
    assert ids(world, agent, statuses=["ACTIVE", "SUPERSEDED", "DELETED"], expired=True) == []


@pytest.mark.rule("RK-5", "LC-1")
def test_a_late_index_of_what_was_removed_resurrects_nothing(world: World) -> None:
    agent = world.configure(memory=MEMORY)
    gone = world.remember(agent, "Rule for a while.", kind="rule")
    commits = world.commits()
    world.index_all()
    world.clock.advance(days=11)
    sweep(world)
    world.index_all()
    index_commits(world.services, commits)
    assert gone not in world.begin(agent).search("rule while")
