"""Which of several records of one key applies (CF-3, SC-6, RL-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_items import LEARNED, a_record

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.precedence import PLATFORM_KINDS, is_broader_kind, winners
from agent_memory.domain.scopes import Scope

LATER = "2026-05-13T08:00:00.000Z"


def is_broader(record):
    return record.kind == "constraint"


def keyed(number, scope="session", *, kind="fact", key="tone", **fields):
    return a_record(number, scope=scope, kind=kind, memory_key=key, **fields)


def who_wins(*records):
    """By the number of each loser, the number of the winner."""
    return {int(loser[4:]): int(winner.id[4:]) for loser, winner in winners(records, is_broader).items()}


# ---------------------------------------------------------------- examples


@pytest.mark.rule("RL-2")
def test_of_one_key_the_narrowest_applies():
    assert who_wins(keyed(1, "session"), keyed(2, "user"), keyed(3, "platform")) == {2: 1, 3: 1}


@pytest.mark.rule("RL-2")
def test_the_broadest_of_a_broader_kind_applies_whatever_else_has_the_key():
    constraints = [keyed(n, scope, kind="constraint") for n, scope in ((2, "workflow"), (3, "agent"))]
    assert who_wins(keyed(1, "session"), *constraints, keyed(4, "platform")) == {1: 3, 2: 3, 4: 3}


@pytest.mark.rule("RL-2")
def test_in_one_scope_the_later_created_applies_whatever_its_id():
    assert who_wins(keyed(1, created_at=LATER), keyed(2)) == {2: 1}


@pytest.mark.rule("RL-2")
def test_of_two_created_at_once_in_one_scope_the_greater_id_applies():
    assert who_wins(keyed(2), keyed(1)) == {1: 2}


@pytest.mark.rule("RL-2")
def test_a_newer_record_of_a_broader_scope_does_not_apply():
    assert who_wins(keyed(1, "session"), keyed(2, "agent", created_at=LATER)) == {2: 1}


@pytest.mark.rule("RL-2")
def test_records_without_a_key_and_of_different_keys_all_apply():
    assert who_wins(keyed(1, key=None), keyed(2, "user", key=None), keyed(3), keyed(4, key="hours")) == {}


@pytest.mark.rule("RL-2")
def test_keys_are_compared_to_the_character():
    assert who_wins(keyed(1, key="tone"), keyed(2, key="Tone"), keyed(3, key="")) == {}


def test_a_record_that_is_given_twice_does_not_lose_to_itself():
    assert who_wins(keyed(1), keyed(1)) == {}


# ---------------------------------------------------------------- kinds


@pytest.mark.rule("CF-3")
@pytest.mark.parametrize(
    ("kinds", "kind", "broader"),
    [
        (["fact"], "fact", False),
        (["fact"], "constraint", True),
        (["constraint"], "constraint", True),
        ({"rule": {"precedence": "broader"}}, "rule", True),
        ({"constraint": {"precedence": "narrower"}}, "constraint", False),
        (["fact"], "dropped", False),
    ],
)
def test_a_kind_is_broader_as_the_configuration_says_and_constraint_by_itself(kinds, kind, broader):
    config = parse_config({"memory": {"enabled": True, "kinds": kinds}})
    assert is_broader_kind(kind, config, Scope.USER) is broader


@pytest.mark.rule("SC-6")
def test_of_platform_records_constraint_alone_is_broader_whatever_an_agent_declares():
    turned = {kind: {"precedence": "narrower" if kind == "constraint" else "broader"} for kind in PLATFORM_KINDS}
    config = parse_config({"memory": {"enabled": True, "kinds": turned}})
    assert [kind for kind in PLATFORM_KINDS if is_broader_kind(kind, config, Scope.PLATFORM)] == ["constraint"]
    assert [kind for kind in PLATFORM_KINDS if not is_broader_kind(kind, config, Scope.AGENT)] == ["constraint"]


# ---------------------------------------------------------------- rules


@st.composite
def record_lists(draw, kinds=("fact", "constraint"), scopes=tuple(Scope)):
    return [
        keyed(
            number,
            draw(st.sampled_from(scopes)),
            kind=draw(st.sampled_from(kinds)),
            key=draw(st.sampled_from([None, "tone", "hours"])),
            created_at=draw(st.sampled_from([LEARNED, LATER])),
        )
        for number in range(draw(st.integers(0, 8)))
    ]


@pytest.mark.rule("RL-2")
@given(record_lists(), st.data())
def test_the_order_in_which_records_are_given_does_not_matter(records, data):
    assert winners(data.draw(st.permutations(records)), is_broader) == winners(records, is_broader)


@pytest.mark.rule("RL-2")
@given(record_lists())
def test_of_each_key_one_record_applies_and_it_is_settled_at_once(records):
    lost = winners(records, is_broader)
    left = [record for record in records if record.id not in lost]
    keys = {record.memory_key for record in records} - {None}
    assert sorted(record.memory_key for record in left if record.memory_key is not None) == sorted(keys)
    assert all(winner in left for winner in lost.values())
    assert winners(left, is_broader) == {}


@pytest.mark.rule("RL-2")
@given(record_lists())
def test_a_record_that_lost_or_has_no_key_changes_nothing_for_the_others(records):
    lost = winners(records, is_broader)
    for record in records:
        if record.id in lost or record.memory_key is None:
            without = winners([other for other in records if other is not record], is_broader)
            assert without == {loser: winner for loser, winner in lost.items() if loser != record.id}


@pytest.mark.rule("RL-2", "CF-2")
@given(record_lists(), st.sets(st.sampled_from(list(Scope))))
def test_a_longer_list_of_scopes_hides_no_constraint_but_behind_one_that_is_broader(records, scopes):
    """A constraint that applies among the records of some scopes applies among all of them, or gives way to another
    constraint that is broader."""
    some = [record for record in records if record.place.scope in scopes]
    lost_before, lost = (winners(given, is_broader) for given in (some, records))
    for record in filter(is_broader, some):
        if record.id not in lost_before and record.id in lost:
            winner = lost[record.id]
            assert is_broader(winner)
            assert winner.place.scope.breadth > record.place.scope.breadth


@pytest.mark.rule("RL-2")
@given(record_lists())
def test_a_constraint_loses_only_to_one_that_is_broader_or_newer_in_its_scope(records):
    by_id = {record.id: record for record in records}
    for loser, winner in winners(records, is_broader).items():
        if is_broader(by_id[loser]):
            assert is_broader(winner)
            assert _standing(winner) > _standing(by_id[loser])


@pytest.mark.rule("RL-2")
@given(record_lists(kinds=["fact"]))
def test_where_no_kind_is_broader_a_record_loses_only_to_one_that_is_narrower_or_newer_in_its_scope(records):
    by_id = {record.id: record for record in records}
    for loser, winner in winners(records, is_broader).items():
        breadth, *age = _standing(winner)
        assert (-breadth, *age) > (-_standing(by_id[loser])[0], *_standing(by_id[loser])[1:])


def _standing(record):
    return record.place.scope.breadth, record.created_at, record.id
