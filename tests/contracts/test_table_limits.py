"""DynamoDB's quotas, which both sides of the `Table` port refuse to break before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest
from table_fixtures import key, put

from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.errors import TooLarge
from agent_memory.domain.ports import Absent, Check, Delete, Equals, Key, Put, Table

FIXED = len("p" + "s") + len("pk" + "sk" + "writer") + 32 + len("data")  # of an item with one attribute `data`


def test_a_transaction_takes_100_actions_and_not_101(table: Table) -> None:
    table.transact([put(f"{n:03}", {"n": n}) for n in range(100)])
    assert len(table.query("memory", "p")) == 100

    with pytest.raises(ValueError):
        table.transact([put(f"other {n}") for n in range(101)])
    assert len(table.query("memory", "p")) == 100


@pytest.mark.parametrize("second", [put("a", {"v": 2}), Delete(key("a")), Check(key("a"), Absent())])
def test_two_actions_on_one_key_are_refused(table: Table, second: Any) -> None:
    with pytest.raises(ValueError):
        table.transact([put("a"), second])
    assert table.get(key("a")) is None


@pytest.mark.parametrize("writes", [[], [Delete(key())], [Check(key(), Absent()), Delete(key("b"))]])
def test_a_transaction_that_puts_nothing_is_refused(table: Table, writes: list[Any]) -> None:
    with pytest.raises(ValueError):
        table.transact(writes)


def test_an_item_takes_400_kilobytes_and_not_a_byte_more(table: Table) -> None:
    most = 400 * 1024 - FIXED
    if isinstance(table, SqliteTable):  # moto's own limit is lower, 405,000
        table.transact([put(item={"data": "a" * most})])
        assert len((table.get(key()) or {})["data"]) == most

    for larger in ("a" * (most + 1), "é" * (most // 2 + 1), b"a" * (most + 1)):
        with pytest.raises(TooLarge):
            table.transact([put("b", {"data": larger})])
        with pytest.raises(TooLarge):
            table.write_many([put("b", {"data": larger})])
    assert table.get(key("b")) is None


def test_a_transaction_takes_4_megabytes_and_not_more(table: Table) -> None:
    table.transact([put(f"{n}", {"data": bytes(400_000)}) for n in range(10)])
    assert len(table.query("memory", "p")) == 10

    with pytest.raises(TooLarge):
        table.transact([put(f"other {n}", {"data": bytes(400_000)}) for n in range(11)])
    assert len(table.query("memory", "p")) == 10


@pytest.mark.parametrize(("partition", "sort"), [(2049, 1), (1, 1025)])
def test_a_longer_key_is_refused_by_every_verb(table: Table, partition: int, sort: int) -> None:
    long = Key("memory", "p" * partition, "s" * sort)
    for call in (
        lambda: table.get(long),
        lambda: table.get_many([long]),
        lambda: table.query("memory", long.partition, after=long.sort),
        lambda: table.transact([Put(long, {})]),
        lambda: table.transact([put(), Delete(long)]),
        lambda: table.transact([put(), Check(long, Absent())]),
        lambda: table.increment(long, {"n": 1}),
        lambda: table.write_many([Delete(long)]),
    ):
        with pytest.raises(TooLarge):
            call()


def test_the_longest_key_is_taken_and_its_length_is_that_of_utf8(table: Table) -> None:
    longest = Key("memory", "é" * 1024, "s" * 1024)
    table.transact([Put(longest, {"a": 1})])
    assert table.get(longest) == {"a": 1}

    with pytest.raises(TooLarge):
        table.get(Key("memory", "é" * 1024 + "x", "s"))


@pytest.mark.parametrize("empty", [Key("memory", "", "s"), Key("memory", "p", "")])
def test_an_empty_key_is_refused(table: Table, empty: Key) -> None:
    with pytest.raises(ValueError):
        table.get(empty)
    with pytest.raises(ValueError):
        table.transact([Put(empty, {})])


@pytest.mark.parametrize("name", ["writer", "pk", "sk", ""])
def test_an_attribute_that_the_adapter_needs_is_refused(table: Table, name: str) -> None:
    with pytest.raises(ValueError):
        table.transact([put(item={name: "x"})])
    with pytest.raises(ValueError):
        table.increment(key(), {name: 1})


def test_an_empty_name_is_refused_at_whatever_depth(table: Table) -> None:
    with pytest.raises(ValueError):
        table.transact([put(item={"value": [{"a": {"": 1}}]})])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**38, 1e300, 1e-200, "\ud800"])
def test_a_value_that_dynamodb_cannot_hold_is_refused(table: Table, value: object) -> None:
    with pytest.raises(ValueError):
        table.transact([put(item={"value": [value]})])


@pytest.mark.parametrize("value", [(1, 2), {1}, object(), bytearray(b"x")])
def test_a_value_of_another_type_is_refused(table: Table, value: object) -> None:
    with pytest.raises(TypeError):
        table.transact([put(item={"value": value})])


def test_32_levels_of_nesting_are_taken_and_not_33(table: Table) -> None:
    value: list[Any] = []
    for _ in range(31):
        value = [value]
    table.transact([put(item={"value": value})])
    assert table.get(key()) == {"value": value}

    with pytest.raises(ValueError):
        table.transact([put(item={"value": [value]})])


def test_write_many_takes_no_condition(table: Table) -> None:
    with pytest.raises(ValueError):
        table.write_many([put(condition=Absent())])


def test_an_increment_names_a_counter(table: Table) -> None:
    with pytest.raises(ValueError):
        table.increment(key(), {}, condition=Equals("a", 1))
