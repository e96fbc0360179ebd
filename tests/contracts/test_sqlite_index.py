"""What is true of the one-machine side alone: its file, its memory, and that the two never disagree."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
from index_reference import Expected, expected

from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import IndexAnswer, IndexEntry, IndexQuery

VECTORS = random_units(40, 1)
ASKED = VECTORS[0].tolist()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def index(path: Path, shelf: Shelf) -> Iterator[SqliteIndex]:
    opened = SqliteIndex(path, shelf, dimensions=DIMENSIONS)
    yield opened
    opened.close()


def put(index: SqliteIndex, shelf: Shelf, *entries: IndexEntry) -> None:
    shelf.put(entries)
    assert index.apply(entries) == {}


def ask(index: SqliteIndex, *partitions: str, words: Sequence[str] = ("tea",)) -> IndexAnswer:
    return index.search(IndexQuery(partitions or (PLACE,), words, ASKED))


def some(count: int, **changes: str) -> list[IndexEntry]:
    return [entry(n, "tea", vectors=packed(VECTORS[n]), **changes) for n in range(count)]


def test_it_answers_the_same_after_it_was_opened_again(index: SqliteIndex, path: Path, shelf: Shelf) -> None:
    put(index, shelf, *some(20), tombstone(3), tombstone(99))
    before = ask(index)
    index.close()
    again = SqliteIndex(path, shelf, dimensions=DIMENSIONS)
    assert ask(again) == before
    put(again, shelf, entry(30, "tea", vectors=packed(VECTORS[30])), entry(3, "tea", stamp=1))
    assert len(ask(again).lexical) == 20
    again.close()


def test_a_partition_that_was_let_go_answers_the_same(path: Path, shelf: Shelf) -> None:
    """With room for one partition, every other search reads its partition anew."""
    index = SqliteIndex(path, shelf, dimensions=DIMENSIONS, cache_bytes=1)
    put(index, shelf, *some(20), *some(10, partition=OTHER))
    before = ask(index), ask(index, OTHER), ask(index, PLACE, OTHER)
    put(index, shelf, entry(50, "milk"), entry(51, "milk", partition=OTHER))
    after = ask(index), ask(index, OTHER), ask(index, PLACE, OTHER)
    assert [(ids(a.lexical), ids(a.vector)) for a in after] == [(ids(b.lexical), ids(b.vector)) for b in before]
    index.close()


def test_vectors_of_records_the_index_does_not_know_are_ignored(index: SqliteIndex, shelf: Shelf) -> None:
    shelf.put(some(20))
    index.apply([entry(5, "tea"), entry(7, "tea")])
    assert sorted(ids(ask(index).vector)) == numbered(5, 7)


def test_vectors_of_another_model_are_ignored(index: SqliteIndex, shelf: Shelf) -> None:
    put(index, shelf, entry(1, "tea", vectors=packed(VECTORS[0])), entry(2, "tea"))
    shelf.vectors[PLACE][ulid(2)] = [bytes(4 * DIMENSIONS * 2)]
    assert ids(ask(index).vector) == numbered(1)


def test_an_id_that_is_no_ulid_is_refused(index: SqliteIndex) -> None:
    bad = [IndexEntry(id, PLACE, "a", 1, True, words=["tea"]) for id in ("", "x" * 27, "é")]
    assert set(index.apply([*bad, entry(1, "tea")])) == {"", "x" * 27, "é"}
    assert ids(ask(index).lexical) == numbered(1)


def test_equal_scores_put_the_newer_first(index: SqliteIndex, shelf: Shelf) -> None:
    put(index, shelf, *(entry(number, "tea", vectors=packed(VECTORS[0])) for number in range(150)))
    newest = numbered(*range(149, 49, -1))
    assert ids(ask(index).lexical) == newest
    assert ids(ask(index).vector) == newest


def test_a_write_during_the_first_reading_of_a_partition_is_seen(path: Path) -> None:
    """The source answers only once a commit to the same partition is on the disk and on its way into memory."""
    shelf, asked, may_answer = Shelf(), Event(), Event()

    def slow_source(partition: str) -> Iterable[tuple[str, Sequence[bytes]]]:
        asked.set()
        may_answer.wait(10)
        return list(shelf.vectors[partition].items())[:1]

    index = SqliteIndex(path, slow_source, dimensions=DIMENSIONS)
    put(index, shelf, entry(1, "tea", vectors=packed(VECTORS[1])))
    with ThreadPoolExecutor(2) as pool:
        searching = pool.submit(ask, index)
        assert asked.wait(10)
        writing = pool.submit(put, index, shelf, entry(2, "tea", vectors=packed(VECTORS[2])))
        may_answer.set()
        searching.result()
        writing.result()
    answer = ask(index)
    assert sorted(ids(answer.lexical)) == sorted(ids(answer.vector)) == numbered(1, 2)
    index.close()


def test_a_partition_of_many_records_grows_block_by_block(index: SqliteIndex, shelf: Shelf) -> None:
    vectors = random_units(2600, 3)
    entries = [entry(n, f"tea w{n % 300}", vectors=packed(vectors[n], vectors[1300 + n])) for n in range(1300)]
    put(index, shelf, *entries[:2])
    ask(index)
    for start in range(2, 1300, 59):
        put(index, shelf, *entries[start : start + 59])
    query = IndexQuery([PLACE], ["w7"], ASKED)
    answer, truth = index.search(query), expected(entries, query)
    assert ids(answer.vector) == truth.nearest(100)
    assert (set(ids(answer.lexical)), answer.statistics.documents) == (truth.matching, 1300)


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize(
    "content", [b"this is no database at all, not even nearly" * 100, None], ids=["garbage", "folder"]
)
def test_a_file_that_cannot_be_read_is_an_index_that_does_not_answer(
    path: Path, shelf: Shelf, content: bytes | None
) -> None:
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(IndexUnavailable):
        SqliteIndex(path, shelf, dimensions=DIMENSIONS)


def test_a_table_that_is_gone_is_an_index_that_does_not_answer(index: SqliteIndex, shelf: Shelf) -> None:
    put(index, shelf, *some(2))
    with index._file.reading() as connection:
        connection.execute("DROP TABLE postings")
    with pytest.raises(IndexUnavailable):
        ask(index)
    with pytest.raises(IndexUnavailable):
        index.apply([entry(9, "tea")])


def test_a_file_from_before_partitions_had_agents_is_one_that_does_not_answer(path: Path, shelf: Shelf) -> None:
    """So it is built anew from the table, instead of lacking in every search of an agent."""
    with closing(sqlite3.connect(path)) as older:
        older.execute("CREATE TABLE partitions (no INTEGER PRIMARY KEY, name TEXT UNIQUE, numbers INTEGER)")
    with pytest.raises(IndexUnavailable):
        SqliteIndex(path, shelf, dimensions=DIMENSIONS)


def test_a_file_from_before_records_had_ordinals_is_one_that_does_not_answer(
    index: SqliteIndex, path: Path, shelf: Shelf
) -> None:
    index.close()
    with closing(sqlite3.connect(path)) as older:
        older.execute("ALTER TABLE documents DROP COLUMN ordinal")
    with pytest.raises(IndexUnavailable):
        SqliteIndex(path, shelf, dimensions=DIMENSIONS)


# ---------------------------------------------------------------- any history of entries

entries = st.builds(
    entry,
    st.integers(0, 7),
    st.lists(st.sampled_from(["tea", "milk", "a b", '"']), max_size=5),
    partition=st.sampled_from([PLACE, OTHER]),
    stamp=st.integers(1, 6),
    live=st.booleans(),
    kind=st.sampled_from(["fact", "event"]),
    labels=st.sampled_from([None, {"a": "1"}, {"a": "1", "b": "x y"}]),
)
steps = st.lists(st.lists(entries, max_size=4) | st.sampled_from(["search", "reopen"]), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=steps, cache_bytes=st.sampled_from([1, 10**6]))
def test_it_holds_of_each_record_the_entry_with_the_greatest_stamp(
    steps: list[list[IndexEntry] | str], cache_bytes: int
) -> None:
    """Whatever came in, in whatever order, searched and reopened in between. A record stays in one partition, and has
    the same vectors whenever it is live."""
    shelf, standing = Shelf(), dict[str, IndexEntry]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        index = SqliteIndex(path, shelf, dimensions=DIMENSIONS, cache_bytes=cache_bytes)
        for step in steps:
            if step == "reopen":
                index.close()
                index = SqliteIndex(path, shelf, dimensions=DIMENSIONS, cache_bytes=cache_bytes)
            elif isinstance(step, list):
                batch = [settled(given, standing) for given in step]
                for given in batch:
                    if given.stamp > standing.get(given.id, tombstone(stamp=0)).stamp:
                        standing[given.id] = given
                put(index, shelf, *batch)
            check(index, list(standing.values()))
        index.close()


def settled(given: IndexEntry, standing: dict[str, IndexEntry]) -> IndexEntry:
    number = int(given.id[-1])
    place = OTHER if number % 2 else PLACE
    vectors = packed(VECTORS[number]) if number < 6 else ()
    return IndexEntry(
        given.id, place, given.agent_id, given.stamp, given.live, given.kind, given.labels, given.words, vectors
    )


def check(index: SqliteIndex, standing: Sequence[IndexEntry]) -> None:
    for filters in ({}, {"kind": "fact"}, {"labels": {"a": "1"}}):
        for whose in ({"partitions": [PLACE, OTHER]}, {"agent_id": AGENT}):
            query = IndexQuery(**whose, words=["tea", '"', "none"], vector=ASKED, **filters)
            agrees(index.search(query), expected(standing, query))


def agrees(answer: IndexAnswer, truth: Expected) -> None:
    assert answer.statistics.documents == truth.documents
    assert answer.statistics.tokens == truth.tokens
    assert answer.statistics.containing == truth.containing
    assert set(ids(answer.lexical)) == truth.matching
    assert ids(answer.vector) == truth.nearest(100)
    assert all(found.counts == truth.counts[found.id] for found in answer.lexical + answer.vector)
