"""What is done by schedule: nothing waits for a call that never comes, and no job keeps another from running."""

import json
from types import SimpleNamespace

import pytest
from embedders import HashEmbedder
from world import with_embedder

from agent_memory.domain.errors import EmbedderUnavailable, StoreUnavailable
from agent_memory.operations import index as indexing
from agent_memory.operations import upkeep
from agent_memory.operations.status import status
from agent_memory.runtime import metrics, wiring
from agent_memory.runtime.upkeep import run
from functions.upkeep.handler import RunFailed, handle

rule = pytest.mark.rule


def always():
    return True


@pytest.fixture
def wired(world):
    wiring.use(wiring.Wired(world.services, "test"))
    yield world
    wiring.use(None)


def waiting(world):
    return len(world.services.records.waiting(limit=100))


def break_records(world, *summaries):
    """Reading these records for the index fails, as a fault of ours would."""
    plain = world.services.records.stored

    def stored(places, model):
        found = plain(places, model)
        if any(one.record.summary in summaries for one in found):
            raise RuntimeError("a fault of ours")
        return found

    world.services.records.stored = stored


@rule("RK-6", "TU-4")
def test_commits_that_wait_for_long_are_shown_and_the_young_are_left_to_the_stream(world):
    agent = world.configure()
    old = [world.remember(agent, f"Invoice {n}.") for n in range(3)]
    world.clock.advance(minutes=6)
    world.remember(agent, "Invoice of now.")
    assert upkeep.drain(world.services, always).commits == 3
    assert waiting(world) == 1
    assert upkeep.drain(world.services, always).commits == 0
    assert len(world.begin(agent).search("invoice")) == len(old) + 1


@rule("RK-6")
def test_what_breaks_the_indexing_holds_up_nothing_and_is_tried_again(world):
    agent = world.configure()
    for n in range(4):
        world.remember(agent, f"Invoice {n}.")
    world.clock.advance(minutes=6)
    break_records(world, "Invoice 1.", "Invoice 2.")
    drained = upkeep.drain(world.services, always)
    assert (drained.commits, len(drained.broken)) == (2, 2)
    del world.services.records.stored
    assert len(world.begin(agent).search("invoice")) == 4
    assert upkeep.drain(world.services, always).commits == 2


@rule("RK-6")
def test_records_without_vector_are_embedded_page_after_page(world, monkeypatch):
    class Down(HashEmbedder):
        def embed(self, texts, *, query=False):
            raise EmbedderUnavailable("down")

    agent = world.configure()
    down = with_embedder(world, Down())
    ids = [down.remember(agent, f"Invoice {n}.") for n in range(5)]
    down.index_all()
    monkeypatch.setattr(indexing, "PAGE", 2)
    with pytest.raises(EmbedderUnavailable):
        upkeep.embed_all(down.services, always)
    time_left = iter([True, False, False])  # turns of the history come after the records
    assert upkeep.embed_all(world.services, lambda: next(time_left)) == 2
    assert upkeep.embed_all(world.services, always) == 3
    assert world.services.records.unembedded(limit=10) == {}
    assert len(world.services.records.vectors(world.services.records.locate(agent, ids), "hash")) == 5


@rule("CF-6")
def test_the_floor_of_an_unknown_model_is_measured_once(world):
    assert upkeep.keep_floor(world.services)
    asked = len(world.services.embedder.asked)
    assert not upkeep.keep_floor(world.services)
    assert len(world.services.embedder.asked) == asked
    kept = wiring._TableFloors(world.services.deployment)
    assert kept.get("hash/64") == world.services.deployment.floor("hash/64") < 0.5
    kept.put("hash/64", 0.9)
    assert kept.get("hash/64") < 0.5


@rule("IF-6", "TU-5")
def test_a_run_does_what_is_due_and_the_status_tells_when(wired, monkeypatch, capsys):
    monkeypatch.setenv(metrics.NAMESPACE, "test")
    agent = wired.configure()
    wired.remember(agent, "Invoice.")
    left = wired.begin(agent)
    wired.clock.advance(hours=25)
    assert status(wired.services, edition="test")["parts"]["sweep"]["last_run_at"] is None
    capsys.readouterr()
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 200_000)
    assert handle({}, context) == {}
    assert left.state()["reason"] == "timeout"
    assert waiting(wired) == 0
    assert status(wired.services, edition="test")["parts"]["sweep"]["last_run_at"].startswith("2026-05-13T09:")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    told = {name: value for line in lines for name, value in line.items() if name != "_aws"}
    assert told.pop("OldestUnindexedCommit")[0] == pytest.approx(25 * 3600, abs=1)
    assert told == {"UnindexedCommits": [1.0], "TurnsTimedOut": [1.0], "IndexedCommits": [1.0]}


def test_a_job_that_fails_keeps_no_other_from_running(wired, monkeypatch):
    agent = wired.configure()
    wired.remember(agent, "Invoice.")
    left = wired.begin(agent)
    wired.clock.advance(hours=25)
    wired.index.down = True
    assert run(always) == []  # what does not answer is no fault of ours: the next run tries again
    assert (left.state()["reason"], waiting(wired)) == ("timeout", 1)
    wired.index.down = False
    monkeypatch.setattr(wired.services.turns, "longest_open", lambda limit: 1 / 0)
    with pytest.raises(RunFailed, match="turns"):
        handle({}, None)
    assert waiting(wired) == 0


def test_without_time_a_run_only_measures(wired):
    wired.remember(wired.configure(), "Invoice.")
    wired.clock.advance(hours=25)
    assert run(lambda: False) == []
    assert waiting(wired) == 1


# ---------------------------------------------------------------- the index itself


@pytest.fixture
def deployed(aws):
    """With an index that another can be filled beside."""
    wiring.use(wiring.Wired(aws.services, "aws", lambda: aws.index.inner))
    yield aws
    wiring.use(None)


def wipe(world):
    index = world.index.inner
    index._client.indices.delete(index=f"{index._alias}-*")


def test_a_fresh_deployment_gets_its_index(deployed):
    wipe(deployed)
    assert run(always) == []
    assert deployed.index.inner.exists()


@rule("RK-6")
def test_an_index_that_was_lost_is_never_taken_for_an_empty_one(deployed, monkeypatch):
    agent = deployed.configure()
    ids = [deployed.remember(agent, f"Invoice {n}.") for n in range(5)]
    deployed.index_all()
    wipe(deployed)
    monkeypatch.setattr(indexing, "PAGE", 2)
    time_left = iter([False])
    assert run(lambda: next(time_left, False)) == []
    assert not deployed.index.inner.exists()
    assert deployed.begin(agent).recall("invoice")["degraded_reason"] == "index_down"
    assert run(always) == []
    answer = deployed.begin(agent).tool("search_memory", {"query": "invoice"})
    assert (sorted(view["id"] for view in answer["memories"]), answer["degraded"]) == (sorted(ids), False)


def test_the_table_that_does_not_answer_is_the_next_runs(wired, monkeypatch):
    def down(limit):
        raise StoreUnavailable("down")

    monkeypatch.setattr(wired.services.records, "waiting", down)
    assert run(always) == []
