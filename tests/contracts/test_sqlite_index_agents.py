"""All of an agent on the one-machine side: what one search reads, and that what is kept changes no answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from index_fixtures import (
    AGENT,
    DIMENSIONS,
    OTHER,
    PLACE,
    Shelf,
    entry,
    ids,
    numbered,
    packed,
    random_units,
    tombstone,
    ulid,
)

from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.domain.ports import IndexAnswer, IndexEntry, IndexQuery

VECTORS = random_units(40, 1)
TWO = [entry(n, "tea", vectors=packed(VECTORS[n])) for n in range(2)]


class CountedShelf(Shelf):
    """`asked`: the partitions whose vectors were read, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __call__(self, partition: str) -> Iterable[tuple[str, Sequence[bytes]]]:
        self.asked.append(partition)
        return super().__call__(partition)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def shelf() -> CountedShelf:
    return CountedShelf()


@pytest.fixture
def index(path: Path, shelf: CountedShelf) -> Iterator[SqliteIndex]:
    opened = SqliteIndex(path, shelf, dimensions=DIMENSIONS)
    yield opened
    opened.close()


def put(index: SqliteIndex, shelf: Shelf, *entries: IndexEntry) -> None:
    shelf.put(entries)
    assert index.apply(entries) == {}


def ask_agent(index: SqliteIndex, agent_id: str = AGENT) -> IndexAnswer:
    return index.search(IndexQuery(words=["tea", "milk"], vector=VECTORS[0].tolist(), kind="fact", agent_id=agent_id))


def statements(index: SqliteIndex) -> list[str]:
    """What one search of an agent asks of the file."""
    seen: list[str] = []
    with index._file.reading() as connection:
        connection.set_trace_callback(seen.append)
    ask_agent(index)
    with index._file.reading() as connection:
        connection.set_trace_callback(None)
    return seen


@pytest.mark.parametrize("partitions", [1, 2, 30])
def test_two_statements_search_an_agent_however_many_partitions_it_has(
    index: SqliteIndex, shelf: Shelf, partitions: int
) -> None:
    put(index, shelf, *(entry(n, "tea", partition=f"p{n}", vectors=packed(VECTORS[n])) for n in range(partitions)))
    assert len(statements(index)) == 2
    assert len(ask_agent(index).vector) == partitions


def test_no_page_of_another_agent_is_read_for_an_agents_words(index: SqliteIndex, shelf: Shelf) -> None:
    put(index, shelf, *TWO)
    for statement in statements(index):
        with index._file.reading() as connection:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not [step for step in plan if step.startswith("SCAN") or "B-TREE" in step], plan


def test_an_agents_vectors_are_read_once_and_after_a_change_those_of_its_partition(
    index: SqliteIndex, shelf: CountedShelf
) -> None:
    put(index, shelf, *TWO, entry(2, "tea", partition=OTHER, vectors=packed(VECTORS[2])))
    assert ask_agent(index) == ask_agent(index)
    assert shelf.asked == [PLACE, OTHER]
    put(index, shelf, entry(3, "tea", partition=OTHER, vectors=packed(VECTORS[3])))
    assert sorted(ids(ask_agent(index).vector)) == numbered(0, 1, 2, 3)
    assert shelf.asked == [PLACE, OTHER, OTHER]


def test_searching_one_agent_lets_go_of_another(index: SqliteIndex, shelf: CountedShelf) -> None:
    put(index, shelf, *TWO, entry(2, "tea", partition="b", agent_id="b", vectors=packed(VECTORS[2])))
    for _ in range(2):
        assert (len(ask_agent(index).vector), len(ask_agent(index, "b").vector)) == (2, 1)
    assert shelf.asked == [PLACE, "b", PLACE, "b"]


@pytest.mark.parametrize("cache_bytes", [0, 4 * DIMENSIONS, 10**6])
def test_an_agents_answer_does_not_depend_on_what_is_kept(path: Path, shelf: Shelf, cache_bytes: int) -> None:
    index = SqliteIndex(path, shelf, dimensions=DIMENSIONS, cache_bytes=cache_bytes)
    put(index, shelf, *(entry(n, "tea", partition=f"p{n % 3}", vectors=packed(VECTORS[n])) for n in range(9)))
    assert len(ask_agent(index).vector) == 9
    anew = entry(2, "tea", partition="p2", stamp=2, vectors=packed(VECTORS[20]))
    put(index, shelf, anew, tombstone(4, partition="p1"))
    for _ in range(2):
        answer = ask_agent(index)
        assert sorted(ids(answer.vector)) == numbered(0, 1, 2, 3, 5, 6, 7, 8)
        changed = next(found for found in answer.vector if found.id == ulid(2))
        assert changed.cosine == pytest.approx(float(VECTORS[20] @ VECTORS[0]), abs=1e-6)
    index.close()


def test_an_agent_none_of_whose_records_has_a_vector_is_searched_by_words(index: SqliteIndex, shelf: Shelf) -> None:
    put(index, shelf, entry(1, "tea"), entry(2, "tea", partition=OTHER))
    answer = ask_agent(index)
    assert (sorted(ids(answer.lexical)), answer.vector, answer.statistics.vector) == (numbered(1, 2), [], None)
