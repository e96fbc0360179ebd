"""What only the SQLite side promises: the file, its durability, one process to it, and the change feed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from table_fixtures import key, put

from agent_memory.adapters.folder_lock import FolderInUse
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.errors import ConditionFailed, StoreUnavailable
from agent_memory.domain.ports import Absent, Check, Delete, Equals, Key, Put

HOLD = """
import sys
from agent_memory.adapters.sqlite_table import SqliteTable
table = SqliteTable(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""

COMMIT_FOR_EVER = """
import sys, threading
from itertools import count
from agent_memory.adapters.sqlite_table import SqliteTable
from agent_memory.domain.ports import Key, Put
table = SqliteTable(sys.argv[1])
saying = threading.Lock()
def commit(thread):
    for n in count():
        name = f"{thread}.{n}"
        table.transact([
            Put(Key("memory", "p", f"U#{name}"), {"n": n, "text": "x" * 300}),
            Put(Key("execution", name, "TURN"), {"n": n}),
            Put(Key("memory", "counter", thread), {"n": n}),
        ])
        table.increment(Key("memory", "increments", thread), {"n": 1})
        table.write_many([Put(Key("memory", "batch", name), {"n": n})])
        with saying:
            print(name, flush=True)
for thread in "abc":
    threading.Thread(target=commit, args=(thread,), daemon=True).start()
threading.Event().wait()
"""


def run(program: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_file_that_is_opened_again_holds_everything(sqlite_path: Path) -> None:
    table = SqliteTable(sqlite_path)
    table.transact([put(item={"v": 1, "b": b"\0"}), Put(key(table="execution"), {"v": 2})])
    table.close()

    table = SqliteTable(sqlite_path)
    table.transact([Put(key(partition="q"), {"v": 3})])

    assert table.get(key()) == {"v": 1, "b": b"\0"}
    assert table.get(key(table="execution")) == {"v": 2}
    assert table.query("memory", "p") == [(key(), {"v": 1, "b": b"\0"})]
    assert table.get(key(partition="q")) == {"v": 3}
    table.close()


def test_a_closed_file_is_one_file_and_a_lock(sqlite_table: SqliteTable, sqlite_path: Path) -> None:
    sqlite_table.transact([put()])
    sqlite_table.get(key())
    sqlite_table.close()

    assert sorted(path.name for path in sqlite_path.parent.iterdir()) == ["store.db", "store.db.lock"]


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])  # FULL, NORMAL
def test_a_durable_commit_is_on_the_disk_before_it_is_answered(
    sqlite_table: SqliteTable, sqlite_path: Path, durable: bool, level: int
) -> None:
    def settings(writer: sqlite3.Connection) -> list[object]:
        return [writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert sqlite_table._file.write(settings, durable=durable) == ["wal", level]
    assert sqlite_path.with_name("store.db-wal").exists()


def test_a_transaction_is_durable(sqlite_table: SqliteTable) -> None:
    asked: list[str] = []
    sqlite_table.increment(key(), {"n": 1})  # leaves the level at NORMAL
    sqlite_table._file._writer.set_trace_callback(asked.append)

    sqlite_table.transact([put("a")])

    assert asked[:2] == ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]


def test_staged_items_that_a_commit_replaces_leave_no_holes(sqlite_table: SqliteTable) -> None:
    def numbers() -> set[int]:
        with sqlite_table._file.reading() as connection:
            return {no for (no,) in connection.execute("SELECT no FROM items")}

    def record(n: int) -> dict[str, str]:
        return {"text": "y" * n + "z" * 90}

    sqlite_table.transact([put(f"W#{n}", {"text": "x" * (100 + n)}) for n in range(10)])
    before = numbers()

    sqlite_table.transact([put(f"R#{n}", record(n)) for n in range(10)] + [Delete(key(f"W#{n}")) for n in range(10)])

    assert numbers() == before
    assert [row.item for row in sqlite_table.query("memory", "p")] == [record(n) for n in range(10)]


def test_a_truth_value_equals_no_number(sqlite_table: SqliteTable) -> None:
    """As in DynamoDB (moto takes them for equal)."""
    sqlite_table.transact([put("a", {"x": True}), put("b", {"x": 1})])

    with pytest.raises(ConditionFailed) as failure:
        sqlite_table.transact([put(), Check(key("a"), Equals("x", 1)), Check(key("b"), Equals("x", True))])

    assert failure.value.positions == [1, 2]


def test_one_refused_transaction_of_a_shared_commit_does_not_undo_the_others(sqlite_table: SqliteTable) -> None:
    def attempt(n: int) -> bool:
        try:
            sqlite_table.transact([put(f"{n}", {"n": n}), put(f"taken {n % 10}", condition=Absent())])
        except ConditionFailed:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        won = [n for n, done in enumerate(threads.map(attempt, range(200))) if done]

    assert len(won) == 10
    assert sorted(row.item["n"] for row in sqlite_table.query("memory", "p") if row.item) == won


def test_the_name_of_an_emptied_partition_does_not_stay(sqlite_table: SqliteTable, sqlite_path: Path) -> None:
    sqlite_table.transact([Put(Key("memory", "user#a-person", "R#1"), {}), put()])
    sqlite_table.transact([Delete(Key("memory", "user#a-person", "R#1")), put("b")])
    sqlite_table.close()

    assert b"a-person" not in sqlite_path.read_bytes()


def test_a_closed_table_is_unavailable(sqlite_path: Path) -> None:
    table = SqliteTable(sqlite_path)
    table.close()

    with pytest.raises(StoreUnavailable):
        table.transact([put()])


def test_a_file_that_is_no_database_is_unavailable_and_not_held(sqlite_path: Path) -> None:
    sqlite_path.write_bytes(b"something else " * 100)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            SqliteTable(sqlite_path)


def test_an_item_may_grow_and_shrink_across_every_size(sqlite_table: SqliteTable) -> None:
    for size in (0, 100, 300, 5, 50_000, 0, 1000):
        sqlite_table.transact([put(item={"text": "é" * size}), put("beside", {"size": size})])

        assert sqlite_table.get(key()) == {"text": "é" * size}
        assert sqlite_table.get(key("beside")) == {"size": size}


# ---------------------------------------------------------------- one process


def test_a_second_process_is_refused_and_told_who_holds_the_file(sqlite_path: Path) -> None:
    with run(HOLD, sqlite_path) as holder:
        assert line(holder) == "open"

        with pytest.raises(FolderInUse) as refusal:
            SqliteTable(sqlite_path)

        assert refusal.value.pid == holder.pid
        assert str(holder.pid) in str(refusal.value)
        holder.kill()
    SqliteTable(sqlite_path).close()


def test_a_second_table_in_the_same_process_is_refused(sqlite_table: SqliteTable, sqlite_path: Path) -> None:
    with pytest.raises(FolderInUse) as refusal:
        SqliteTable(sqlite_path)

    assert refusal.value.pid == os.getpid()


@pytest.mark.parametrize("answers", [1, 40, 171])
def test_a_kill_in_the_middle_of_commits_loses_nothing_that_was_answered(sqlite_path: Path, answers: int) -> None:
    with run(COMMIT_FOR_EVER, sqlite_path) as writer:
        answered = [line(writer) for _ in range(answers)]
        writer.send_signal(signal.SIGKILL)
        assert writer.stdout
        answered += writer.stdout.read().split()

    table = SqliteTable(sqlite_path)
    stored = {row.key.sort.removeprefix("U#"): row.item["n"] for row in table.query("memory", "p")}
    assert set(answered) <= stored.keys()
    assert {row.key.sort for row in table.feed(10**6)} == {f"U#{name}" for name in stored}
    assert all(table.get(Key("execution", name, "TURN")) == {"n": n} for name, n in stored.items())
    assert {row.key.sort for row in table.query("memory", "batch")} >= set(answered)
    for row in table.query("memory", "increments"):
        assert row.item["n"] >= sum(name.startswith(row.key.sort) for name in answered)
    for row in table.query("memory", "counter"):
        assert row.item["n"] == max(n for name, n in stored.items() if name.startswith(row.key.sort))
    table.close()


# ---------------------------------------------------------------- the change feed


def fed(table: SqliteTable, limit: int = 100) -> list[str]:
    return [row.key.sort for row in table.feed(limit)]


def test_the_feed_gives_inserts_with_the_prefix_in_the_order_of_commits(sqlite_table: SqliteTable) -> None:
    sqlite_table.transact([put("R#1"), put("U#2"), put("U~"), Put(key("U#9", table="execution"), {})])
    sqlite_table.write_many([put("U#1"), put("T#1")])
    sqlite_table.transact([Put(Key("memory", "other\0#", "U#3"), {})])

    rows = sqlite_table.feed(100)

    assert [row.key for row in rows] == [key("U#2"), key("U#1"), Key("memory", "other\0#", "U#3")]
    assert [row.position for row in rows] == sorted(row.position for row in rows)
    assert fed(sqlite_table, limit=2) == ["U#2", "U#1"]


def test_the_feed_does_not_tell_of_changes_and_deletions(sqlite_table: SqliteTable) -> None:
    sqlite_table.transact([put("U#1")])
    sqlite_table.feed_done(row.position for row in sqlite_table.feed(100))

    sqlite_table.transact([put("U#1", {"v": 2})])
    sqlite_table.increment(key("U#1"), {"v": 1})
    sqlite_table.transact([put("a"), Delete(key("U#1"))])

    assert fed(sqlite_table) == []


def test_a_transaction_that_failed_is_not_on_the_feed(sqlite_table: SqliteTable) -> None:
    with pytest.raises(ConditionFailed):
        sqlite_table.transact([put("U#1"), Check(key("none"), Equals("v", 1))])

    assert fed(sqlite_table) == []


def test_the_feed_survives_a_restart_and_its_positions_are_never_used_again(sqlite_path: Path) -> None:
    table = SqliteTable(sqlite_path)
    table.transact([put("U#1"), put("U#2"), put("U#3")])
    first, *_, last = table.feed(100)
    table.feed_done([first.position, last.position, last.position])
    table.close()

    table = SqliteTable(sqlite_path)
    assert fed(table) == ["U#2"]
    table.transact([put("U#4")])
    assert fed(table) == ["U#2", "U#4"]
    assert table.feed(100)[-1].position > last.position
    table.close()


def test_another_prefix_feeds_other_rows(sqlite_path: Path) -> None:
    table = SqliteTable(sqlite_path, feed_prefix="R#")
    table.transact([put("R#1"), put("U#1")])

    assert fed(table) == ["R#1"]
    table.close()


def test_who_waits_for_the_feed_is_woken_by_a_commit(sqlite_table: SqliteTable) -> None:
    sqlite_table.feed(100)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(sqlite_table.wait_for_feed, 60)
        sqlite_table.transact([put("U#1")])

        assert waiting.result(timeout=60)
    assert fed(sqlite_table) == ["U#1"]


def test_waiting_for_the_feed_knows_what_was_read(sqlite_table: SqliteTable) -> None:
    assert sqlite_table.wait_for_feed(0)  # nothing was read yet: rows of the last run may be there
    sqlite_table.feed(100)
    assert not sqlite_table.wait_for_feed(0)

    sqlite_table.transact([put("R#1")])
    assert not sqlite_table.wait_for_feed(0)

    sqlite_table.transact([put("U#1"), put("U#2")])
    assert sqlite_table.wait_for_feed(0)
    sqlite_table.feed(2)  # as many as asked for: there may be more
    assert sqlite_table.wait_for_feed(0)
    sqlite_table.feed(3)  # read to the end; not done, and no news
    assert not sqlite_table.wait_for_feed(0)


def test_closing_lets_go_who_waits_for_the_feed(sqlite_path: Path) -> None:
    table = SqliteTable(sqlite_path)
    table.feed(100)
    begun = Event()

    def wait() -> bool:
        begun.set()
        return table.wait_for_feed(60)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(wait)
        begun.wait()
        table.close()

        assert waiting.result(timeout=30) is False
