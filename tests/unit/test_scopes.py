import pytest

from agent_memory.domain.errors import ToolRefused
from agent_memory.domain.scopes import Place, Scope, TurnIds, place_for_new, places_of

ALL = ["session", "workflow", "user", "agent", "platform"]


@pytest.mark.rule("SC-2")
def test_a_turn_sees_its_own_places_alone_narrow_to_broad():
    ids = TurnIds("support", session_id="s", user_id="u")
    assert places_of(ids, ["agent", "user", "workflow", "session"]) == [
        Place(Scope.SESSION, "support", "s"),
        Place(Scope.USER, "support", "u"),
        Place(Scope.AGENT, "support"),
    ]


@pytest.mark.rule("SC-1")
def test_scopes_are_ordered_narrow_to_broad():
    assert sorted(Scope, key=lambda scope: scope.breadth) == ALL


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize(
    ("writable", "chosen", "scope"),
    [
        (["session", "agent"], None, "session"),
        (["user", "agent"], None, "user"),
        (["session", "agent"], "agent", "agent"),
    ],
)
def test_a_new_record_goes_to_the_narrowest_scope_that_is_written_or_the_chosen_one(writable, chosen, scope):
    place = place_for_new(TurnIds("support", "s", "w", "u"), [Scope(name) for name in writable], chosen)
    assert place.scope == scope


@pytest.mark.rule("SC-3")
@pytest.mark.parametrize(
    ("ids", "writable", "chosen"),
    [
        (TurnIds("support", "s"), ["session"], "agent"),
        (TurnIds("support", "s"), ["user", "agent"], None),  # no user: nothing lands in a broader scope for that
        (TurnIds("support", "s"), ["session", "user"], "user"),
        (TurnIds("support", "s"), [], None),
    ],
)
def test_a_scope_that_is_not_written_or_has_no_id_is_refused_naming_the_choices(ids, writable, chosen):
    with pytest.raises(ToolRefused) as refused:
        place_for_new(ids, [Scope(name) for name in writable], chosen)
    assert refused.value.code == "scope_not_allowed"
    for scope in (s for s in writable if ids.place(Scope(s))):
        assert scope in refused.value.message
