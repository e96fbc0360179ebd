"""How confidence fades, and what is no longer recalled (UP-1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_items import LEARNED, a_record

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.decay import confidence_at, is_recalled
from agent_memory.domain.times import instant, written

BORN = instant(LEARNED)
DAY = timedelta(days=1)
MONTHLY = {"fact": {"half_life": "30d"}}


def settings(decay=MONTHLY, min_confidence=0.5):
    body = {"memory": {"enabled": True, "decay": decay, "min_confidence": min_confidence}}
    return parse_config(body).memory


def after(days, **fields):
    """The confidence in a record of so many days."""
    return confidence_at(a_record(**fields), settings().decay, BORN + days * DAY)


def confirmed(record, moment):
    again = replace(record.newest, number=2, confirmed_at=written(moment))
    return replace(record, versions=(*record.versions, again))


def in_preview(record):
    return replace(record, place=record.place.trial)


# ---------------------------------------------------------------- confidence


@pytest.mark.rule("UP-1")
@pytest.mark.parametrize(("days", "left"), [(0, 0.8), (30, 0.4), (60, 0.2), (15, 0.8 * 0.5**0.5), (36_500, 0.0)])
def test_confidence_halves_with_every_half_life(days, left):
    assert after(days, confidence=0.8) == pytest.approx(left)


@pytest.mark.rule("UP-1")
def test_a_kind_that_decay_does_not_name_keeps_its_confidence():
    assert after(365, kind="event", confidence=0.8) == 0.8


@pytest.mark.rule("UP-1")
def test_a_confirmed_record_is_as_old_as_its_confirmation():
    record = confirmed(a_record(), BORN + 60 * DAY)
    assert confidence_at(record, settings().decay, BORN + 90 * DAY) == 0.5


@pytest.mark.rule("UP-1")
def test_a_record_that_says_what_happened_long_ago_is_as_young_as_its_saving():
    assert after(0, occurred_at="2016-05-12T08:00:00Z") == 1.0


@pytest.mark.rule("PV-4")
def test_preview_records_do_not_decay():
    assert confidence_at(in_preview(a_record()), settings().decay, BORN + 365 * DAY) == 1.0


def test_a_clock_that_went_back_makes_no_record_surer_than_it_was():
    assert after(-365, confidence=0.8) == 0.8


def test_an_age_of_centuries_at_a_half_life_of_a_second_is_no_confidence_and_no_failure():
    decay = settings({"fact": {"half_life": "1s"}}).decay
    assert confidence_at(a_record(), decay, datetime(9999, 12, 31, tzinfo=UTC)) == 0.0


# ---------------------------------------------------------------- what is recalled


def is_recalled_after(days, memory, *, broader=False, **fields):
    return is_recalled(a_record(**fields), memory, BORN + days * DAY, broader=broader)


@pytest.mark.rule("UP-1")
def test_a_record_is_recalled_until_it_falls_below_the_least_confidence():
    memory = settings()
    assert is_recalled_after(30, memory)
    assert not is_recalled(a_record(), memory, BORN + 30 * DAY + timedelta(seconds=1), broader=False)


@pytest.mark.rule("UP-1")
def test_a_record_saved_below_the_least_confidence_is_not_recalled_though_its_kind_does_not_decay():
    assert not is_recalled_after(0, settings(decay={}), confidence=0.4)
    assert is_recalled_after(0, settings(decay={}), confidence=0.5)


@pytest.mark.rule("UP-1")
def test_a_broader_kind_that_decay_does_not_name_is_always_recalled():
    assert is_recalled_after(3650, settings(), broader=True, kind="constraint", confidence=0.0)


@pytest.mark.rule("UP-1")
def test_a_broader_kind_that_decay_names_fades_like_others():
    memory = settings({"constraint": {"half_life": "30d"}})
    assert is_recalled_after(30, memory, broader=True, kind="constraint")
    assert not is_recalled_after(31, memory, broader=True, kind="constraint")


@pytest.mark.rule("UP-1")
def test_without_a_least_confidence_everything_is_recalled():
    assert is_recalled_after(36_500, settings(min_confidence=0))


# ---------------------------------------------------------------- rules

KINDS = st.sampled_from(["fact", "event", "constraint"])
SHARES = st.floats(0, 1)
SECONDS = st.integers(-100_000_000, 3_000_000_000).map(lambda seconds: timedelta(seconds=seconds))


@pytest.mark.rule("UP-1")
@given(KINDS, SHARES, SECONDS, SECONDS)
def test_confidence_never_grows_with_age_nor_leaves_its_range(kind, confidence, one, another):
    record, decay = a_record(kind=kind, confidence=confidence), settings().decay
    younger, older = (confidence_at(record, decay, BORN + age) for age in sorted((one, another)))
    assert 0 <= older <= younger <= confidence


@pytest.mark.rule("UP-1")
@given(SHARES, SECONDS, SECONDS)
def test_being_confirmed_later_never_makes_a_record_less_sure(confidence, since, age):
    record, decay = a_record(confidence=confidence), settings().decay
    later = confirmed(record, BORN + abs(since))
    assert confidence_at(later, decay, BORN + age) >= confidence_at(record, decay, BORN + age)


@pytest.mark.rule("UP-1")
@given(KINDS, SHARES, SHARES, SHARES, SECONDS, st.booleans())
def test_a_lower_least_confidence_never_hides_a_record(kind, confidence, one, another, age, broader):
    record = a_record(kind=kind, confidence=confidence)
    low, high = (settings(min_confidence=least) for least in sorted((one, another)))
    if is_recalled(record, high, BORN + age, broader=broader):
        assert is_recalled(record, low, BORN + age, broader=broader)
