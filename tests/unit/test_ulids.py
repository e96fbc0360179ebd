"""Ids that tell when they were made, and where the ids of a moment begin."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.adapters.system import SystemIds
from agent_memory.domain.ulids import derived, is_ulid, made_at, time_prefix

moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))


def to_the_millisecond(moment):
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@pytest.mark.rule("IF-4")
@given(moments, st.text())
def test_a_derived_id_has_the_form_of_an_id_and_tells_its_moment(moment, seed):
    id = derived(moment, seed)
    assert is_ulid(id)
    assert made_at(id) == to_the_millisecond(moment)


@given(moments, st.text(), st.text())
def test_a_derived_id_is_the_same_for_the_same_seed_alone(moment, seed, other):
    assert (derived(moment, seed) == derived(moment, other)) == (seed == other)


@pytest.mark.rule("IF-4")
@given(moments, moments, st.text())
def test_ids_sort_behind_the_prefix_of_their_moment_and_before_that_of_the_next(moment, other, seed):
    prefix = time_prefix(moment)
    assert (derived(other, seed) > prefix) == (to_the_millisecond(other) >= to_the_millisecond(moment))


def test_the_prefix_of_a_moment_is_how_its_ids_begin():
    now = datetime(2026, 5, 12, 8, tzinfo=UTC)
    assert SystemIds().new(now).startswith(time_prefix(now))


def test_before_1970_there_are_no_ids():
    assert time_prefix(datetime(1, 1, 1, tzinfo=UTC)) == time_prefix(datetime(1970, 1, 1, tzinfo=UTC)) == "0" * 10
    assert time_prefix(datetime.max.replace(tzinfo=UTC) - timedelta(0)) < "8"
