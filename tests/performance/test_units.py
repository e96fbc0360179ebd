"""The counting of request units, held against examples of DynamoDB's guide on reads and writes."""

from __future__ import annotations

import pytest
from metered import MeteredTable, Rounds, Units
from units import EXAMPLE, REVIEWED, measure

from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Absent, Check, Delete, Equals, Key, Put


def key(sort: str) -> Key:
    return Key("memory", "p", sort)


@pytest.fixture
def table(tmp_path):
    inner = SqliteTable(tmp_path / "store.db")
    yield MeteredTable(inner)
    inner.close()


def spent(table: MeteredTable) -> tuple[int, int]:
    found, table.spent = table.spent, Units()
    return found.reads, found.writes


def test_a_write_costs_a_unit_for_each_kilobyte_and_twice_that_in_a_transaction(table):
    table.write_many([Put(key("a"), {"text": "x" * 2500})])
    assert spent(table) == (0, 3)
    table.transact([Put(key("b"), {"text": "x" * 2500}, Absent())])
    assert spent(table) == (0, 6)


def test_a_write_costs_by_the_larger_of_what_was_there_and_what_comes(table):
    table.write_many([Put(key("a"), {"text": "x" * 2500})])
    spent(table)
    table.write_many([Put(key("a"), {})])
    assert spent(table) == (0, 3)
    table.write_many([Delete(key("a"))])
    assert spent(table) == (0, 1)


def test_a_check_costs_as_a_write_of_the_item(table):
    table.write_many([Put(key("a"), {"n": 1})])
    spent(table)
    table.transact([Put(key("b"), {}), Check(key("a"), Equals("n", 1))])
    assert spent(table) == (0, 4)


def test_reads_of_one_query_are_summed_and_those_of_single_items_rounded_up_each(table):
    table.write_many([Put(key(sort), {"text": "x" * 500}) for sort in "abcdef"])
    spent(table)
    table.query("memory", "p")
    assert spent(table) == (1, 0)
    table.get_many([key(sort) for sort in "abcdef"])
    assert spent(table) == (6, 0)


def test_what_is_not_there_costs_a_unit_too(table):
    table.get(key("a"))
    assert spent(table) == (1, 0)
    table.query("memory", "nothing")
    assert spent(table) == (1, 0)
    table.get_many([key("a"), key("b")])
    assert spent(table) == (2, 0)


def test_storage_grows_by_the_item_and_100_bytes_and_shrinks_again(table):
    table.write_many([Put(key("a"), {"text": "x" * 900})])
    assert table.spent.kept_bytes > 1000
    table.transact([Put(key("b"), {}), Delete(key("b2"))])
    table.write_many([Delete(key("a")), Delete(key("b"))])
    assert table.spent.kept_bytes == 0


def test_of_calls_made_at_once_the_longest_row_counts(table):
    rounds = Rounds()
    counted = rounds.counting(table, "get")
    one, two = (lambda: counted.get(key("a"))), (lambda: [counted.get(key("a")), counted.get(key("b"))])
    one()
    rounds.together(one, lambda: rounds.together(one, two), one)
    assert rounds.done == 1 + 2


def test_every_route_of_the_example_turn_is_measured(tmp_path):
    spent = measure(tmp_path)
    assert EXAMPLE.keys() | REVIEWED.keys() <= spent.keys()
    assert all(units.requests >= 1 and units.rounds >= 1 for units in spent.values())
