"""TL-1, TL-2, TU-5: what a call of `add_memory` may name, which one is a duplicate, what counts as a change of a turn,
and cursors that outlive the turn."""

import pytest
from people import discard, record_of

rule = pytest.mark.rule
WHO = {"user_id": "u1"}
FACT = {"summary": "Invoices by post.", "kind": "fact"}


@pytest.fixture
def agent(world):
    return world.configure(memory={"kinds": ["fact", "constraint"], "pinned": {"max_tokens": 500}})


def is_full(turn):
    """Whether the turn takes no change more."""
    another = f"One change more, at {turn.world.clock.now()}."  # never equal to one before
    answer = turn.call("add_memory", {"summary": another, "kind": "fact"})
    return answer.get("error", {}).get("code") == "turn_full"


# ---------------------------------------------------------------- replaces


@rule("TL-2", "RC-5")
def test_up_to_ten_records_are_replaced_by_one_staged_ones_among_them(world, agent):
    several = [world.remember(agent, f"Part {n}.", turn=WHO, scope=("session", "user")[n % 2]) for n in range(8)]
    turn = world.begin(agent, **WHO)
    staged = [turn.add(f"Staged part {n}.") for n in range(2)]
    ids = [staged[0], *several, staged[1]]
    view = turn.tool("add_memory", {**FACT, "scope": "user", "replaces": ids})["memories"][0]
    assert view["replaces"] == ids
    assert turn.search() == [view["id"]]
    turn.commit()
    assert {(record_of(world, agent, id).status.value, record_of(world, agent, id).replaced_by) for id in ids} == {
        ("SUPERSEDED", view["id"])
    }
    error = world.begin(agent, **WHO).refused("add_memory", {**FACT, "replaces": [view["id"]] * 11})
    assert (error["code"], error["argument"]) == ("invalid_input", "replaces")


@rule("TL-2")
@pytest.mark.parametrize("wrong", ["unseen", "superseded", "deleted", "expired", "broader"])
def test_one_id_that_may_not_be_named_refuses_the_call_and_stages_nothing(world, agent, wrong):
    good = world.remember(agent, "Good.")
    ends = world.clock.now().replace(microsecond=0, minute=30).isoformat()
    match wrong:
        case "unseen":
            bad, code = world.remember(agent, "Elsewhere.", "s2"), "not_found"
        case "superseded":
            bad, code = world.remember(agent, "Old."), "not_active"
            heir = world.remember(agent, "New.", replaces=bad)
        case "deleted":
            bad, code = world.remember(agent, "Wrong."), "not_active"
            discard(world, agent, bad)
        case "expired":
            bad, code = world.remember(agent, "For a while.", expires_at=ends), "not_found"
            world.clock.advance(hours=1)
        case "broader":
            bad, code = world.remember(agent, "For all.", scope="agent"), "broader_target"
    turn = world.begin(agent)
    before = turn.search()
    error = turn.refused("add_memory", {**FACT, "replaces": [good, bad]})
    assert error["code"] == code
    if wrong == "superseded":
        assert error["details"] == {"status": "SUPERSEDED", "replaced_by": heir}
    if wrong == "broader":
        assert (error["argument"], error["details"]) == ("scope", {"scope": "agent"})
        assert "agent" in error["message"]
    assert turn.search() == before
    assert turn.commit()["memories"] == []


@rule("TL-2")
def test_nothing_is_inherited_from_what_is_replaced(world, agent):
    old = world.remember(
        agent, "Old.", content="At length.", priority=90, confidence=0.4, memory_key="k", pinned=True, kind="constraint"
    )
    turn = world.begin(agent)
    view = turn.tool("add_memory", {**FACT, "replaces": old})["memories"][0]
    assert (view["content"], view["priority"], view["memory_key"], view["pinned"]) == (None, 50, None, False)
    turn.commit()
    new = record_of(world, agent, view["id"])
    assert (new.confidence, new.labels, new.expires_at) == (1, {}, None)


# ---------------------------------------------------------------- duplicates


@rule("TL-2", "RC-3", "PN-1")
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {"memory_key": "invoice"},
        {"pinned": True},
        {"memory_key": "invoice", "pinned": True, "priority": 7},
        {"expires_at": "2027-01-01T00:00:00+01:00", "occurred_at": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_call_equal_in_every_field_is_answered_with_the_record_there_is(world, agent, fields, committed):
    turn = world.begin(agent)
    first = turn.tool("add_memory", {**FACT, **fields})
    if committed:
        turn.commit()
        turn = world.begin(agent)
    again = turn.tool("add_memory", {**FACT, **fields})
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert again["memories"] == first["memories"]
    for name in fields:
        other = {k: v for k, v in fields.items() if k != name}
        view = turn.tool("add_memory", {**FACT, **other, "content": f"Without {name}."})
        assert view["duplicate"] is False
    assert turn.tool("add_memory", {**FACT, "content": "Another."})["duplicate"] is False


@rule("TL-2")
@pytest.mark.parametrize(
    "other", [{"memory_key": "Invoice"}, {"memory_key": None}, {"pinned": False}, {"summary": "Invoices by post"}]
)
def test_a_call_that_differs_in_a_key_a_pin_or_a_character_is_none(world, agent, other):
    given = {**FACT, "memory_key": "invoice", "pinned": True}
    turn = world.begin(agent)
    turn.tool("add_memory", given)
    assert turn.tool("add_memory", {**given, **other})["duplicate"] is False


@rule("TL-2", "PV-3")
def test_a_duplicate_is_one_of_the_same_mode_scope_and_owner(world, agent):
    turn = world.begin(agent)
    turn.tool("add_memory", FACT)
    turn.commit()
    for place in ({"preview": True}, {"session": "s2"}):
        other = world.begin(agent, **place)
        assert other.tool("add_memory", FACT)["duplicate"] is False
        other.commit()
        again = world.begin(agent, **place)
        assert again.tool("add_memory", FACT)["duplicate"] is True


@rule("TL-2")
def test_a_call_that_names_what_it_replaces_is_never_a_duplicate(world, agent):
    old = world.remember(agent, FACT["summary"])
    turn = world.begin(agent)
    answer = turn.tool("add_memory", {**FACT, "replaces": old})
    assert (answer["duplicate"], answer["memories"][0]["replaces"]) == (False, [old])
    turn.commit()
    assert record_of(world, agent, old).status == "SUPERSEDED"


@rule("TL-2", "RC-3")
def test_a_keyed_duplicate_takes_no_key_from_its_own_twin(world, agent):
    keyed = {**FACT, "memory_key": "invoice"}
    id = world.remember(agent, FACT["summary"], memory_key="invoice")
    turn = world.begin(agent)
    assert turn.tool("add_memory", keyed)["memories"][0]["id"] == id
    assert turn.commit()["memories"] == []
    assert (record_of(world, agent, id).status, record_of(world, agent, id).version) == ("ACTIVE", 1)


# ---------------------------------------------------------------- what counts as a change


@rule("TU-5", "RC-3")
def test_the_former_holder_of_a_key_counts_as_one_change(world, agent):
    for n in range(7):
        world.remember(agent, f"Old {n}.", memory_key=f"k{n}")
    turn = world.begin(agent)
    for n in range(7):
        turn.add(f"New {n}.", memory_key=f"k{n}")  # two changes each
    assert not is_full(turn)
    assert is_full(turn)
    assert turn.commit()["conflicts"] == []


@rule("TU-5")
def test_a_save_whose_superseded_records_do_not_fit_any_more_is_refused_whole(world, agent):
    ids = [world.remember(agent, f"Part {n}.") for n in range(10)]
    turn = world.begin(agent)
    for n in range(5):
        turn.add(f"Fact {n}.")
    error = turn.refused("add_memory", {**FACT, "replaces": ids})  # 11 where 10 are left
    assert error["code"] == "turn_full"
    assert set(ids) <= set(turn.search(limit=50))
    turn.add("All but one.", replaces=ids[1:])
    assert turn.refused("delete_memory", {"id": ids[0]})["code"] == "turn_full"
    assert turn.commit()["conflicts"] == []


@rule("TU-5")
def test_what_a_turn_saved_itself_and_takes_away_again_counts_each_time(world, agent):
    turn = world.begin(agent)
    for n in range(7):
        turn.remove(turn.add(f"Fact {n}."))
    assert not is_full(turn)
    assert is_full(turn)
    memories = turn.commit()["memories"]
    assert [memory["status"] for memory in memories] == ["DELETED"] * 7 + ["ACTIVE"]


@rule("TU-5", "TL-2", "RC-6")
def test_duplicates_refusals_and_deleting_what_is_deleted_count_nothing(world, agent):
    gone = world.remember(agent, "Gone.")
    turn = world.begin(agent)
    turn.remove(gone)
    turn.tool("add_memory", FACT)
    for _ in range(20):
        assert turn.tool("add_memory", FACT)["duplicate"] is True
        assert turn.remove(gone)["status"] == "DELETED"
        assert turn.refused("add_memory", {**FACT, "replaces": "nothing"})["code"] == "not_found"
    for n in range(13):
        turn.add(f"Fact {n}.")
    assert is_full(turn)
    assert turn.tool("add_memory", FACT)["duplicate"] is True  # a full turn still answers it
    assert len(turn.commit()["memories"]) == 15


@rule("TU-5", "TU-8")
def test_what_others_did_meanwhile_makes_no_turn_too_full_to_commit(world, agent):
    """Each of 15 saves meets a holder that came since, so that 30 records change."""
    turn, faster = world.begin(agent), world.begin(agent)
    for n in range(15):
        turn.add(f"New {n}.", memory_key=f"k{n}")
        faster.add(f"Faster {n}.", memory_key=f"k{n}")
    faster.commit()
    ended = turn.commit()
    assert (len(ended["memories"]), len(ended["conflicts"])) == (15, 15)


# ---------------------------------------------------------------- cursors


@rule("TL-1")
def test_a_cursor_outlives_its_turn_and_meets_neither_newer_nor_ended_records(world, agent):
    ids = [world.remember(agent, f"Fact {n}.") for n in range(6)]
    first = world.begin(agent)
    page = first.tool("search_memory", {"limit": 2})
    assert [view["id"] for view in page["memories"]] == ids[:3:-1]
    first.roll_back()
    world.remember(agent, "Newer.")
    discard(world, agent, ids[3])
    later = world.begin(agent)
    later.remove(ids[2])
    rest = later.tool("search_memory", {"limit": 2, "after": page["next"]})
    assert ([view["id"] for view in rest["memories"]], rest["next"]) == ([ids[1], ids[0]], None)


@rule("TL-1", "CF-9")
def test_a_cursor_belongs_to_its_visible_scopes(world):
    scopes = {"read": ["session", "agent"], "write": ["session", "agent"]}
    agent = world.configure(memory={"scope": scopes})
    for n in range(4):
        world.remember(agent, f"Fact {n}.")
    cursor = world.begin(agent).tool("search_memory", {"limit": 2})["next"]
    world.configure(agent=agent, memory={"scope": {**scopes, "read": ["session"]}})
    assert world.begin(agent).refused("search_memory", {"after": cursor})["code"] == "invalid_cursor"
    world.configure(agent=agent, memory={"scope": scopes})
    assert len(world.begin(agent).search(after=cursor)) == 2


@rule("TL-1", "IF-4")
def test_an_altered_cursor_is_refused(world, agent):
    for n in range(4):
        world.remember(agent, f"Fact {n}.")
    turn = world.begin(agent)
    cursor = turn.tool("search_memory", {"limit": 2})["next"]
    other = "A" if cursor[0] != "A" else "B"
    for altered in (other + cursor[1:], cursor[:-2], cursor + "A", cursor.swapcase()):
        assert turn.refused("search_memory", {"after": altered})["code"] == "invalid_cursor"


@rule("TL-2", "RC-3")
def test_a_record_that_was_saved_without_its_key_equals_what_has_none(world):
    agent = world.configure(memory={"kinds": {"fact": {}, "rule": {"precedence": "broader"}}})
    turn, other = world.begin(agent), world.begin(agent)
    saved = turn.add("Tea.", memory_key="tone")
    binding = other.add("Rain.", kind="rule", memory_key="tone")
    other.commit()
    for each in (turn, world.begin(agent)):
        again = each.tool("add_memory", {"summary": "Tea.", "kind": "fact"})
        assert (again["memories"][0]["id"], again["duplicate"]) == (saved, True)
        if each is turn:
            turn.commit()
    discard(world, agent, binding)
    keyed = world.begin(agent).tool("add_memory", {"summary": "Tea.", "kind": "fact", "memory_key": "tone"})
    assert (keyed["duplicate"], keyed["memories"][0]["memory_key"]) == (False, "tone")
