"""PV-1 to PV-4: changes that are tried out beside live turns, which go on undisturbed."""

import json

import pytest
from people import discard, record_of, restore

from agent_memory.domain.errors import Conflict

rule = pytest.mark.rule
WHO = {"user_id": "u1"}


def live_turn(world, agent, session="s1", **fields):
    return world.begin(agent, session, **WHO, **fields)


def trial(world, agent, session="s1", **fields):
    return live_turn(world, agent, session, preview=True, **fields)


def try_out(world, agent, summary, session="s1", **fields):
    return world.remember(agent, summary, session, turn={**WHO, "preview": True}, **fields)


def try_deletion(world, agent, id, session="s1"):
    turn = trial(world, agent, session)
    view = turn.remove(id)
    turn.commit()
    return view["id"]


def found(turn):
    """What it lists, what a ranked search brings and what a recall shows: always the same records."""
    listed = turn.search(limit=50)
    assert set(turn.search("fact", limit=50)) == set(listed)
    assert set(turn.shown("fact")) == set(listed)
    return listed


@pytest.fixture
def agent(world):
    return world.configure(memory={"search": {"min_score": -1, "max_results": 50}, "pinned": {"max_tokens": 500}})


# ---------------------------------------------------------------- PV-1


@rule("PV-1")
@pytest.mark.parametrize("indexed", [False, True])
def test_what_a_preview_turn_saves_is_seen_by_preview_turns_alone(world, agent, indexed):
    live = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    view = turn.tool("add_memory", {"summary": "A fact on trial.", "kind": "fact"})["memories"][0]
    assert view["preview"] is True
    assert found(live_turn(world, agent)) == [live]
    turn.commit()
    if indexed:
        world.index_all()
    assert found(trial(world, agent)) == [view["id"], live]
    other = live_turn(world, agent)
    assert found(other) == [live]
    assert other.refused("read_memory", {"id": view["id"]})["code"] == "not_found"
    assert other.refused("delete_memory", {"id": view["id"]})["code"] == "not_found"
    assert other.tool("search_memory", {"ids": [view["id"]]})["missing"] == [view["id"]]
    replace = {"summary": "A fact anew.", "kind": "fact", "replaces": view["id"]}
    assert other.refused("add_memory", replace)["code"] == "not_found"


@rule("PV-1")
def test_while_the_index_is_down_live_turns_find_nothing_of_preview_either(world, agent):
    live, tried = world.remember(agent, "A fact of old."), try_out(world, agent, "A fact on trial.")
    world.index.down = True
    assert found(live_turn(world, agent)) == [live]
    assert found(trial(world, agent)) == [tried, live]


# ---------------------------------------------------------------- PV-2


@rule("PV-2", "PV-3")
def test_a_preview_turn_sees_live_and_preview_records_but_for_those_that_preview_replaced_or_deleted(world, agent):
    kept, replaced, deleted = (world.remember(agent, f"Fact {n}.") for n in range(3))
    new = try_out(world, agent, "Fact 1 anew.", replaces=replaced)
    gone = try_deletion(world, agent, deleted)
    turn = trial(world, agent)
    assert found(turn) == [new, kept]
    for hidden in (replaced, deleted):
        assert turn.refused("read_memory", {"id": hidden})["code"] == "not_found"
    assert turn.read(gone)["status"] == "DELETED"
    assert found(live_turn(world, agent)) == [deleted, replaced, kept]


@rule("PV-2", "TU-3")
def test_a_preview_turn_sees_at_once_what_it_stages_and_no_other_turn_does(world, agent):
    old = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    new = turn.add("A fact on trial.", replaces=old)
    assert turn.search() == [new]
    assert turn.shown("fact") == []  # a recall adds nothing staged, and leaves out what is to go
    assert found(trial(world, agent)) == [old]
    turn.roll_back()
    assert found(trial(world, agent)) == [old]


@rule("PV-2", "SC-2")
def test_a_cover_counts_where_it_lies_in_a_scope_that_the_turn_sees(world, agent):
    old = world.remember(agent, "A fact of this session.")
    wide = try_out(world, agent, "A fact of the user.", replaces=old, scope="user")
    assert found(trial(world, agent)) == [wide]
    assert found(world.begin(agent, preview=True)) == [old]
    assert found(world.begin(agent, preview=True, user_id="u2")) == [old]


@rule("PV-2")
@pytest.mark.parametrize("end", ["delete", "replace", "expire", "discard"])
def test_a_cover_outlives_the_record_that_it_came_with(world, agent, end):
    old = world.remember(agent, "A fact of old.")
    cover = try_out(world, agent, "A fact on trial.", replaces=old)
    left = []
    match end:
        case "delete":
            turn = trial(world, agent)
            assert turn.remove(cover)["id"] == cover  # a preview record is deleted as a live one is by a live turn
            turn.commit()
        case "replace":
            left = [try_out(world, agent, "A fact on its second trial.", replaces=cover)]
        case "expire":
            world.clock.advance(days=8)  # preview records live for seven days
        case "discard":
            discard(world, agent, cover)
    assert found(trial(world, agent)) == left
    assert found(live_turn(world, agent)) == [old]


@rule("PV-2")
def test_a_cover_stays_when_its_record_is_restored_and_deleted_again(world, agent):
    old = world.remember(agent, "A fact of old.")
    cover = try_out(world, agent, "A fact on trial.", replaces=old)
    discard(world, agent, cover)
    restore(world, agent, cover)
    assert found(trial(world, agent)) == [cover]
    discard(world, agent, cover)
    assert found(trial(world, agent)) == []


@rule("PV-2")
def test_a_preview_deletion_ends_with_preview_and_its_target_is_seen_again(world):
    agent = world.configure(memory={"retention": {"preview": "2d"}, "search": {"min_score": -1, "max_results": 50}})
    old = world.remember(agent, "A fact of old.")
    gone = try_deletion(world, agent, old)
    ends = record_of(world, agent, gone).expires_at
    world.clock.advance(days=1, hours=23)
    assert found(trial(world, agent)) == []
    world.clock.advance(hours=1)
    assert world.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z") >= ends
    assert found(trial(world, agent)) == [old]
    again = try_deletion(world, agent, old)  # and can be deleted again
    assert again != gone
    assert found(trial(world, agent)) == []


@rule("PV-2", "PV-4")
def test_what_a_live_turn_does_to_a_hidden_record_does_not_bring_it_back(world, agent):
    old = world.remember(agent, "A fact of old.")
    cover = try_out(world, agent, "A fact on trial.", replaces=old)
    heir = world.remember(agent, "A fact of today.", replaces=old)
    assert found(trial(world, agent)) == [heir, cover]
    restore(world, agent, old)
    assert found(trial(world, agent)) == [cover]
    assert found(live_turn(world, agent)) == [old]


# ---------------------------------------------------------------- PV-3


@rule("PV-3")
def test_a_preview_turn_never_changes_a_live_record(world, agent):
    ids = [world.remember(agent, f"Fact {n}.", memory_key=f"k{n}", pinned=True) for n in range(3)]
    before = [record_of(world, agent, id) for id in ids]
    try_out(world, agent, "Fact 0 anew.", replaces=ids[0])
    try_deletion(world, agent, ids[1])
    try_out(world, agent, "Fact 2 anew.", memory_key="k2")
    assert [record_of(world, agent, id) for id in ids] == before


@rule("PV-3")
def test_a_preview_deletion_carries_what_its_target_was_and_lies_where_it_lies(world, agent):
    world.configure(
        agent=agent,
        memory={"labels": {"room": {"number": 5, "description": "The room."}}, "pinned": {"max_tokens": 500}},
    )
    old = world.remember(
        agent,
        "A fact of old.",
        turn=WHO,
        scope="user",
        content="At length.",
        labels={"room": "1"},
        memory_key="k",
        pinned=True,
    )
    turn = trial(world, agent, "s2")
    view = turn.remove(old)
    assert turn.commit()["memories"] == [
        {"id": view["id"], "version": 1, "status": "DELETED", "preview": True, "replaces": [old], "source": "tool"}
    ]
    gone = record_of(world, agent, view["id"])
    assert (gone.status, gone.preview, gone.replaces) == ("DELETED", True, (old,))
    assert (gone.summary, gone.kind, gone.labels) == ("A fact of old.", "fact", {"room": "1"})
    assert (gone.place.scope, gone.place.owner) == ("user", "u1")
    assert (gone.memory_key, gone.pinned, gone.version) == (None, False, 1)


@rule("PV-3", "RC-6")
def test_deleting_a_covered_live_record_again_answers_the_same_preview_deletion(world, agent):
    old = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    first = turn.remove(old)
    assert turn.remove(old) == first
    assert turn.commit()["memories"][0]["id"] == first["id"]
    later = trial(world, agent)
    assert later.remove(old) == first
    assert later.commit()["memories"] == []


@rule("PV-3")
def test_what_a_preview_replacement_hides_is_not_there_to_be_deleted_or_replaced(world, agent):
    old = world.remember(agent, "A fact of old.")
    try_out(world, agent, "A fact on trial.", replaces=old)
    turn = trial(world, agent)
    assert turn.refused("delete_memory", {"id": old})["code"] == "not_found"
    replace = {"summary": "A fact on another trial.", "kind": "fact", "replaces": old}
    assert turn.refused("add_memory", replace)["code"] == "not_found"


@rule("PV-3", "RC-5")
def test_previews_of_previews_replace_each_other_and_keep_the_live_record_hidden(world, agent):
    old = world.remember(agent, "A fact of old.")
    chain = [old]
    for n in range(4):
        chain.append(try_out(world, agent, f"Trial {n}.", replaces=chain[-1]))
    turn = trial(world, agent)
    assert turn.search() == [chain[-1]]
    first = record_of(world, agent, chain[1])
    assert (first.status, first.replaced_by, first.replaces) == ("SUPERSEDED", chain[2], (old,))
    last = record_of(world, agent, chain[-1])
    assert (last.status, last.replaces) == ("ACTIVE", (chain[-2],))
    turn.remove(chain[-1])
    turn.commit()
    assert trial(world, agent).search() == []
    assert live_turn(world, agent).search() == [old]


@rule("PV-3", "TU-8")
def test_a_live_target_that_was_replaced_meanwhile_is_followed_to_what_took_its_place(world, agent):
    old = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    new = turn.add("A fact on trial.", replaces=old)
    heir = world.remember(agent, "A fact of today.", replaces=old)
    assert turn.search() == [new]
    ended = turn.commit()
    assert [(c["change"], c["target"], c["outcome"]) for c in ended["conflicts"]] == [("replace", old, "retargeted")]
    assert record_of(world, agent, new).replaces == (heir,)
    assert found(trial(world, agent)) == [new]
    assert found(live_turn(world, agent)) == [heir]


@rule("PV-3", "TU-8")
@pytest.mark.parametrize("end", ["delete", "replace"])
def test_a_deletion_whose_live_target_is_gone_meanwhile_is_not_written_and_the_conflict_stands(world, agent, end):
    old = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    gone = turn.remove(old)["id"]
    left = [world.remember(agent, "A fact of today.", replaces=old)] if end == "replace" else []
    if end == "delete":
        discard(world, agent, old)
    ended = turn.commit()
    assert ended["memories"] == []
    assert [(c["change"], c["id"], c["target"], c["outcome"]) for c in ended["conflicts"]] == [
        ("delete", old, old, "nothing")
    ]
    assert found(trial(world, agent)) == left
    assert trial(world, agent).refused("read_memory", {"id": gone})["code"] == "not_found"


@rule("PV-3", "TU-8")
def test_a_live_target_that_was_deleted_meanwhile_leaves_the_new_preview_record_alone(world, agent):
    old = world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    new = turn.add("A fact on trial.", replaces=old)
    discard(world, agent, old)
    assert [c["outcome"] for c in turn.commit()["conflicts"]] == ["saved_alone"]
    assert record_of(world, agent, new).replaces == ()
    assert found(trial(world, agent)) == [new]


@rule("PV-3", "TU-8")
@pytest.mark.parametrize("scope", ["session", "user"])
def test_two_preview_turns_that_hide_one_record_at_once_leave_one_in_its_place(world, agent, scope):
    old = world.remember(agent, "A fact of old.")
    slow, fast = trial(world, agent), trial(world, agent)
    late = slow.add("A fact on the slow trial.", replaces=old, scope="user")
    early = fast.add("A fact on the fast trial.", replaces=old, scope=scope)
    assert fast.commit()["conflicts"] == []
    (conflict,) = slow.commit()["conflicts"]
    assert (conflict["target"], conflict["outcome"], conflict["current"]["id"]) == (old, "retargeted", early)
    assert found(trial(world, agent)) == [late]
    assert record_of(world, agent, early).replaced_by == late
    assert found(live_turn(world, agent)) == [old]


@rule("PV-2", "TU-8")
def test_preview_turns_that_hide_one_record_from_where_they_do_not_look_all_commit(world):
    scopes = {"read": ["session"], "write": ["session", "user"]}
    agent = world.configure(memory={"search": {"min_score": -1}, "scope": scopes})
    old = world.remember(agent, "A fact of old.", turn=WHO)
    for n in range(3):
        turn = trial(world, agent)
        turn.add(f"A fact on trial {n}.", replaces=old, scope="user")
        assert (turn.commit()["status"], turn.state()["conflicts"]) == ("committed", [])
    assert found(trial(world, agent)) == [old]


@rule("PV-3", "TU-8")
def test_of_two_preview_turns_that_delete_one_record_at_once_one_deletion_is_written(world, agent):
    old = world.remember(agent, "A fact of old.")
    slow, fast = trial(world, agent), trial(world, agent)
    slow.remove(old), fast.remove(old)
    assert len(fast.commit()["memories"]) == 1
    ended = slow.commit()
    assert (ended["memories"], [c["outcome"] for c in ended["conflicts"]]) == ([], ["nothing"])


@rule("PV-3", "TU-5")
def test_a_preview_deletion_is_one_change_and_what_is_covered_none(world, agent):
    ids = [world.remember(agent, f"Fact {n}.") for n in range(12)]
    turn = trial(world, agent)
    turn.add("All of ten.", replaces=ids[:10])
    for id in ids[10:]:
        turn.remove(id)
    for n in range(12):  # 1 + 2 so far
        turn.add(f"One more, {n}.")
    assert turn.refused("add_memory", {"summary": "The 16th.", "kind": "fact"})["code"] == "turn_full"
    assert turn.commit()["conflicts"] == []
    assert len(trial(world, agent).search(limit=50)) == 13


@rule("PV-3", "GR-8")
def test_a_preview_deletion_is_not_restored(world, agent):
    gone = try_deletion(world, agent, world.remember(agent, "A fact of old."))
    with pytest.raises(Conflict) as refused:
        restore(world, agent, gone)
    assert refused.value.code == "not_restorable"


# ---------------------------------------------------------------- PV-4


@rule("PV-4")
def test_preview_turns_take_numbers_of_the_session_like_others(world, agent):
    turns = [begin(world, agent) for begin in (live_turn, trial, live_turn, trial)]
    assert [turn.state()["number"] for turn in turns] == [1, 2, 3, 4]
    assert [turn.state()["preview"] for turn in turns] == [False, True, False, True]


@rule("PV-4", "PN-2")
def test_pins_of_preview_have_a_budget_of_their_own(world):
    agent = world.configure(memory={"pinned": {"max_tokens": 25}})
    old = world.remember(agent, "A pin that takes most of the room.", pinned=True)
    turn = trial(world, agent)
    add = {"summary": "A pin on trial that takes as much.", "kind": "fact", "pinned": True}
    assert turn.refused("add_memory", add)["code"] == "pin_over_budget"  # it sees the live one too
    new = turn.tool("add_memory", {**add, "replaces": old})["memories"][0]["id"]
    turn.commit()
    assert [pin["id"] for pin in trial(world, agent).recall(" ")["pinned"]] == [new]
    assert [pin["id"] for pin in live_turn(world, agent).recall(" ")["pinned"]] == [old]
    other = live_turn(world, agent)
    other.add("A live pin instead of the other.", pinned=True, replaces=old)
    assert other.commit()["conflicts"] == []  # what is pinned on trial takes nothing of its room


@rule("PV-4", "RL-5")
def test_what_preview_turns_were_shown_is_their_own(world, agent):
    world.remember(agent, "A fact of old.")
    turn = trial(world, agent)
    assert turn.recall("fact")["recorded"] is True
    turn.commit()
    assert live_turn(world, agent).recall("fact")["memories"][0]["seen"] is False
    again = trial(world, agent).recall("fact")
    assert (again["recorded"], again["memories"][0]["seen"]) == (False, True)


@rule("PV-4", "RL-1")
def test_constraints_on_trial_are_counted_apart(world):
    agent = world.configure(memory={"kinds": ["constraint"]})
    for half in ({}, {"preview": True}):
        for start in (0, 10):
            turn = world.begin(agent, **half)
            for n in range(start, start + 10):
                turn.add(f"Rule {n}, preview {bool(half)}.", kind="constraint")
            assert turn.commit()["conflicts"] == []
    assert len(world.begin(agent).recall(" ")["constraints"]) == 20
    assert len(world.begin(agent, preview=True).recall(" ")["constraints"]) == 40
    for half in ({}, {"preview": True}):
        turn = world.begin(agent, **half)
        error = turn.refused("add_memory", {"summary": "One more rule.", "kind": "constraint"})
        assert error["code"] == "too_many_constraints"


@rule("PV-4", "UP-1")
def test_preview_records_do_not_fade(world):
    memory = {"decay": {"fact": {"half_life": "1d"}}, "min_confidence": 0.5, "search": {"min_score": -1}}
    agent = world.configure(memory=memory)
    old, tried = world.remember(agent, "A fact of old."), try_out(world, agent, "A fact on trial.")
    world.clock.advance(days=3)
    assert trial(world, agent).shown("fact") == [tried]
    assert live_turn(world, agent).shown("fact") == []
    assert live_turn(world, agent).search("fact") == [old]


@rule("TL-1", "PV-2")
def test_a_cursor_of_live_turns_is_none_of_preview_turns_and_the_other_way_round(world, agent):
    for n in range(4):
        world.remember(agent, f"Fact {n}.")
    both = live_turn(world, agent), trial(world, agent)
    cursors = [turn.tool("search_memory", {"limit": 2})["next"] for turn in both]
    for turn, own, foreign in zip(both, cursors, reversed(cursors), strict=True):
        assert len(turn.search(after=own, limit=2)) == 2
        assert turn.refused("search_memory", {"after": foreign, "limit": 2})["code"] == "invalid_cursor"


def all_that_a_live_turn_is_answered(world, agent, ids):
    """Answers of recall, of ranked search, list, read and ids, as text; what each call itself is called left out."""
    turn = live_turn(world, agent)
    recalled = [turn.recall(query, explain=True) for query in ("fact", "rule", " ")]
    for answer in recalled:
        del answer["tool_execution_id"]
    asked = [{"query": "fact"}, {}, {"limit": 2}, {"ids": ids}, {"query": "rule", "kind": "fact"}]
    tools = [turn.tool("search_memory", one) for one in asked]
    read = [turn.tool("read_memory", {"id": id}) for id in ids]
    events = [e.get("records") or e.get("memories") for e in turn.transcript("memory.pinned", "output_use")]
    turn.roll_back()
    return json.dumps([recalled, tools, read, events], sort_keys=True)


@rule("PV-1", "PV-4")
@pytest.mark.parametrize("indexed", [False, True])
def test_nothing_that_preview_turns_do_changes_one_character_of_what_live_turns_are_answered(world, indexed):
    agent = world.configure(
        memory={
            "kinds": ["fact", "constraint"],
            "pinned": {"max_tokens": 500},
            "search": {"min_score": -1, "max_results": 50},
        }
    )
    ids = [world.remember(agent, f"Fact {n}.", memory_key=f"k{n}", pinned=n == 3) for n in range(5)]
    ids.append(world.remember(agent, "A rule on facts.", kind="constraint", scope="agent", memory_key="k0"))
    world.index_all()
    before = all_that_a_live_turn_is_answered(world, agent, ids)
    try_out(world, agent, "Fact 1 anew, a fact on trial.", replaces=ids[1])
    try_out(world, agent, "Fact 2 anew, a fact on trial.", memory_key="k2", pinned=True)
    try_out(world, agent, "A rule on trial.", kind="constraint", scope="agent", replaces=ids[5])
    try_deletion(world, agent, ids[3])
    rolled = trial(world, agent)
    rolled.add("A fact that never came to be.")
    rolled.recall("fact")
    rolled.roll_back()
    staged = trial(world, agent)
    staged.add("A fact that is staged.", replaces=ids[4])
    if indexed:
        world.index_all()
    assert all_that_a_live_turn_is_answered(world, agent, ids) == before
