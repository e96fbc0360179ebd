"""Whether a small scope among many others is searched whole: 100 of them, and a big one, in 20,000 records.

Random directions are the hardest case for an approximate index: nothing lies in clusters that a graph could follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from index_fixtures import Backend, entry, ids, opened, packed, random_units

from agent_memory.domain.ports import IndexEntry, IndexQuery

DIMENSIONS = 32
SCOPES, SMALL, BIG = 100, 100, 10_000
BIG_PLACE = "big"
QUERIES = random_units(10, 77, DIMENSIONS)

pytestmark = [pytest.mark.rule("RK-1", "RK-5")]


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    small = {f"scope-{number}": random_units(SMALL, number, DIMENSIONS) for number in range(SCOPES)}
    return {**small, BIG_PLACE: random_units(BIG, 1234, DIMENSIONS)}


@pytest.fixture(scope="module", params=["sqlite", "opensearch"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vectors: dict[str, np.ndarray]
) -> Iterator[Backend]:
    for backend in opened(request, tmp_path_factory.mktemp("index"), DIMENSIONS, refresh="1s"):
        assert backend.put(*in_mixed_order(vectors)) == {}
        yield backend


def in_mixed_order(vectors: dict[str, np.ndarray]) -> list[IndexEntry]:
    """As they would come in: records of all scopes one after the other."""
    places = [(place, row) for place, rows in vectors.items() for row in range(len(rows))]
    order = np.random.default_rng(5).permutation(len(places))
    shuffled = [places[at] for at in order]
    return [
        entry(number, f"tea row{row}", partition=place, vectors=packed(vectors[place][row]))
        for number, (place, row) in enumerate(shuffled)
    ]


def recall_at_ten(backend: Backend, place: str, rows: np.ndarray, queries: Sequence[np.ndarray]) -> float:
    """The share of the exact ten nearest that the vector leg has among its own first ten."""
    found = 0
    for asked in queries:
        nearest = {f"row{row}" for row in np.argsort(-(rows @ asked))[:10]}
        leg = backend.index.search(IndexQuery([place], sorted(nearest), asked.tolist())).vector[:10]
        found += sum(1 for candidate in leg if any(candidate.counts))
    return found / (10 * len(queries))


def test_every_small_scope_is_searched_whole(filled: Backend, vectors: dict[str, np.ndarray]) -> None:
    for place in vectors:
        if place != BIG_PLACE:
            answer = filled.index.search(IndexQuery([place], ["tea"], QUERIES[0].tolist()))
            assert len(set(ids(answer.lexical))) == len(set(ids(answer.vector))) == SMALL
            assert {candidate.partition for candidate in answer.lexical + answer.vector} == {place}
            assert (answer.statistics.documents, answer.statistics.containing) == (SMALL, (SMALL,))


def test_the_nearest_ten_of_every_small_scope_are_found(filled: Backend, vectors: dict[str, np.ndarray]) -> None:
    small = {place: rows for place, rows in vectors.items() if place != BIG_PLACE}
    recalls = {place: recall_at_ten(filled, place, rows, QUERIES[:1]) for place, rows in small.items()}
    assert min(recalls.values()) >= 0.99


def test_the_nearest_ten_of_a_big_scope_are_found(filled: Backend, vectors: dict[str, np.ndarray]) -> None:
    assert recall_at_ten(filled, BIG_PLACE, vectors[BIG_PLACE], QUERIES) >= 0.99


def test_a_rare_word_is_found_in_a_big_scope(filled: Backend) -> None:
    answer = filled.index.search(IndexQuery([BIG_PLACE], [f"row{BIG - 1}"]))
    assert len(answer.lexical) == 1
    assert (answer.statistics.documents, answer.statistics.containing) == (BIG, (1,))
