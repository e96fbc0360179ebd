"""The index handler on the stream as Lambda drives it: duplicates, other orders, poison, failures in the middle."""

import random

import pytest
from stream import Shard

from agent_memory.domain.errors import IndexUnavailable, StoreUnavailable
from agent_memory.operations import upkeep
from agent_memory.runtime import wiring
from functions.index.handler import handle

rule = pytest.mark.rule


@pytest.fixture
def wired(world):
    wiring.use(wiring.Wired(world.services, "test"))
    yield world
    wiring.use(None)


class Failing:
    """A port whose calls fail now and then; `failures` says how often still."""

    def __init__(self, inner, name, errors, rng, failures=12):
        self._call, self._errors, self._rng, self.failures = getattr(inner, name), errors, rng, failures
        setattr(inner, name, self)

    def __call__(self, *args):
        if self.failures and self._rng.random() < 0.5:
            self.failures -= 1
            if self._rng.random() < 0.5:
                self._call(*args)  # done, and the answer lost
            raise self._rng.choice(self._errors)
        return self._call(*args)


def history(world, agent, rng):
    """Turns that save, replace and delete; gives the ids that are left."""
    live = []
    for n in range(8):
        turn = world.begin(agent)
        live.append(turn.add(f"Invoice {n}."))
        if len(live) > 2 and rng.random() < 0.6:
            gone = live.pop(rng.randrange(len(live) - 1))
            if rng.random() < 0.5:
                turn.remove(gone)
            else:
                live.append(turn.add(f"Invoice {n}, corrected.", replaces=gone))
        turn.commit()
    return sorted(live)


def found(world, agent):
    return sorted(world.begin(agent).search("invoice", limit=50))


def index_alone(world, agent):
    """What is found with nothing left to read from the table's list."""
    assert world.services.records.waiting(limit=100) == []
    return found(world, agent)


@rule("RK-5", "RK-6", "TU-4")
@pytest.mark.parametrize("seed", range(4))
def test_whatever_fails_repeats_or_overtakes_the_index_ends_with_what_stands_in_the_table(wired, seed):
    rng = random.Random(seed)
    agent = wired.configure()
    live = history(wired, agent, rng)
    faults = [
        Failing(wired.index, "apply", [IndexUnavailable("x"), RuntimeError("x")], rng),
        Failing(wired.services.records, "stored", [StoreUnavailable("x"), RuntimeError("x")], rng),
        Failing(wired.services.records, "indexed", [StoreUnavailable("x"), RuntimeError("x")], rng),
    ]
    shard = Shard(handle, batch=rng.choice([1, 3, 5]), attempts=100)
    shard.insert(wired.commits(), rng=rng)
    shard.run()
    for fault in faults:
        fault.failures = 0
    assert shard.failed == []  # an outage is waited for; what a fault of ours broke waits in the table
    wired.clock.advance(minutes=6)
    upkeep.drain(wired.services, lambda: True)
    assert index_alone(wired, agent) == live


@rule("RK-6")
def test_a_record_that_always_breaks_is_parked_at_once_and_the_rest_goes_on(wired):
    agent = wired.configure()
    ids = [wired.remember(agent, f"Invoice {n}.") for n in range(5)]
    plain = wired.services.records.stored

    def stored(places, model):
        if ids[2] in places:
            raise RuntimeError("reads what nobody can index: Invoice 2.")
        return plain(places, model)

    wired.services.records.stored = stored
    shard = Shard(handle, batch=5)
    shard.insert(wired.commits())
    shard.run()
    assert (shard.deliveries, shard.failed) == (1, [])
    assert [list(commit.places) for commit in wired.services.records.waiting(limit=9)] == [[ids[2]]]
    wired.services.records.stored = plain
    assert found(wired, agent) == sorted(ids)  # it is read along from the table
    wired.clock.advance(minutes=6)
    assert upkeep.drain(wired.services, lambda: True).commits == 1
    assert index_alone(wired, agent) == sorted(ids)


@rule("RK-6")
def test_where_the_index_stops_answering_on_the_way_lambda_is_told_where_to_go_on(wired):
    agent = wired.configure()
    ids = [wired.remember(agent, f"Invoice {n}.") for n in range(4)]
    plain, calls = wired.index.apply, []

    def apply(entries):
        calls.append(len(entries))
        if len(calls) == 1:
            raise RuntimeError("the batch as a whole breaks")
        if len(calls) == 4:
            raise IndexUnavailable("down")
        return plain(entries)

    wired.index.apply = apply
    answers = []

    def noting(event, context):
        answer = handle(event, context)
        answers.append((len(event["Records"]), len(answer["batchItemFailures"])))
        return answer

    shard = Shard(noting)
    shard.insert(wired.commits())
    shard.run()
    assert answers == [(4, 2), (2, 0)]
    assert index_alone(wired, agent) == sorted(ids)


@rule("RK-6")
def test_an_outage_longer_than_lambda_tries_leaves_all_to_upkeep(wired):
    agent = wired.configure()
    ids = [wired.remember(agent, f"Invoice {n}.") for n in range(6)]
    wired.index.down = True
    shard = Shard(handle, attempts=3)
    shard.insert(wired.commits())
    shard.run()
    assert len(shard.failed) == 6  # the queue's messages name the places; the table has the commits
    assert found(wired, agent) == sorted(ids)
    wired.index.down = False
    wired.clock.advance(minutes=6)
    upkeep.drain(wired.services, lambda: True)
    assert index_alone(wired, agent) == sorted(ids)
