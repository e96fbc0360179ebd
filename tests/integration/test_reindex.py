"""A new index is filled beside the old one, while everything goes on: on a real node."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from embedders import HashEmbedder
from world import with_embedder

from agent_memory.adapters.opensearch import OpenSearchIndex
from agent_memory.cli import main
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import IndexQuery
from agent_memory.operations import index as indexing
from agent_memory.operations.reindex import reindex
from agent_memory.runtime import settings, wiring

rule = pytest.mark.rule


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr(indexing, "PAGE", 3)


@pytest.fixture
def index(aws):
    return aws.index.inner


def names(index):
    """The indices there are, and the one that is searched."""
    found = index._client.indices.get_alias(index=f"{index._alias}-*")
    return sorted(found), [name for name, told in found.items() if index._alias in told["aliases"]]


def shown(world, agent, session="s1"):
    """What the index alone finds: ids of its live entries by the word all records share."""
    partitions = [f"{agent}#session#{session}", f"{agent}#agent#"]
    answer = world.index.inner.search(IndexQuery(partitions, words=["invoic"]))
    return sorted(candidate.id for candidate in answer.lexical)


def many(world, agent, count, **fields):
    return [world.remember(agent, f"Invoice {n}.", **fields) for n in range(count)]


@rule("RK-6", "RC-6")
def test_what_happens_meanwhile_is_right_in_the_new_index(aws, index):
    agent, other = aws.configure(agent="aaa"), aws.configure(agent="bbb")
    ids, others = many(aws, agent, 7), many(aws, other, 4)
    aws.index_all()
    before = names(index)
    steps = reindex(aws.services, index)
    expected = set(ids)
    for number, _ in enumerate(steps):
        assert shown(aws, agent) == sorted(expected)  # from the old one, which misses nothing
        turn = aws.begin(agent)
        new = turn.add(f"Invoice anew {number}.", replaces=ids[number]) if number < 5 else turn.add("Invoice more.")
        if number == 0:
            turn.remove(ids[6])  # of the first page, which is told already
        if number == 1:
            turn.remove(ids[5])
        turn.commit()
        aws.index_all()
        expected = {*expected, new} - {ids[number]} - ({ids[6]} if number == 0 else {ids[5]} if number == 1 else set())
    assert shown(aws, agent) == sorted(expected)
    assert shown(aws, other) == sorted(others)
    after = names(index)
    assert len(after[0]) == 1
    assert after != before
    assert sorted(aws.begin(agent).search("invoice", limit=50)) == sorted(expected)
    aws.remember(agent, "Invoice of after.")
    aws.index_all()
    assert len(shown(aws, agent)) == len(expected) + 1


def test_started_again_it_goes_on_where_it_was_stopped(aws, index):
    agent, other = aws.configure(agent="aaa"), aws.configure(agent="bbb")
    ids, others = many(aws, agent, 7), many(aws, other, 4)
    aws.index_all()
    steps = reindex(aws.services, index)
    first = [next(steps), next(steps)]
    steps.close()  # killed
    late = aws.remember(agent, "Invoice of between.")
    aws.index_all()
    assert shown(aws, agent) == sorted([*ids, late])
    rest = list(reindex(aws.services, index))
    assert {progress.index for progress in [*first, *rest]} == {rest[-1].index}
    assert [progress.records for progress in [*first, *rest]] == [3, 6, 7, 10, 11]
    assert (shown(aws, agent), shown(aws, other)) == (sorted([*ids, late]), sorted(others))
    assert names(index) == ([rest[-1].index], [rest[-1].index])
    assert aws.services.deployment.progress() is None


def test_stopped_before_the_swap_or_after_it_the_next_call_ends_it(aws, index):
    agent = aws.configure()
    ids = many(aws, agent, 4)
    aws.index_all()
    for broken in ("start_next", "finish_next"):
        whole = getattr(index, broken)
        setattr(index, broken, lambda whole=whole: (whole(), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            list(reindex(aws.services, index))
        delattr(index, broken)
        list(reindex(aws.services, index))
        assert shown(aws, agent) == sorted(ids)
        assert len(names(index)[0]) == 1


@rule("RK-6")
def test_an_outage_on_the_way_loses_nothing(aws, index):
    agent = aws.configure()
    ids = many(aws, agent, 7)
    aws.index_all()
    steps = reindex(aws.services, index)
    next(steps)
    plain, index._write = index._write, lambda *_: (_ for _ in ()).throw(IndexUnavailable("down"))
    with pytest.raises(IndexUnavailable):
        next(steps)
    late = aws.remember(agent, "Invoice of between.")
    with pytest.raises(IndexUnavailable):
        aws.index_all()
    index._write = plain
    list(reindex(aws.services, index))
    aws.index_all()
    assert shown(aws, agent) == sorted([*ids, late])


@rule("RK-6")
def test_another_model_gets_an_index_of_its_own_and_until_then_commits_wait(aws, index):
    agent = aws.configure()
    ids = many(aws, agent, 4)
    aws.index_all()
    embedder = HashEmbedder(32, model="another")
    changed = OpenSearchIndex(index._client, index._alias, model="another", dimensions=32)
    world = with_embedder(aws, embedder)
    world = replace(world, services=replace(world.services, index=changed))
    late = world.remember(agent, "Invoice of the other model.")
    with pytest.raises(IndexUnavailable):
        world.index_all()
    list(reindex(world.services, changed))
    world.index_all()
    assert sorted(world.begin(agent).search("invoice")) == sorted([*ids, late])
    assert all("another" in name for name in names(changed)[0])
    assert len(world.services.records.vectors(world.services.records.locate(agent, [*ids, late]), "another")) == 5


# ---------------------------------------------------------------- the commands


@pytest.fixture
def command(aws, index, monkeypatch):
    """`agent-memory` with the deployment of the test."""
    monkeypatch.setenv(settings.MEMORY_TABLE, "Memory")
    wiring.use(wiring.Wired(aws.services, "aws", lambda: index, lambda: aws.services.history_index.inner))
    yield lambda *words: CliRunner().invoke(main, words)
    wiring.use(None)


def test_the_command_tells_its_progress_and_its_end(aws, index, command):
    many(aws, aws.configure(), 4)
    aws.index_all()
    told = command("reindex")
    assert told.exit_code == 0, told.output
    assert "It holds 4 records" in told.stdout
    assert "3 records told to" in told.stderr


def test_an_index_that_does_not_answer_is_told_in_one_line(aws, index, command, monkeypatch):
    def down():
        raise IndexUnavailable("the search index did not answer: ConnectionError")

    monkeypatch.setattr(index, "start_next", down)
    told = command("reindex")
    assert (told.exit_code, len(told.stderr.splitlines())) == (1, 1)
    assert "goes on" in told.stderr


def test_redrive_hands_over_every_commit_that_waits_and_says_what_it_did(aws, command):
    agent = aws.configure()
    many(aws, agent, 3)
    told = command("redrive")
    assert (told.exit_code, told.stdout) == (0, "3 commits indexed, 0 not, 0 records refused.\n")
    assert aws.services.records.waiting(limit=10) == []
    aws.remember(agent, "Invoice that breaks.")
    aws.services.records.indexed = lambda *_: 1 / 0
    told = command("redrive")
    del aws.services.records.indexed
    assert told.exit_code == 1
    assert "0 commits indexed, 1 not" in told.stdout
    assert "ZeroDivisionError" in told.stdout


def test_without_the_environment_of_a_deployment_it_says_what_is_missing(monkeypatch):
    wiring.use(None)
    monkeypatch.setenv(settings.MEMORY_TABLE, "Memory")
    for words in (["reindex"], ["redrive"]):
        told = CliRunner().invoke(main, words)
        assert told.exit_code == 2
        assert settings.EXECUTION_TABLE in told.stderr


@rule("RK-6")
def test_a_change_on_its_way_to_both_while_they_change_places_is_told_again(aws, index):
    agent = aws.configure()
    ids = many(aws, agent, 2)
    aws.index_all()
    steps = reindex(aws.services, index)
    next(steps)
    before = index._aliases.targets()
    assert len(before) == 2
    late = aws.remember(agent, "Invoice on its way.")
    list(steps)
    plain, index._aliases.targets = index._aliases.targets, lambda: before
    with pytest.raises(IndexUnavailable):
        aws.index_all()
    index._aliases.targets = plain
    aws.index_all()
    assert shown(aws, agent) == sorted([*ids, late])
