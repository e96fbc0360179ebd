"""Rows that go by themselves on one machine: those with `expires_ttl`, once it is over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Delete, Key, Put

TTL = "expires_ttl"


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def key(sort: str, partition: str = "p") -> Key:
    return Key("execution", partition, sort)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    made = SqliteTable(tmp_path / "store.db")
    yield made
    made.close()


def sorts(table: SqliteTable, partition: str = "p") -> list[str]:
    return [row.key.sort for row in table.query("execution", partition)]


def noted(path: Path) -> list[Any]:
    with sqlite3.connect(path / "store.db") as connection:
        return connection.execute("SELECT at FROM expiring ORDER BY at").fetchall()


@pytest.mark.parametrize("way", ["transact", "write_many"])
def test_a_row_goes_when_its_time_is_over_and_the_others_stay(table: SqliteTable, way: str) -> None:
    puts = [Put(key("a"), {TTL: 100}), Put(key("b"), {TTL: 101}), Put(key("c"), {"x": 1})]
    getattr(table, way)(puts)
    assert table.purge(at(99)) == 0
    assert table.purge(at(100)) == 1
    assert sorts(table) == ["b", "c"]
    assert table.purge(at(10_000)) == 1
    assert sorts(table) == ["c"]


def test_a_row_that_was_put_again_goes_by_its_last_time(table: SqliteTable) -> None:
    for time in (100, 300):
        table.transact([Put(key("later"), {TTL: time})])
    for item in ({TTL: 100}, {"x": 1}):
        table.transact([Put(key("never"), item)])
    for time in (300, 100):
        table.transact([Put(key("sooner"), {TTL: time})])
    table.purge(at(200))
    assert sorts(table) == ["later", "never"]
    table.purge(at(300))
    assert sorts(table) == ["never"]


def test_a_key_that_came_back_in_a_partition_that_was_gone_is_another_row(table: SqliteTable) -> None:
    table.transact([Put(key("a"), {TTL: 100})])
    table.write_many([Delete(key("a"))])
    table.transact([Put(key("a"), {"x": 1})])
    table.purge(at(200))
    assert sorts(table) == ["a"]


def test_what_was_deleted_before_is_no_fault(table: SqliteTable, tmp_path: Path) -> None:
    table.transact([Put(key("a"), {TTL: 100}), Put(key("b"), {TTL: 100})])
    table.write_many([Delete(key("a"))])
    table.purge(at(200))
    assert sorts(table) == []
    assert noted(tmp_path) == []


def test_any_number_of_rows_goes_at_once(table: SqliteTable, tmp_path: Path) -> None:
    table.write_many([Put(key(f"{n:05}", f"p{n % 7}"), {TTL: 100 + n % 3}) for n in range(1_200)])
    table.write_many([Put(key("stays", f"p{n}"), {TTL: 500}) for n in range(7)])
    assert table.purge(at(200)) == 1_200
    assert [sorts(table, f"p{n}") for n in range(7)] == [["stays"]] * 7
    assert len(noted(tmp_path)) == 7


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = SqliteTable(tmp_path / "store.db")
    first.transact([Put(key("a"), {TTL: 100})])
    first.close()
    second = SqliteTable(tmp_path / "store.db")
    assert second.purge(at(100)) == 1
    assert sorts(second) == []
    second.close()


def test_the_name_of_a_partition_goes_with_its_last_row(table: SqliteTable, tmp_path: Path) -> None:
    table.transact([Put(key("a", "someone"), {TTL: 100})])
    table.purge(at(100))
    with sqlite3.connect(tmp_path / "store.db") as connection:
        assert connection.execute("SELECT count(*) FROM partitions").fetchone() == (0,)
