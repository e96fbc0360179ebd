"""How many calls a second one agent may send."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.errors import Throttled
from agent_memory.runtime.problems import problem
from agent_memory.runtime.rates import Rates
from agent_memory.runtime.settings import CALLS_PER_SECOND, DEFAULT_CALLS_PER_SECOND


@dataclass
class Seconds:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def taken(rates: Rates, agent: str, calls: int) -> int:
    """How many of so many calls were let through."""
    through = 0
    for _ in range(calls):
        try:
            rates.take(agent)
        except Throttled:
            continue
        through += 1
    return through


@pytest.mark.rule("IF-7")
def test_an_agent_takes_the_calls_of_one_second_at_once_and_then_as_many_as_time_brings() -> None:
    seconds = Seconds()
    rates = Rates(200, monotonic=seconds)
    assert taken(rates, "a", 300) == 200
    seconds.now += 0.1
    assert taken(rates, "a", 300) == 20
    seconds.now += 3600  # no more than one second's is saved up
    assert taken(rates, "a", 300) == 200


@pytest.mark.rule("IF-7")
def test_one_agents_loop_takes_nothing_from_the_others() -> None:
    rates = Rates(5, monotonic=Seconds())
    assert taken(rates, "looping", 1000) == 5
    assert [taken(rates, f"a{n}", 10) for n in range(20)] == [5] * 20


@pytest.mark.rule("IF-7")
def test_who_is_refused_is_told_when_to_come_back() -> None:
    rates = Rates(3, monotonic=Seconds())
    taken(rates, "a", 3)
    with pytest.raises(Throttled) as refused:
        rates.take("a")
    answer = problem(refused.value, "r-1")
    assert (answer.status, answer.body["code"], answer.headers["Retry-After"]) == (429, "throttled", "1")
    assert "3 calls" in answer.body["detail"]


@pytest.mark.rule("IF-7")
def test_a_refused_call_does_not_put_off_the_next() -> None:
    seconds = Seconds()
    rates = Rates(1, monotonic=seconds)
    assert taken(rates, "a", 1) == 1
    for _ in range(9):
        seconds.now += 0.125
        taken(rates, "a", 1)
    assert taken(rates, "a", 1) == 0  # the one of the second that has passed was taken on the way


@pytest.mark.rule("IF-7")
@given(st.integers(1, 50), st.lists(st.floats(0, 0.5), max_size=100))
def test_no_span_of_time_lets_through_more_than_its_own_calls_and_one_seconds(rate: int, pauses: list[float]) -> None:
    seconds = Seconds()
    rates = Rates(rate, monotonic=seconds)
    through = 0
    for pause in pauses:
        through += taken(rates, "a", 3)
        assert through <= rate * (1 + seconds.now - 1000.0) + 1e-6
        seconds.now += pause


def test_it_remembers_a_bounded_number_of_agents() -> None:
    rates = Rates(2, monotonic=Seconds())
    for n in range(10_050):
        rates.take(f"a{n}")
    assert len(rates._buckets) == 10_000


@pytest.mark.rule("IF-7")
def test_the_rate_is_a_setting() -> None:
    assert DEFAULT_CALLS_PER_SECOND == 200
    assert CALLS_PER_SECOND == "AGENT_MEMORY_CALLS_PER_SECOND"
