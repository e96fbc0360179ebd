"""SC-5, DESIGN's invariant 4: the partition is the border, and no id spells another's key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.scopes import Place, Scope, TurnIds
from agent_memory.store import keys

ids = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20) | st.sampled_from(
    ["a", "a#b", "a%23b", "a%2523b", "#", "%", "session", "user#a"]
)
named = st.sampled_from([Scope.SESSION, Scope.WORKFLOW, Scope.USER])


@pytest.mark.rule("SC-5", "SC-1")
@given(named, ids, named, ids)
def test_two_places_share_a_partition_only_if_they_are_one_place(scope, owner, other_scope, other_owner):
    one, other = Place(scope, "support", owner), Place(other_scope, "support", other_owner)
    assert (keys.memory_partition(one) == keys.memory_partition(other)) == (one == other)


@pytest.mark.rule("SC-5")
@given(named, ids)
def test_a_partition_leads_back_to_its_place(scope, owner):
    place = Place(scope, "support", owner)
    assert keys.place_of(keys.memory_partition(place)) == place


@pytest.mark.parametrize("place", [Place(Scope.AGENT, "support"), Place(Scope.PLATFORM, None)])
def test_places_without_an_owner_lead_back_too(place):
    assert keys.place_of(keys.memory_partition(place)) == place


@pytest.mark.rule("SC-5")
@given(ids, ids)
def test_sessions_share_a_counter_only_if_they_are_one(session, other):
    one, two = (keys.session(TurnIds("support", id)) for id in (session, other))
    assert (one == two) == (session == other)


@pytest.mark.rule("SC-5")
@given(ids, ids)
def test_users_share_a_list_of_sessions_only_if_they_are_one(user, other):
    one, two = (keys.users_session("support", id, "01H").partition for id in (user, other))
    assert (one == two) == (user == other)
    assert one not in {keys.call("support", "").partition, keys.session(TurnIds("support", other)).partition}


def test_an_agents_own_partition_is_no_places_partition():
    assert "#" in keys.memory_partition(Place(Scope.AGENT, "support"))
    assert "#" not in keys.pointer("support", "01H").partition
