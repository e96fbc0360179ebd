"""The index follows the table, whatever the stream does: duplicates, other orders, failures in the middle (DESIGN)."""

import random

import pytest

from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.scopes import Place, Scope
from agent_memory.operations.index import index_commits, rebuild
from agent_memory.operations.status import status

rule = pytest.mark.rule


def saved(world, agent, count):
    return [world.remember(agent, f"Invoice {n}.") for n in range(count)]


def in_index(world, agent, query="invoice"):
    """What a search finds with nothing left unindexed."""
    assert all(world.services.records.commits([key]) == [] for key in world.commits())
    return set(world.begin(agent).search(query, limit=50))


@rule("RK-5", "RC-6")
@pytest.mark.parametrize("seed", range(4))
def test_repeats_and_other_orders_of_the_stream_end_with_what_stands_in_the_table(world, seed):
    agent = world.configure()
    ids = saved(world, agent, 4)
    early = world.commits()
    turn = world.begin(agent)
    new = turn.add("Invoice anew.", replaces=ids[0])
    turn.remove(ids[1])
    turn.commit()
    stream = [*early, *world.commits(), *early]
    random.Random(seed).shuffle(stream)
    for key in stream:
        index_commits(world.services, [key])
    index_commits(world.services, stream)
    assert in_index(world, agent) == {new, ids[2], ids[3]}


@rule("RK-6", "TU-4")
def test_while_the_index_is_down_commits_wait_and_none_is_lost(world):
    agent = world.configure()
    ids = saved(world, agent, 3)
    world.index.down = True
    for _ in range(2):
        with pytest.raises(IndexUnavailable):
            world.index_all()
    assert set(world.begin(agent).search("invoice")) == set(ids)
    world.index.down = False
    assert world.index_all().commits == 3
    assert in_index(world, agent) == set(ids)


@rule("RK-6")
def test_a_record_that_the_index_refuses_holds_up_no_other_and_stays_findable(world):
    agent = world.configure()
    turn = world.begin(agent)
    ids = [turn.add(f"Invoice {n}.") for n in range(3)]
    turn.commit()
    plain = world.index.inner.apply

    def refusing(entries):
        return plain([e for e in entries if e.id != ids[1]]) | {e.id: "refused" for e in entries if e.id == ids[1]}

    world.index.apply = refusing
    assert world.index_all().refused == {ids[1]: "refused"}
    for _ in range(2):
        assert set(world.begin(agent).search("invoice")) == set(ids)
    waiting = [u for key in world.commits() for u in world.services.records.commits([key])]
    assert waiting == []  # nobody tries again what can never succeed
    _, unindexed = world.services.records.ahead(Place(Scope.SESSION, agent, "s1"))
    assert unindexed == [ids[1]]


@rule("RK-5")
def test_a_crash_between_index_and_table_repeats_the_commit_and_harms_nothing(world):
    agent = world.configure()
    ids = saved(world, agent, 2)
    plain = world.services.records.indexed
    world.services.records.indexed = lambda *_: (_ for _ in ()).throw(RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        world.index_all()
    world.services.records.indexed = plain
    assert set(world.begin(agent).search("invoice")) == set(ids)
    world.index_all()
    assert in_index(world, agent) == set(ids)


@rule("RK-6")
def test_an_index_that_was_wiped_is_rebuilt_from_the_table_without_a_call_of_the_model(world):
    agent, other = world.configure(), world.configure()
    ids, others = saved(world, agent, 5), saved(world, other, 2)
    turn = world.begin(agent)
    turn.remove(ids[0])
    turn.commit()
    world.index_all()
    world.index.inner.clear()
    assert world.begin(agent).search("invoice") == []
    world.services.embedder.asked.clear()
    assert [sum(n for n, _ in rebuild(world.services, a)) for a in (agent, other)] == [4, 2]
    assert world.services.embedder.asked == []
    assert in_index(world, agent) == set(ids[1:])
    assert in_index(world, other) == set(others)


@rule("IF-6")
def test_the_status_tells_how_many_commits_wait_and_since_when(world):
    agent = world.configure()
    saved(world, agent, 2)
    world.clock.advance(minutes=5)
    index = status(world.services, edition="test")["index"]
    assert (index["state"], index["unindexed"]) == ("lagging", 2)
    assert 300 <= index["oldest_s"] < 301
    world.index.down = True
    assert status(world.services, edition="test")["index"]["state"] == "down"
    world.index.down = False
    world.index_all()
    assert status(world.services, edition="test")["index"] == {"state": "ok", "unindexed": 0, "oldest_s": None}
