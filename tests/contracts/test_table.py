"""What the `Table` port promises of values, conditions and writes, on both sides."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_fixtures import key, put

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.ports import Absent, AllOf, Check, Condition, Delete, Equals, Item, Key, Put, Table, Write

_numbers = count()  # a partition of its own for each example that hypothesis tries

VALUES = {
    "text": "Grüße, 世界 👋",
    "empty text": "",
    "NUL in text": "a\0b",
    "integer": 1_787_000_000_000,
    "negative": -7,
    "zero": 0,
    "fraction": 0.1 + 0.2,
    "small fraction": -1.5e-7,
    "largest exact integer": 10**38 - 1,
    "float beyond 2**53": 1e25,
    "true": True,
    "false": False,
    "null": None,
    "bytes": bytes(range(256)),
    "empty bytes": b"",
    "list": ["a", 1, None, [True, b"x"]],
    "empty list": [],
    "map": {"a": {"b": [{"c": b"\0"}, 2.5]}, "é": "f", "S": "g"},
    "empty map": {},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_comes_back_equal_and_of_its_type(table: Table, value: object) -> None:
    table.transact([put(item={"value": value})])

    assert table.get(key()) == {"value": value}
    got = (table.get(key()) or {})["value"]
    assert type(got) is type(value) or (isinstance(value, float) and value.is_integer())


def test_a_whole_float_comes_back_as_an_integer(table: Table) -> None:
    table.transact([put(item={"confidence": 1.0})])

    assert type((table.get(key()) or {})["confidence"]) is int


def test_an_item_without_attributes_is_an_item(table: Table) -> None:
    table.transact([put()])

    assert table.get(key()) == {}


def test_what_is_absent_is_none(table: Table) -> None:
    assert table.get(key()) is None


def test_no_read_shows_the_adapters_own_attributes(table: Table) -> None:
    table.transact([put(item={"a": 1})])

    assert table.get(key()) == {"a": 1}
    assert table.get_many([key()]) == {key(): {"a": 1}}
    assert table.query("memory", "p") == [(key(), {"a": 1})]
    assert table.increment(key(), {"a": 1}) == {"a": 2}


def test_a_put_replaces_the_whole_item(table: Table) -> None:
    table.transact([put(item={"a": 1, "b": 2})])
    table.transact([put(item={"c": 3})])

    assert table.get(key()) == {"c": 3}


def test_the_two_tables_do_not_share_keys(table: Table) -> None:
    here, there = key(table="memory"), key(table="execution")
    table.transact([Put(here, {"is": "memory"}), Put(there, {"is": "execution"})])
    table.transact([put("other"), Delete(there)])

    assert table.get(here) == {"is": "memory"}
    assert table.get(there) is None


@pytest.mark.parametrize("name", ["a\0b", "a#b", "a%23b", "A", "é", "ab", " a"])
def test_keys_are_told_apart_by_every_character(table: Table, name: str) -> None:
    table.transact([put("a"), Put(key("s", "a"), {})])
    table.transact([put(name, {"x": 1}), Put(key("s", name), {"x": 2})])

    assert table.get(key("a")) == {}
    assert table.get(key("s", "a")) == {}
    assert table.get(key(name)) == {"x": 1}
    assert table.get(key("s", name)) == {"x": 2}


HOLDING: list[tuple[Item | None, Condition]] = [
    (None, Absent()),
    ({"n": 1}, Equals("n", 1)),
    ({"n": 1.0}, Equals("n", 1)),
    ({"t": "x"}, Equals("t", "x")),
    ({"t": ""}, Equals("t", "")),
    ({"b": True}, Equals("b", True)),
    ({"x": None}, Equals("x", None)),
    ({}, Equals("x", None)),
    ({}, AllOf(())),
    ({"a": 1, "b": "y"}, AllOf((Equals("a", 1), Equals("b", "y"), Equals("c", None)))),
    ({"size": 1, "status": "open"}, AllOf((Equals("size", 1), Equals("status", "open")))),
]
FAILING: list[tuple[Item | None, Condition]] = [
    ({}, Absent()),
    (None, Equals("n", 1)),
    (None, Equals("n", None)),
    (None, AllOf(())),
    ({"n": 2}, Equals("n", 1)),
    ({"n": "1"}, Equals("n", 1)),
    ({}, Equals("n", 1)),
    ({"n": 0}, Equals("n", None)),
    ({"a": 1, "b": "y"}, AllOf((Equals("a", 1), Equals("b", "z")))),
]


@pytest.mark.parametrize(("item", "condition"), HOLDING)
def test_a_condition_holds(table: Table, item: Item | None, condition: Condition) -> None:
    if item is not None:
        table.transact([put(item=item)])

    table.transact([put("other"), Check(key(), condition)])
    table.transact([put("other"), Delete(key(), condition)])

    assert table.get(key("other")) == {}
    assert table.get(key()) is None


@pytest.mark.parametrize(("item", "condition"), FAILING)
def test_a_condition_fails_and_says_what_stands_there(table: Table, item: Item | None, condition: Condition) -> None:
    if item is not None:
        table.transact([put(item=item)])

    with pytest.raises(ConditionFailed) as failure:
        table.transact([put("other"), Check(key(), condition)])

    assert failure.value.positions == [1]
    assert failure.value.current == {1: item}
    assert table.get(key("other")) is None


def test_all_failed_positions_are_named_and_nothing_is_written(table: Table) -> None:
    table.transact([put("a", {"v": 1}), put("b", {"v": 2}), put("c", {"v": 3})])

    with pytest.raises(ConditionFailed) as failure:
        table.transact(
            [
                put("new", {"v": 0}, condition=Absent()),
                put("a", {"v": 9}, condition=Absent()),
                Delete(key("b"), Equals("v", 2)),
                Check(key("c"), Equals("v", 4)),
                Delete(key("none"), Equals("v", 1)),
            ]
        )

    assert failure.value.positions == [1, 3, 4]
    assert failure.value.current == {1: {"v": 1}, 3: {"v": 3}, 4: None}
    assert table.query("memory", "p") == [(key(name), {"v": v}) for name, v in (("a", 1), ("b", 2), ("c", 3))]


changes = st.dictionaries(st.integers(0, 9), st.none() | st.integers(0, 3000), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transactions=st.lists(changes, max_size=6))
def test_transactions_leave_what_a_dictionary_would(table: Table, transactions: list[dict[int, int | None]]) -> None:
    partition, model = f"example {next(_numbers)}", dict[Key, Item]()
    for n, transaction in enumerate(transactions):
        writes: list[Write] = [put("witness")]
        for place, size in transaction.items():
            if size is None:
                model.pop(key(f"{place}", partition), None)
                writes.append(Delete(key(f"{place}", partition)))
            else:
                model[key(f"{place}", partition)] = {"n": n, "data": bytes(size)}
                writes.append(Put(key(f"{place}", partition), {"n": n, "data": bytes(size)}))
        table.transact(writes)

    assert dict(table.query("memory", partition)) == model


def test_deleting_what_is_not_there_is_no_error(table: Table) -> None:
    table.transact([put("a"), Delete(key("none"))])
    table.write_many([Delete(key("none either"))])

    assert table.get(key("a")) == {}


def test_a_partition_that_was_emptied_can_be_filled_again(table: Table) -> None:
    table.transact([put("a")])
    table.transact([Delete(key("a")), Put(key(partition="q"), {})])
    table.transact([put("b", {"v": 2})])

    assert table.query("memory", "p") == [(key("b"), {"v": 2})]


def test_increment_creates_counts_and_gives_the_item_as_it_then_stands(table: Table) -> None:
    assert table.increment(key(), {"seq": 3}) == {"seq": 3}
    assert table.increment(key(), {"seq": 2, "turns": 1}) == {"seq": 5, "turns": 1}
    assert table.increment(key(), {"seq": -1, "read": 0}) == {"seq": 4, "turns": 1, "read": 0}
    assert table.get(key()) == {"seq": 4, "turns": 1, "read": 0}


def test_increment_keeps_the_other_attributes(table: Table) -> None:
    table.transact([put(item={"status": "open", "vector": b"\1\2"})])

    counted = table.increment(key(), {"seq": 1}, condition=Equals("status", "open"))

    assert counted == {"status": "open", "vector": b"\1\2", "seq": 1}


@pytest.mark.parametrize("item", [None, {"status": "ending", "seq": 4}])
def test_increment_under_a_condition_that_fails_changes_nothing(table: Table, item: Item | None) -> None:
    if item is not None:
        table.transact([put(item=item)])

    with pytest.raises(ConditionFailed) as failure:
        table.increment(key(), {"seq": 1}, condition=Equals("status", "open"))

    assert failure.value.current == {0: item}
    assert table.get(key()) == item


def test_increment_on_what_is_no_number_is_a_programming_error(table: Table) -> None:
    table.transact([put(item={"seq": "text"})])

    with pytest.raises(ValueError):
        table.increment(key(), {"seq": 1})


def test_get_many_reads_250_keys_of_both_tables(table: Table) -> None:
    keys = [Key("memory" if n % 2 else "execution", f"p{n % 7}", f"s{n}") for n in range(250)]
    table.write_many([Put(each, {"n": n}) for n, each in enumerate(keys)])

    absent = [key(f"absent {n}") for n in range(5)]
    found = table.get_many(iter([*keys, *absent, *keys[:3]]))

    assert found == {each: {"n": n} for n, each in enumerate(keys)}


def test_get_many_of_nothing_is_empty(table: Table) -> None:
    assert table.get_many([]) == {}


def test_write_many_writes_and_deletes_60(table: Table) -> None:
    table.write_many([put(f"old {n}") for n in range(20)])

    table.write_many([Delete(key(f"old {n}")) for n in range(20)] + [put(f"new {n:02}", {"n": n}) for n in range(40)])

    assert table.query("memory", "p") == [(key(f"new {n:02}"), {"n": n}) for n in range(40)]


def test_write_many_of_one_key_twice_leaves_the_last(table: Table) -> None:
    table.write_many([put(item={"v": 1}), Delete(key("b")), put(item={"v": 2}), put("b", {"v": 3}), Delete(key("b"))])

    assert table.query("memory", "p") == [(key(), {"v": 2})]
