"""A record as it stood at an instant (HI-5)."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staged_items import BY, NOW, record

from agent_memory.domain.as_of import stood
from agent_memory.domain.records import Record, Status
from agent_memory.domain.times import instant

pytestmark = pytest.mark.rule("HI-5")
MINUTE = timedelta(minutes=1)


def changed_after(minutes: list[int]) -> Record:
    """Saved at `NOW`, with one more version so many minutes after the one before."""
    one, at = record("one"), NOW
    for gap, status in zip(minutes, [Status.SUPERSEDED, Status.ACTIVE, Status.DELETED] * 9, strict=False):
        at += gap * MINUTE
        one = one.changed(status, at=at, by=BY, replaced_by="heir" if status is Status.SUPERSEDED else None)
    return one


def test_a_record_that_was_saved_later_did_not_stand():
    assert stood(record("one"), NOW - timedelta(milliseconds=1)) is None


def test_a_record_stands_from_the_instant_it_was_written():
    assert stood(record("one"), NOW) == record("one")


def test_what_was_replaced_or_deleted_since_stands_as_it_did():
    replaced = changed_after([1])
    before = stood(replaced, NOW + MINUTE / 2)
    assert before is not None
    assert (before.status, before.replaced_by, before.version) == (Status.ACTIVE, None, 1)
    assert stood(replaced, NOW + MINUTE) == replaced


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(-3, 50))
def test_it_stands_at_the_last_version_written_by_then(minutes, minute):
    whole, at = changed_after(minutes), NOW + minute * MINUTE
    then = stood(whole, at)
    by_then = [v for v in whole.versions if instant(v.written_at) <= at]
    assert (then.versions if then else ()) == tuple(by_then)


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(0, 50), st.integers(0, 50))
def test_what_stood_earlier_is_the_beginning_of_what_stood_later(minutes, first, second):
    earlier, later = sorted((first, second))
    whole = changed_after(minutes)
    before, after = stood(whole, NOW + earlier * MINUTE), stood(whole, NOW + later * MINUTE)
    assert before
    assert after
    assert after.versions[: before.version] == before.versions
    assert stood(after, NOW + earlier * MINUTE) == before


@given(st.integers(-9, 9))
def test_where_the_clock_went_back_a_version_written_by_then_brings_those_before_it(minute):
    one = record("one").changed(Status.DELETED, at=NOW - 5 * MINUTE, by=BY)
    then = stood(one, NOW + minute * MINUTE)
    assert (then.version if then else 0) == (2 if minute >= -5 else 0)
