"""What `apply` does to the index: stamps, tombstones, refusals, several threads. The same on both sides of the port."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from index_fixtures import (
    DIMENSIONS,
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

ZERO = bytes(4 * DIMENSIONS)
NOT_A_NUMBER = np.full(DIMENSIONS, np.nan, "<f4").tobytes()


def test_what_was_applied_is_found_at_once(backend: Backend) -> None:
    for number in range(5):
        assert backend.put(entry(number, "tea")) == {}
        assert len(backend.ask(words=["tea"]).lexical) == number + 1


def test_nothing_applied_is_nothing_refused(backend: Backend) -> None:
    assert backend.put() == {}


@pytest.mark.rule("RC-6")
def test_a_tombstone_leaves_legs_and_statistics(backend: Backend) -> None:
    one, two = random_units(2, 1)
    backend.put(entry(1, "tea", vectors=packed(one)), entry(2, "tea", vectors=packed(two)))
    backend.put(tombstone(1))
    answer = backend.ask(words=["tea"], vector=one.tolist())
    assert ids(answer.lexical) == ids(answer.vector) == numbered(2)
    assert (answer.statistics.documents, answer.statistics.tokens, answer.statistics.containing) == (1, 1, (1,))


@pytest.mark.rule("RC-6")
def test_a_late_repeat_does_not_bring_a_record_back(backend: Backend) -> None:
    live = entry(1, "tea", stamp=1)
    backend.put(live)
    backend.put(tombstone(1, stamp=2))
    assert backend.put(live) == {}
    assert backend.ask(words=["tea"]).lexical == []


def test_a_tombstone_of_a_record_never_seen_keeps_it_out(backend: Backend) -> None:
    backend.put(tombstone(1, stamp=5))
    assert backend.put(entry(1, "tea", stamp=4)) == {}
    assert backend.ask(words=["tea"]).lexical == []


def test_a_tombstone_of_a_record_never_seen_changes_no_answer(backend: Backend) -> None:
    """What expires unindexed and is removed for good is told all the same, in a partition known or not."""
    vector = random_units(1, 9)[0]
    backend.put(entry(1, "tea", vectors=packed(vector)))
    query = {"words": ["tea"], "vector": vector.tolist()}
    before = backend.ask(**query), backend.ask_agent(**query)
    never_seen = [
        tombstone(2, stamp=5),
        tombstone(3, partition="place-0", stamp=5),
        tombstone(4, partition="other", agent_id="other"),
    ]
    for _ in range(2):
        assert backend.put(*never_seen) == {}
        assert (backend.ask(**query), backend.ask_agent(**query)) == before
    assert backend.ask("place-0", **query).statistics.documents == 0
    backend.put(entry(2, "tea", stamp=6))
    assert sorted(ids(backend.ask(words=["tea"]).lexical)) == numbered(1, 2)


@pytest.mark.parametrize(("stamp", "standing"), [(1, "tea"), (2, "tea"), (3, "milk")])
def test_only_a_greater_stamp_changes_anything(backend: Backend, stamp: int, standing: str) -> None:
    backend.put(entry(1, "tea", stamp=2, kind="fact"))
    assert backend.put(entry(1, "milk", stamp=stamp, kind="fact")) == {}
    found = {word for word in ("tea", "milk") if backend.ask(words=[word]).lexical}
    assert found == {standing}
    assert backend.ask(words=["tea"]).statistics.documents == 1


def test_stamps_are_as_large_as_milliseconds(backend: Backend) -> None:
    backend.put(entry(1, "tea", stamp=1_800_000_000_000))
    backend.put(tombstone(1, stamp=1_800_000_000_001))
    assert backend.ask(words=["tea"]).lexical == []


@pytest.mark.parametrize("words", ["tea", "tea milk"])
def test_a_restored_record_is_found_again_once(backend: Backend, words: str) -> None:
    vector = random_units(1, 2)[0]
    backend.put(entry(1, "tea", stamp=1, vectors=packed(vector)))
    backend.ask(words=["tea"], vector=vector.tolist())
    backend.put(tombstone(1, stamp=2))
    backend.put(entry(1, words, stamp=3, vectors=packed(vector)))
    answer = backend.ask(words=["tea"], vector=vector.tolist())
    assert ids(answer.lexical) == ids(answer.vector) == numbered(1)
    assert (answer.statistics.documents, answer.statistics.containing) == (1, (1,))


def test_applying_the_same_twice_changes_nothing(backend: Backend) -> None:
    vector = random_units(1, 3)[0]
    entries = [entry(1, "tea tea", vectors=packed(vector)), entry(2, "milk")]
    backend.put(*entries)
    before = backend.ask(words=["tea"], vector=vector.tolist())
    assert backend.put(*entries, *entries) == {}
    assert backend.ask(words=["tea"], vector=vector.tolist()) == before


def test_the_last_of_one_record_in_a_batch_stands(backend: Backend) -> None:
    backend.put(entry(1, "tea", stamp=1), tombstone(1, stamp=2), entry(2, "tea", stamp=2), entry(2, "milk", stamp=1))
    assert ids(backend.ask(words=["tea"]).lexical) == numbered(2)
    assert backend.ask(words=["milk"]).lexical == []


@pytest.mark.rule("RK-6")
def test_a_record_embedded_later_is_then_found_by_meaning(backend: Backend) -> None:
    vector = random_units(1, 4)[0]
    backend.put(entry(1, "tea", stamp=1))
    assert backend.ask(words=["tea"], vector=vector.tolist()).vector == []
    backend.put(entry(1, "tea", stamp=2, vectors=packed(vector)))
    answer = backend.ask(words=["tea"], vector=vector.tolist())
    assert ids(answer.lexical) == ids(answer.vector) == numbered(1)


def test_a_record_embedded_anew_has_its_new_cosine(backend: Backend) -> None:
    old, new = random_units(2, 5)
    backend.put(entry(1, "tea", stamp=1, vectors=packed(old)))
    assert backend.ask(vector=old.tolist()).vector[0].cosine == pytest.approx(1, abs=1e-5)
    backend.put(entry(1, "tea", stamp=2, vectors=packed(new)))
    assert backend.ask(vector=new.tolist()).vector[0].cosine == pytest.approx(1, abs=1e-5)


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("vector", [ZERO, bytes(4 * DIMENSIONS - 4), b"", NOT_A_NUMBER], ids=len)
def test_one_refused_entry_holds_up_no_other(backend: Backend, vector: bytes) -> None:
    good = packed(*random_units(2, 6))
    refused = backend.put(
        entry(1, "tea", vectors=good[:1]), entry(2, "tea", vectors=[good[1], vector]), entry(3, "tea"), tombstone(4)
    )
    assert list(refused) == numbered(2)
    assert "tea" not in refused[ulid(2)]
    assert sorted(ids(backend.ask(words=["tea"]).lexical)) == numbered(1, 3)


def test_partitions_of_one_batch_are_written_together(backend: Backend) -> None:
    backend.put(entry(1, "tea"), entry(2, "tea", partition=OTHER, agent_id="other"), entry(3, "tea"))
    assert sorted(ids(backend.ask(words=["tea"]).lexical)) == numbered(1, 3)
    assert ids(backend.ask(OTHER, words=["tea"]).lexical) == numbered(2)


def test_a_cleared_index_is_empty_and_takes_the_same_stamps_again(backend: Backend) -> None:
    vector = random_units(1, 7)[0]
    live = entry(1, "tea", vectors=packed(vector))
    backend.put(live)
    backend.ask(words=["tea"], vector=vector.tolist())
    backend.index.clear()
    assert backend.ask(words=["tea"], vector=vector.tolist()).statistics.documents == 0
    backend.put(live)
    answer = backend.ask(words=["tea"], vector=vector.tolist())
    assert ids(answer.lexical) == ids(answer.vector) == numbered(1)


def test_searches_beside_writes_see_all_that_was_answered(backend: Backend) -> None:
    """Two threads write, each to a partition of its own and to a shared one; two search all the while."""
    vectors = random_units(100, 8)
    answered = [0, 0]

    def write(writer: int) -> None:
        for step in range(10):
            number = writer * 50 + step * 2
            own = entry(number, "tea", partition=f"place-{writer}", vectors=packed(vectors[number]))
            backend.put(own, entry(number + 1, "tea", vectors=packed(vectors[number + 1])))
            answered[writer] = step + 1

    def search(reader: int) -> None:
        while sum(answered) < 20:
            before = list(answered)
            answer = backend.ask(f"place-{reader}", PLACE, words=["tea"], vector=vectors[0].tolist())
            found = [candidate.partition for candidate in answer.lexical]
            assert found.count(f"place-{reader}") >= before[reader]
            assert found.count(PLACE) >= sum(before)
            assert len(answer.vector) >= sum(before) + before[reader]
            assert len(set(ids(answer.vector))) == len(answer.vector)

    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(write, 0), pool.submit(write, 1), pool.submit(search, 0), pool.submit(search, 1)]
        for task in tasks:
            task.result()
    assert len(backend.ask(words=["tea"]).lexical) == 20
