"""The `Table` port under several threads, on both sides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from table_fixtures import key, put

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.ports import Absent, Equals, Key, Put, Table

THREADS = 8


def test_of_transactions_that_expect_one_state_exactly_one_wins(table: Table) -> None:
    table.transact([put(item={"n": 0})])

    def attempt(thread: int, expected: int) -> bool:
        try:
            table.transact(
                [
                    put(item={"n": expected + 1}, condition=Equals("n", expected)),
                    put(f"won {expected}", {"by": thread}, condition=Absent()),
                ]
            )
        except ConditionFailed:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as threads:
        for turn in range(5):
            won = list(threads.map(attempt, range(THREADS), [turn] * THREADS))
            assert won.count(True) == 1
            assert table.get(key(f"won {turn}")) == {"by": won.index(True)}
    assert table.get(key()) == {"n": 5}


def test_concurrent_increments_reserve_different_numbers(table: Table) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        got = list(threads.map(lambda _: table.increment(key(), {"seq": 1})["seq"], range(40)))

    assert sorted(got) == list(range(1, 41))


def test_a_reader_sees_what_was_answered_before_it_began(table: Table) -> None:
    def write_and_read(n: int) -> bool:
        place = Key("memory", f"p{n % 4}", f"s{n}")
        table.transact([Put(place, {"n": n})])
        rows = table.query("memory", place.partition)
        return table.get(place) == {"n": n} and (place, {"n": n}) in rows and place in table.get_many([place])

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(write_and_read, range(64)))
