"""A search of all that one agent has, in whatever partition: the same on both sides of the port (GR-3)."""

from __future__ import annotations

import numpy as np
import pytest
from index_fixtures import (
    AGENT,
    OTHER,
    PLACE,
    Backend,
    entry,
    ids,
    numbered,
    packed,
    random_units,
    tombstone,
    ulid,
)
from index_reference import expected

from agent_memory.domain.ports import IndexEntry, IndexQuery, Statistics

PREVIEW = f"{PLACE}#preview"
LOOK_ALIKES = ["sup", "supportx", "support-", "support_", "Support", "SUPPORT", "s", "%", "_", "support,other"]


def test_records_of_all_partitions_of_the_agent_count_as_one_collection(backend: Backend) -> None:
    backend.put(entry(1, "tea milk"), entry(2, "tea", partition=OTHER), entry(3, "sugar", partition=f"{AGENT}#agent#"))
    answer = backend.ask_agent(words=["tea", "milk"])
    assert sorted(ids(answer.lexical)) == numbered(1, 2)
    assert (answer.statistics.documents, answer.statistics.tokens, answer.statistics.containing) == (3, 4, (2, 1))


def test_live_and_preview_records_of_an_agent_are_both_found(backend: Backend) -> None:
    one, two = random_units(2, 1)
    backend.put(entry(1, "tea", vectors=packed(one)), entry(2, "tea", partition=PREVIEW, vectors=packed(two)))
    answer = backend.ask_agent(words=["tea"], vector=one.tolist())
    assert sorted(ids(answer.lexical)) == sorted(ids(answer.vector)) == numbered(1, 2)


def test_where_a_record_of_an_agent_lies_is_not_said(backend: Backend) -> None:
    backend.put(entry(1, "tea"))
    assert [candidate.partition for candidate in backend.ask_agent(words=["tea"]).lexical] == [""]


@pytest.mark.rule("SC-1", "SC-5")
def test_another_agents_records_and_words_never_enter(backend: Backend) -> None:
    vectors = random_units(len(LOOK_ALIKES) + 1, 2)
    agents = [AGENT, *LOOK_ALIKES]
    backend.put(
        *(
            entry(n, f"tea only{n}", agent_id=name, partition=f"{name}#session#s-1", vectors=packed(vectors[n]))
            for n, name in enumerate(agents)
        )
    )
    for number, name in enumerate(agents):
        words = ["tea", f"only{number}", f"only{(number + 1) % len(agents)}"]
        answer = backend.ask_agent(name, words=words, vector=vectors[0].tolist())
        assert ids(answer.lexical) == ids(answer.vector) == numbered(number)
        counted = answer.statistics
        assert (counted.documents, counted.tokens, counted.containing) == (1, 2, (1, 1, 0))


def test_records_of_no_agent_are_found_by_partition_alone(backend: Backend) -> None:
    backend.put(entry(1, "tea"), entry(2, "tea", partition="#platform#", agent_id=""))
    assert ids(backend.ask_agent(words=["tea"]).lexical) == numbered(1)
    assert ids(backend.ask("#platform#", words=["tea"]).lexical) == numbered(2)


@pytest.mark.rule("SC-5")
@pytest.mark.parametrize("whose", [{"agent_id": ""}, {"agent_id": AGENT, "partitions": (PLACE,)}])
def test_a_search_of_no_agent_and_one_of_agent_and_partitions_are_refused(whose: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="of partitions or of one agent"):
        IndexQuery(**whose)  # type: ignore[arg-type]


def test_an_agent_without_records_gives_empty_legs_and_zero_statistics(backend: Backend) -> None:
    backend.put(entry(1, "tea", vectors=packed(*random_units(1, 3))))
    answer = backend.ask_agent("nobody", words=["tea", "milk"], vector=random_units(1, 3)[0].tolist())
    assert (answer.lexical, answer.vector, answer.statistics) == ([], [], Statistics(containing=(0, 0)))


@pytest.mark.rule("RC-6")
def test_a_tombstone_leaves_the_agents_legs_and_statistics(backend: Backend) -> None:
    one, two = random_units(2, 4)
    backend.put(entry(1, "tea", vectors=packed(one)), entry(2, "tea", partition=OTHER, vectors=packed(two)))
    backend.put(tombstone(1), tombstone(9, partition="support#session#never"))
    answer = backend.ask_agent(words=["tea"], vector=one.tolist())
    assert ids(answer.lexical) == ids(answer.vector) == numbered(2)
    assert (answer.statistics.documents, answer.statistics.tokens, answer.statistics.containing) == (1, 1, (1,))


def test_an_agents_record_that_was_restored_with_other_words_is_found_by_those_alone(backend: Backend) -> None:
    vector = random_units(1, 5)[0]
    backend.put(entry(1, "tea", vectors=packed(vector)), entry(2, "sugar"), entry(3, "cake", partition=OTHER))
    backend.put(tombstone(1, stamp=2))
    backend.put(entry(1, "milk", stamp=3, vectors=packed(vector)))
    answer = backend.ask_agent(words=["tea", "milk"], vector=vector.tolist())
    assert [(found.id, found.counts) for found in answer.lexical] == [(ulid(1), (0, 1))]
    assert ids(answer.vector) == numbered(1)
    assert (answer.statistics.documents, answer.statistics.containing) == (3, (0, 1))


def test_what_was_applied_is_found_at_once_in_new_and_known_partitions(backend: Backend) -> None:
    for number in range(6):
        backend.put(entry(number, "tea", partition=f"support#session#{number // 2}"))
        assert len(backend.ask_agent(words=["tea"]).lexical) == number + 1


@pytest.mark.parametrize("seed", range(3))
def test_a_search_of_an_agent_agrees_with_counting_by_hand(backend: Backend, seed: int) -> None:
    entries = mixed(seed)
    backend.put(*entries)
    gone = [
        tombstone(int(number), partition=entries[number].partition, agent_id=entries[number].agent_id)
        for number in range(0, 90, 9)
    ]
    backend.put(*gone)
    standing = [entry for number, entry in enumerate(entries) if number % 9]
    for filters in ({}, {"kind": "fact"}, {"labels": {"a": "1"}}, {"kind": "event", "labels": {"a": "0"}}):
        asked = random_units(1, 1)[0].tolist()
        query = IndexQuery(agent_id=AGENT, words=["w3", "none", "w0", "w7"], vector=asked, **filters)
        answer, truth = backend.index.search(query), expected(standing, query)
        counted = answer.statistics
        assert (counted.documents, counted.tokens) == (truth.documents, truth.tokens)
        assert counted.containing == truth.containing
        assert set(ids(answer.lexical)) == truth.matching
        assert ids(answer.vector) == truth.nearest(100)
        for found in answer.lexical + answer.vector:
            assert (found.counts, found.length) == (truth.counts[found.id], truth.lengths[found.id])


def test_a_search_of_an_agent_with_one_partition_answers_as_one_of_that_partition(backend: Backend) -> None:
    vectors = random_units(150, 6)
    backend.put(*(entry(n, ["tea"] * (1 + n % 7) + ["x"] * n, vectors=packed(vectors[n])) for n in range(150)))
    query = {"words": ["tea", "none"], "vector": vectors[0].tolist()}
    by_place, by_agent = backend.ask(**query), backend.ask_agent(**query)
    assert ids(by_agent.lexical) == ids(by_place.lexical)
    assert ids(by_agent.vector) == ids(by_place.vector)
    assert by_agent.statistics == by_place.statistics


def mixed(seed: int) -> list[IndexEntry]:
    """Records of two agents in three partitions each, with all that differs between records."""
    random = np.random.default_rng(seed)
    words, agents = [f"w{number}" for number in range(12)], [AGENT, "sup"]
    places = ["session#s-1", "session#s-1#preview", "agent#"]
    made = []
    for number in range(90):
        agent = str(random.choice(agents))
        made.append(
            entry(
                number,
                list(random.choice(words, random.integers(0, 20))),
                agent_id=agent,
                partition=f"{agent}#{random.choice(places)}",
                kind=str(random.choice(["fact", "event"])),
                labels={"a": str(random.integers(2))} if number % 3 else {},
                vectors=packed(*random_units(int(random.integers(0, 3)), number)),
            )
        )
    return made
