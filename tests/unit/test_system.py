"""Ids and the clock of the machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.adapters.system import SystemClock, SystemIds
from agent_memory.domain.ulids import is_ulid, made_at

NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2500, 1, 1), timezones=st.just(UTC))


@pytest.mark.rule("IF-4")
@given(st.lists(MOMENTS, min_size=2, max_size=50))
def test_ids_grow_also_when_the_clock_goes_back(moments: list[datetime]) -> None:
    ids = SystemIds()
    made = [ids.new(moment) for moment in moments]
    assert made == sorted(set(made))
    assert all(is_ulid(id) for id in made)


@pytest.mark.rule("IF-4")
@given(MOMENTS)
def test_an_id_tells_the_millisecond_it_was_made_from(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert made_at(SystemIds().new(moment)) == moment


@pytest.mark.rule("IF-4")
def test_ids_of_many_threads_differ() -> None:
    ids, made = SystemIds(), []
    threads = [Thread(target=lambda: made.extend(ids.new(NOW) for _ in range(200))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1600


@pytest.mark.rule("IF-4")
def test_the_clock_is_in_utc_and_in_whole_milliseconds() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert now.microsecond % 1000 == 0


@pytest.mark.rule("IF-4")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "01HZZZZZZZZZZZZZZZZZZZZZZ",
        "01HZZZZZZZZZZZZZZZZZZZZZZZZ",
        "01hzzzzzzzzzzzzzzzzzzzzzzz",
        "81HZZZZZZZZZZZZZZZZZZZZZZZ",
        "01HZZZZZZZZZZZZZZZZZZZZZZI",
        "01HZZZZZZZZZZZZZZZZZZZZZZZ\n",
    ],
)
def test_what_is_no_ulid(text: str) -> None:
    assert not is_ulid(text)
