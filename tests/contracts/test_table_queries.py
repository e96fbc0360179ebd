"""What the `Table` port promises of queries, on both sides."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_fixtures import key, put

from agent_memory.domain.ports import Key, Put, Table

_numbers = count()  # a partition of its own for each example that hypothesis tries


def sorts(table: Table, **arguments: object) -> list[str]:
    return [row.key.sort for row in table.query("memory", "p", **arguments)]  # type: ignore[arg-type]


@pytest.fixture
def filled(table: Table) -> Table:
    table.write_many([put(sort) for sort in ("R#1", "R#2", "R#3", "T#1", "U#1", "U#2", "U~")])
    table.write_many([Put(Key("memory", "p2", "R#9"), {}), Put(Key("execution", "p", "R#8"), {})])
    return table


def test_a_query_gives_one_partition_of_one_table_in_order(filled: Table) -> None:
    assert sorts(filled) == ["R#1", "R#2", "R#3", "T#1", "U#1", "U#2", "U~"]
    assert filled.query("execution", "p") == [(Key("execution", "p", "R#8"), {})]
    assert filled.query("memory", "none") == []


def test_a_prefix_bounds_the_query(filled: Table) -> None:
    assert sorts(filled, prefix="R#") == ["R#1", "R#2", "R#3"]
    assert sorts(filled, prefix="R#2") == ["R#2"]
    assert sorts(filled, prefix="S") == []


def test_newest_first_goes_backwards(filled: Table) -> None:
    assert sorts(filled, prefix="U", newest_first=True, limit=2) == ["U~", "U#2"]
    assert sorts(filled, prefix="R#", newest_first=True) == ["R#3", "R#2", "R#1"]


def test_a_limit_takes_the_first(filled: Table) -> None:
    assert sorts(filled, limit=2) == ["R#1", "R#2"]
    assert sorts(filled, limit=0) == []
    assert sorts(filled, limit=100) == sorts(filled)


@pytest.mark.parametrize(
    ("after", "forward", "backward"),
    [
        ("R#2", ["R#3"], ["R#1"]),
        ("R#1", ["R#2", "R#3"], []),
        ("R#3", [], ["R#2", "R#1"]),
        ("R#2x", ["R#3"], ["R#2", "R#1"]),  # need not exist
        ("R#", ["R#1", "R#2", "R#3"], []),
        ("", ["R#1", "R#2", "R#3"], []),  # before the prefix
        ("A", ["R#1", "R#2", "R#3"], []),
        ("Z", [], ["R#3", "R#2", "R#1"]),  # behind it
    ],
)
def test_a_query_begins_behind_after(filled: Table, after: str, forward: list[str], backward: list[str]) -> None:
    assert sorts(filled, prefix="R#", after=after) == forward
    assert sorts(filled, prefix="R#", after=after, newest_first=True) == backward


def test_the_order_is_that_of_the_utf8_bytes(table: Table) -> None:
    # UTF-16 would put U+10000 before U+FFFD, a locale `a` before `B`.
    ordered = ["\0", "A", "B", "a", "a\0", "aa", "z", "~", "\x7f", "é", "\ufffd", "\U00010000", "\U0010ffff"]
    table.write_many([put(sort) for sort in reversed(ordered)])

    assert sorts(table) == ordered
    assert sorts(table, newest_first=True) == ordered[::-1]
    assert sorts(table, prefix="a") == ["a", "a\0", "aa"]
    assert sorts(table, prefix="\U0010ffff") == ["\U0010ffff"]


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_query_of_more_than_a_megabyte_is_whole(table: Table, newest_first: bool) -> None:
    table.write_many([put(f"{n:02}", {"n": n, "data": bytes(100_000)}) for n in range(25)])
    expected = list(range(24, -1, -1) if newest_first else range(25))

    rows = table.query("memory", "p", newest_first=newest_first)
    some = table.query("memory", "p", newest_first=newest_first, limit=15, after=f"{expected[3]:02}")

    assert [row.item["n"] for row in rows] == expected
    assert [row.item["n"] for row in some] == expected[4:19]


sort_keys = st.text(alphabet="ab#~é\0\U00010000", min_size=1, max_size=4)
starts = st.none() | st.text(alphabet="ab#~é\0\U00010000", max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    present=st.sets(sort_keys, max_size=8),
    prefix=st.text(alphabet="ab#é", max_size=2),
    after=starts,
    newest_first=st.booleans(),
    limit=st.none() | st.integers(0, 4),
)
def test_a_query_is_what_sorting_and_cutting_would_give(
    table: Table, present: set[str], prefix: str, after: str | None, newest_first: bool, limit: int | None
) -> None:
    partition = f"example {next(_numbers)}"
    table.write_many([Put(key(sort, partition), {}) for sort in present])

    got = table.query("memory", partition, prefix=prefix, newest_first=newest_first, after=after, limit=limit)

    expected = sorted((sort for sort in present if sort.startswith(prefix)), key=str.encode, reverse=newest_first)
    if after is not None:
        bound = after.encode()
        expected = [sort for sort in expected if (sort.encode() < bound if newest_first else sort.encode() > bound)]
    assert [row.key.sort for row in got] == expected[:limit]
