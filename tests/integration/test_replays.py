"""HI-5: a turn run again over what it saw when it began, and all that must not come of it."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people import approve, discard, publish, record_of, restore
from world import one_machine

from agent_memory.domain.errors import AgentMemoryError, NotAllowed, NotFound
from agent_memory.domain.messages import UserMessage
from agent_memory.domain.times import written
from agent_memory.domain.ulids import made_at
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.expire import remove_expired
from agent_memory.operations.messages import add_messages
from agent_memory.operations.sessions import list_sessions
from agent_memory.operations.turn_list import TurnFilters, list_turns
from agent_memory.store import past_records

rule = pytest.mark.rule
WHO = {"user_id": "u1"}


def live_turn(world, agent, session="s1", **fields):
    return world.begin(agent, session, **WHO, **fields)


def replay(world, original, **fields):
    return world.begin(original.agent, None, replay_of=original.id, **fields)


def found(turn):
    """What it lists, what a ranked search brings and what a recall shows: always the same records."""
    listed = turn.search(limit=50)
    assert set(turn.search("fact", limit=50)) == set(listed)
    assert set(turn.shown("fact")) == set(listed)
    return listed


@pytest.fixture
def agent(world):
    return world.configure(memory={"search": {"min_score": -1, "max_results": 50}, "pinned": {"max_tokens": 500}})


# ---------------------------------------------------------------- the turn


@rule("HI-5", "TU-6")
def test_a_replay_is_a_preview_turn_of_its_originals_number_session_and_user(world, agent):
    world.begin(agent)
    original = live_turn(world, agent, workflow_id="w")
    again = replay(world, original)
    state = again.state()
    assert (state["replay_of"], state["preview"], state["attempt"], state["retry_of"]) == (original.id, True, 1, None)
    same = ("number", "session_id", "workflow_id", "user_id", "agent_version")
    assert [state[name] for name in same] == [original.state()[name] for name in same]
    assert state["execution_id"] == again.id


@rule("HI-5", "TU-7")
def test_a_replay_takes_no_number_of_its_session_and_is_listed_among_its_turns(world, agent):
    original = live_turn(world, agent)
    again = replay(world, original)
    assert world.begin(agent).state()["number"] == 2
    (session,) = list_sessions(world.services, agent)["sessions"]
    assert (session["turns"], session["first_turn_at"]) == (2, written(made_at(original.id)))
    assert again.id in [
        turn["turn_id"] for turn in list_turns(world.services, agent, TurnFilters(session_id="s1"))["turns"]
    ]


@rule("HI-5")
@pytest.mark.parametrize("end", ["commit", "roll_back", "state"])
def test_any_attempt_can_be_replayed_whatever_has_become_of_it(world, agent, end):
    old = world.remember(agent, "A fact of old.")
    original = live_turn(world, agent)
    getattr(original, end)()
    world.remember(agent, "A fact since.")
    assert found(replay(world, original)) == [old]


@rule("HI-5")
def test_a_replay_of_a_replay_is_one_of_the_same_original(world, agent):
    original = live_turn(world, agent)
    first = replay(world, original)
    world.remember(agent, "A fact since.")
    second = replay(world, first)
    assert second.state()["replay_of"] == original.id
    assert second.state()["number"] == 1
    assert found(second) == []


@rule("TU-6", "HI-5")
def test_a_replay_that_is_tried_again_stays_a_replay_of_the_same(world, agent):
    original = live_turn(world, agent)
    world.remember(agent, "A fact since.")
    first = replay(world, original)
    first.roll_back()
    for named in ({}, {"replay_of": original.id}, {"replay_of": first.id, "session_id": "s1"}):
        session = named.pop("session_id", None)
        retry = world.begin(agent, session, retry_of=first.id, **named)
        state = retry.state()
        assert (state["replay_of"], state["preview"], state["number"]) == (original.id, True, 1)
        assert found(retry) == []
    assert state["attempt"] == 4


@rule("TU-6", "HI-5")
def test_a_retry_is_no_replay_of_another_turn(world, agent):
    original, other = live_turn(world, agent), live_turn(world, agent)
    for attempt in (replay(world, original), original):
        with pytest.raises(NotAllowed) as refused:
            world.begin(agent, None, retry_of=attempt.id, replay_of=other.id)
        assert refused.value.code == "retry_mismatch"
    with pytest.raises(NotFound):
        world.begin(agent, None, retry_of=original.id, replay_of="01JD0000000000000000000000")


@rule("HI-5")
def test_a_live_replay_is_refused(world, agent):
    original = live_turn(world, agent)
    for fields in ({}, {"retry_of": replay(world, original).id}):
        with pytest.raises(NotAllowed) as refused:
            replay(world, original, preview=False, **fields)
        assert refused.value.code == "replay_is_preview"
    assert replay(world, original, preview=True).state()["preview"] is True


@rule("TU-6", "HI-5", "SC-2")
@pytest.mark.parametrize("other", [{"session_id": "s2"}, {"user_id": "u2"}, {"workflow_id": "w"}])
def test_a_replay_for_another_session_user_or_workflow_is_refused(world, agent, other):
    original = live_turn(world, agent)
    with pytest.raises(NotAllowed) as refused:
        begin(world.services, agent, Beginning(replay_of=original.id, **other))
    assert refused.value.code == "retry_mismatch"


@rule("HI-5", "SC-1")
def test_a_turn_of_another_agent_is_no_turn_to_replay(world, agent):
    original = live_turn(world, agent)
    rival = world.configure()
    for id in (original.id, "no id at all#TURN", "01JD0000000000000000000000"):
        with pytest.raises(NotFound):
            world.begin(rival, None, replay_of=id)


@rule("HI-5")
def test_a_replay_begins_on_its_originals_version_unless_another_is_given(world, agent):
    world.remember(agent, "A fact of the session.")
    original = live_turn(world, agent)
    wide = world.remember(agent, "A fact of the agent.", scope="agent")
    later = world.begin(agent)
    world.configure(agent=agent, memory={"scope": {"read": ["agent"], "write": ["agent"]}, "search": {"min_score": -1}})
    assert replay(world, original).state()["agent_version"] == 1
    again = replay(world, later, agent_version=2)
    assert again.state()["agent_version"] == 2
    assert found(again) == [wide]
    assert replay(world, again).state()["agent_version"] == 2


@rule("HI-5", "TU-9")
def test_a_turn_without_a_session_is_replayed_without_a_number(world):
    memory = {"scope": {"read": ["agent"], "write": ["agent"]}, "search": {"min_score": -1}}
    agent = world.configure(memory=memory, sessions=False)
    original = world.begin(agent, None)
    other = world.begin(agent, None)
    other.add("A fact since.")
    other.commit()
    again = replay(world, original)
    assert again.state()["number"] is None
    assert found(again) == []


# ---------------------------------------------------------------- records as they stood


@rule("HI-5", "RK-5")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_replay_sees_what_stood_and_nothing_that_was_saved_since(world, agent, indexed):
    old = world.remember(agent, "A fact of old.")
    original = live_turn(world, agent)
    own = original.add("A fact of its own.")
    original.commit()
    since = world.remember(agent, "A fact since.")
    if indexed:
        world.index_all()
    again = replay(world, original)
    assert found(again) == [old]
    for unseen in (own, since):
        assert again.refused("read_memory", {"id": unseen})["code"] == "not_found"
        assert again.tool("search_memory", {"ids": [unseen]})["missing"] == [unseen]
    assert found(live_turn(world, agent)) == [since, own, old]


@rule("HI-5")
def test_what_a_turn_staged_before_and_committed_after_the_original_began_is_not_seen(world, agent):
    slow = world.begin(agent)
    late = slow.add("A fact that was slow.")
    original = live_turn(world, agent)
    slow.commit()
    assert found(replay(world, original)) == []
    assert found(live_turn(world, agent)) == [late]


@rule("HI-5")
@pytest.mark.parametrize("indexed", [False, True])
def test_what_was_replaced_or_deleted_since_is_seen_as_it_stood(world, agent, indexed):
    replaced, deleted = world.remember(agent, "A fact of old."), world.remember(agent, "A fact gone.")
    original = live_turn(world, agent)
    turn = world.begin(agent)
    new = turn.add("A fact anew.", replaces=replaced)
    turn.remove(deleted)
    turn.commit()
    if indexed:
        world.index_all()
    again = replay(world, original)
    assert found(again) == [deleted, replaced]
    for id in (replaced, deleted):
        view = again.read(id)
        assert (view["status"], view["version"], view["replaced_by"]) == ("ACTIVE", 1, None)
    assert [m["id"] for m in again.tool("search_memory", {"ids": [deleted]})["memories"]] == [deleted]
    assert found(live_turn(world, agent)) == [new]


@rule("HI-5", "TL-3")
def test_what_had_ended_before_is_read_as_it_stood_and_not_found(world, agent):
    replaced, deleted = world.remember(agent, "A fact of old."), world.remember(agent, "A fact gone.")
    turn = world.begin(agent)
    new = turn.add("A fact anew.", replaces=replaced)
    turn.remove(deleted)
    turn.commit()
    original = live_turn(world, agent)
    discard(world, agent, new)
    restore(world, agent, deleted)
    again = replay(world, original)
    assert found(again) == [new]
    assert (again.read(replaced)["status"], again.read(replaced)["replaced_by"]) == ("SUPERSEDED", new)
    assert again.read(deleted)["status"] == "DELETED"


@rule("HI-5", "LC-1")
@pytest.mark.parametrize("swept", [False, True])
def test_what_has_expired_since_stays_gone(world, agent, swept):
    soon = written(world.clock.now() + timedelta(hours=1))
    short = world.remember(agent, "A fact for an hour.", expires_at=soon)
    lasting = world.remember(agent, "A fact that lasts.")
    original = live_turn(world, agent)
    assert found(replay(world, original)) == [lasting, short]
    world.clock.advance(hours=2)
    if swept:
        remove_expired(world.services, lambda: True)
    again = replay(world, original)
    assert found(again) == [lasting]
    assert again.refused("read_memory", {"id": short})["code"] == "not_found"


@rule("HI-5", "SC-2")
def test_a_replay_looks_into_no_place_of_others(world, agent):
    mine = world.remember(agent, "A fact of mine.", turn=WHO, scope="user")
    world.remember(agent, "A fact of theirs.", turn={"user_id": "u2"}, scope="user")
    world.remember(agent, "A fact of another session.", "s2")
    elsewhere = world.configure(memory={"search": {"min_score": -1}})
    world.remember(elsewhere, "A fact of another agent.", scope="agent")
    assert found(replay(world, live_turn(world, agent))) == [mine]


@rule("HI-5", "UP-1")
def test_what_had_not_faded_then_is_recalled(world):
    memory = {
        "search": {"min_score": -1},
        "decay": {"fact": {"half_life": "30d"}},
        "min_confidence": 0.4,
    }
    agent = world.configure(memory=memory)
    fading = world.remember(agent, "A fact of old.", scope="agent")
    world.clock.advance(days=20)
    early = world.begin(agent)
    world.clock.advance(days=30)
    assert world.recall(agent, "fact") == []
    assert replay(world, early).shown("fact") == [fading]
    late = world.begin(agent)
    assert replay(world, late).shown("fact") == []
    assert replay(world, late).search("fact") == [fading]


@rule("HI-5", "RL-1", "SC-6")
def test_constraints_bind_as_they_did(world, agent):
    platform = publish(world, "Never promise a refund.", kind="constraint")
    memory = {
        "scope": {"read": ["session", "agent"], "write": ["session", "agent"]},
        "kinds": ["fact", "constraint"],
        "search": {"min_score": -1},
    }
    agent = world.configure(memory=memory)
    own = world.remember(agent, "Never name a price.", kind="constraint", scope="agent")
    original = world.begin(agent)
    ended = world.begin(agent)
    ended.remove(own)
    ended.commit()
    later = publish(world, "Never promise a date.", kind="constraint")
    discard(world, None, platform)
    again = replay(world, original)
    shown = [item["id"] for item in again.recall("refund")["constraints"]]
    assert shown == [platform, own]
    assert [item["id"] for item in again.recall("")["constraints"]] == shown
    assert {*again.search()} == {*again.search("never")} == {platform, own}
    assert [item["id"] for item in world.begin(agent).recall("refund")["constraints"]] == [later]
    discard(world, None, later)


@rule("HI-5", "SC-4")
def test_a_proposal_that_was_approved_since_was_not_there(world):
    read = {"scope": {"read": ["platform"], "write": ["platform"]}, "search": {"min_score": -1}}
    agent = world.configure(memory=read)
    proposed = world.remember(agent, "A fact for all.")
    original = world.begin(agent)
    approve(world, proposed)
    again = replay(world, original)
    assert proposed not in again.search(limit=50)
    assert again.refused("read_memory", {"id": proposed})["code"] == "not_found"
    discard(world, None, proposed)


@rule("HI-5", "PN-1")
def test_the_pin_list_is_the_one_of_then(world, agent):
    pin = world.remember(agent, "A fact to keep in view.", pinned=True)
    original = live_turn(world, agent)
    turn = world.begin(agent)
    turn.remove(pin)
    newer = turn.add("A fact pinned since.", pinned=True)
    turn.commit()
    for query in ("fact", ""):
        assert [line["id"] for line in replay(world, original).recall(query)["pinned"]] == [pin]
        assert [line["id"] for line in live_turn(world, agent).recall(query)["pinned"]] == [newer]


@rule("HI-5", "RL-2", "RC-3")
def test_keys_are_settled_as_they_were(world, agent):
    wide = world.remember(agent, "A fact for everyone.", memory_key="k", scope="agent")
    original = live_turn(world, agent)
    narrow = world.remember(agent, "A fact for this session.", memory_key="k")
    later = live_turn(world, agent)
    discard(world, agent, narrow)
    assert replay(world, original).shown("fact") == [wide]
    recalled = replay(world, later).recall("fact")
    assert [item["id"] for item in recalled["memories"]] == [narrow]
    assert recalled["overridden"] == [{"id": wide, "version": 1, "memory_key": "k", "by": narrow}]
    assert live_turn(world, agent).shown("fact") == [wide]


@rule("HI-5", "TL-1")
def test_a_replays_list_goes_on_page_by_page_and_its_cursor_serves_no_other_turn(world, agent):
    ids = [world.remember(agent, f"Fact {n}.") for n in range(5)]
    original = live_turn(world, agent)
    discard(world, agent, ids[2])
    world.remember(agent, "A fact since.")
    listed, after = [], None
    while True:
        page = replay(world, original).tool("search_memory", {"limit": 2, **({"after": after} if after else {})})
        listed += [m["id"] for m in page["memories"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert listed == ids[::-1]
    trial = live_turn(world, agent, preview=True)
    assert trial.refused("search_memory", {"after": after})["code"] == "invalid_cursor"


@rule("HI-5", "RK-8")
def test_of_a_place_that_held_more_than_is_looked_at_the_newest_are_ranked_and_the_answer_says_so(
    world, agent, monkeypatch
):
    monkeypatch.setattr(past_records, "LOOKED_AT", 3)
    ids = [world.remember(agent, f"Fact {n}.") for n in range(3)]
    whole = live_turn(world, agent)
    ids.append(world.remember(agent, "Fact 3."))
    original = live_turn(world, agent)
    discard(world, agent, ids[3])
    world.remember(agent, "A fact since.")
    assert replay(world, whole).recall("fact")["degraded"] is False
    again = replay(world, original)
    told = again.recall("fact")
    assert {item["id"] for item in told["memories"]} == set(ids[1:])
    assert (told["degraded"], told["degraded_reason"], told["ranked"]) == (True, "index_behind", 3)
    assert again.recall("")["degraded_reason"] == "index_behind"
    assert again.tool("search_memory", {})["degraded_reason"] == "index_behind"
    assert again.read(ids[0])["status"] == "ACTIVE"


@rule("HI-5", "RK-6")
def test_a_replay_does_not_need_the_index(world, agent):
    old = world.remember(agent, "A fact of old.")
    original = live_turn(world, agent)
    world.index.down = True
    searches = world.index.searches
    told = replay(world, original).recall("fact")
    assert ([item["id"] for item in told["memories"]], told["degraded"], told["ranked"]) == ([old], False, 1)
    assert world.index.searches == searches


@rule("HI-5", "RK-1", "RK-3")
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_a_replay_ranks_as_its_original_did(world, mode):
    agent = world.configure(memory={"search": {"min_score": -1, "mode": mode}})
    texts = ("The customer wants invoices by post.", "Invoices go out on Fridays.", "The kettle is green.")
    ids = [world.remember(agent, text) for text in texts]
    world.index_all()
    original = world.begin(agent)
    ranked = [
        {name: item[name] for name in ("id", "score", "cosine", "ranks")}
        for item in original.recall("invoices by post", explain=True)["memories"]
    ]
    discard(world, agent, ids[0])
    world.remember(agent, "A post about invoices.")
    again = replay(world, original).recall("invoices by post", explain=True)["memories"]
    assert [{name: item[name] for name in ranked[0]} for item in again] == ranked


# ---------------------------------------------------------------- preview


@rule("HI-5", "PV-1", "PV-2")
def test_of_preview_a_live_turns_replay_sees_nothing_but_what_it_stages_itself(world, agent):
    old, other = world.remember(agent, "A fact of old."), world.remember(agent, "Another fact.")
    tried = world.remember(agent, "A fact on trial.", turn={**WHO, "preview": True}, replaces=old)
    hiding = live_turn(world, agent, preview=True)
    hiding.remove(other)
    hiding.commit()
    again = replay(world, live_turn(world, agent))
    assert found(again) == [other, old]
    assert again.refused("read_memory", {"id": tried})["code"] == "not_found"
    mine = again.tool("add_memory", {"summary": "A fact of its own.", "kind": "fact", "replaces": other})["memories"][0]
    assert mine["preview"] is True
    assert set(again.search(limit=50)) == set(again.search("fact", limit=50)) == {mine["id"], old}


@rule("HI-5", "PV-2")
def test_a_preview_turns_replay_sees_preview_as_it_stood(world, agent):
    old, kept = world.remember(agent, "A fact of old."), world.remember(agent, "Another fact.")
    tried = world.remember(agent, "A fact on trial.", turn={**WHO, "preview": True}, replaces=old)
    original = live_turn(world, agent, preview=True)
    assert found(original) == [tried, kept]
    since = live_turn(world, agent, preview=True)
    since.remove(kept)
    newer = since.add("A fact on trial anew.", replaces=tried)
    since.commit()
    assert found(live_turn(world, agent, preview=True)) == [newer]
    again = replay(world, original)
    assert found(again) == [tried, kept]
    assert again.refused("read_memory", {"id": old})["code"] == "not_found"
    assert found(replay(world, again)) == [tried, kept]


@rule("HI-5", "PV-2")
def test_a_cover_that_was_committed_after_the_original_began_covers_nothing_of_it(world, agent):
    old = world.remember(agent, "A fact of old.")
    slow = live_turn(world, agent, preview=True)
    slow.add("A fact on trial.", replaces=old)
    original = live_turn(world, agent, preview=True)
    slow.commit()
    assert found(replay(world, original)) == [old]


@rule("HI-5", "PV-2")
def test_a_cover_outlives_its_record_in_a_replay_too(world, agent):
    old = world.remember(agent, "A fact of old.", scope="agent")
    soon = written(world.clock.now() + timedelta(hours=1))
    world.remember(
        agent, "A fact on trial.", turn={**WHO, "preview": True}, replaces=old, expires_at=soon, scope="agent"
    )
    original = live_turn(world, agent, preview=True)
    world.clock.advance(hours=2)
    remove_expired(world.services, lambda: True)
    assert found(replay(world, original)) == []


# ---------------------------------------------------------------- whatever was there, and whatever happened since


OPS = st.lists(
    st.tuples(
        st.sampled_from(["save", "key", "pin", "bind", *["replace", "remove"] * 3, "leave open", "restore"]),
        st.sampled_from(["session", "user", "agent"]),
        st.booleans(),  # of preview
        st.integers(0, 20),  # which of the records that there are
    ),
    min_size=2,
    max_size=7,
)


def happen(world, agent, known, ops):
    """Carries out what can be; gives the turns that were left open with what they have staged."""
    left = []
    for op, scope, preview, at in ops:
        target = known[at % len(known)] if known else None
        turn = live_turn(world, agent, preview=preview)
        summary = f"Fact {len(known)}."
        fields = {"key": {"memory_key": "k"}, "pin": {"pinned": True}, "bind": {"kind": "constraint"}}.get(op, {})
        if op == "restore" and target:
            with suppress(AgentMemoryError):
                restore(world, agent, target)
        elif op == "remove" and target:
            turn.call("delete_memory", {"id": target})
        elif op == "replace" and target:
            answer = turn.call("add_memory", {"summary": summary, "kind": "fact", "replaces": target, "scope": "agent"})
            known += [m["id"] for m in answer.get("output", {}).get("memories", ())]
        else:
            answer = turn.call("add_memory", {"summary": summary, "kind": "fact", "scope": scope, **fields})
            known += [m["id"] for m in answer.get("output", {}).get("memories", ())]
        left += [turn] if op == "leave open" else []
        if op != "leave open":
            turn.commit()
    return left


def seen_by(turn):
    listed = turn.tool("search_memory", {"limit": 50})["memories"]
    ranked = turn.tool("search_memory", {"limit": 50, "query": "fact"})
    recalled = turn.recall("fact")
    recalled = {name: recalled[name] for name in ("memories", "constraints", "pinned", "overridden", "instructions")}
    shown = [{**item, "seen": False} for item in recalled.pop("memories")]
    bound = [{**item, "seen": False} for item in recalled.pop("constraints")]
    return listed, ranked["memories"], shown, bound, recalled


@rule("HI-5", "SC-2", "PV-2", "RL-1", "RL-2", "PN-1")
@given(before=OPS, since=OPS, preview=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_replay_sees_what_its_original_saw_whatever_has_happened_since(tmp_path_factory, before, since, preview):
    with one_machine(tmp_path_factory.mktemp("w")) as world:
        kinds = {"kinds": ["fact", "constraint"], "pinned": {"max_tokens": 500}}
        agent = world.configure(memory={**kinds, "search": {"min_score": -1, "max_results": 50}})
        known = []
        left = happen(world, agent, known, before)
        original = live_turn(world, agent, preview=preview)
        saw = seen_by(original)
        for turn in left:
            turn.commit()
        happen(world, agent, known, since)
        assert seen_by(replay(world, original)) == saw


# ---------------------------------------------------------------- what it stages, and what comes of it


@rule("HI-5", "TU-3", "PV-3")
def test_what_a_replay_stages_it_sees_over_the_records_of_then(world, agent):
    replaced, deleted = world.remember(agent, "A fact of old."), world.remember(agent, "A fact gone.")
    original = live_turn(world, agent)
    turn = world.begin(agent)
    turn.add("A fact anew.", replaces=replaced)
    turn.remove(deleted)
    turn.commit()
    again = replay(world, original)
    new = again.add("A fact tried.", replaces=replaced)
    view = again.remove(deleted)
    assert (view["status"], view["preview"], view["replaces"]) == ("DELETED", True, [deleted])
    assert again.remove(deleted)["id"] == view["id"]
    assert again.search(limit=50) == again.search("fact", limit=50) == [new]
    assert again.shown("fact") == []
    assert again.refused("read_memory", {"id": replaced})["code"] == "not_found"
    assert again.read(new)["replaces"] == [replaced]


@rule("HI-5", "RC-3", "TU-3")
def test_a_key_is_taken_from_who_held_it_then(world, agent):
    held = world.remember(agent, "A fact of old.", memory_key="k")
    original = live_turn(world, agent)
    world.remember(agent, "A fact anew.", memory_key="k")
    again = replay(world, original)
    new = again.add("A fact tried.", memory_key="k")
    assert again.read(new)["replaces"] == [held]
    assert again.search() == [new]
    assert again.shown("fact") == []


@rule("HI-5", "PN-2")
def test_a_pin_is_counted_against_the_list_of_then(world):
    agent = world.configure(memory={"pinned": {"max_tokens": 30}})
    original = world.begin(agent)
    world.remember(agent, "A fact that fills the list of pins, nearly.", pinned=True)
    again = replay(world, original)
    saved = again.add("Another that fills the list of pins, nearly.", pinned=True)
    assert again.read(saved)["pinned"] is True
    assert (
        live_turn(world, agent).refused(
            "add_memory", {"summary": "A third that fills the list of pins.", "kind": "fact", "pinned": True}
        )["code"]
        == "pin_over_budget"
    )


@rule("HI-5", "TL-2")
def test_an_equal_record_that_it_does_not_see_is_no_duplicate(world, agent):
    original = live_turn(world, agent)
    first = replay(world, original)
    one = first.add("A fact tried.")
    first.commit()
    second = replay(world, original)
    answer = second.tool("add_memory", {"summary": "A fact tried.", "kind": "fact"})
    assert answer["duplicate"] is False
    assert second.tool("add_memory", {"summary": "A fact tried.", "kind": "fact"})["duplicate"] is True
    assert answer["memories"][0]["id"] != one


@rule("HI-5", "PV-1", "PV-4")
def test_what_a_replay_commits_is_preview_and_leaves_live_turns_as_they_were(world, agent):
    old = world.remember(agent, "A fact of old.")
    original = live_turn(world, agent)
    original.commit()
    before = record_of(world, agent, old)
    again = replay(world, original)
    new = again.add("A fact tried.", replaces=old)
    state = again.commit()
    assert (state["status"], [m["preview"] for m in state["memories"]], state["conflicts"]) == ("committed", [True], [])
    assert record_of(world, agent, old) == before
    assert found(live_turn(world, agent)) == [old]
    assert found(live_turn(world, agent, preview=True)) == [new]
    assert found(replay(world, original)) == [old]


@rule("HI-5", "TU-8")
def test_a_commit_meets_the_records_as_they_are_now(world, agent):
    replaced, deleted = world.remember(agent, "A fact of old."), world.remember(agent, "A fact gone.")
    original = live_turn(world, agent)
    turn = world.begin(agent)
    heir = turn.add("A fact anew.", replaces=replaced)
    turn.remove(deleted)
    turn.commit()
    again = replay(world, original)
    new = again.add("A fact tried.", replaces=[replaced, deleted])
    state = again.commit()
    assert [(c["target"], c["outcome"]) for c in state["conflicts"]] == [
        (replaced, "retargeted"),
        (deleted, "saved_alone"),
    ]
    assert record_of(world, agent, new).replaces == (heir,)
    assert record_of(world, agent, heir).version == 1
    assert found(live_turn(world, agent, preview=True)) == [new]


@rule("HI-5", "TU-8", "PV-3")
def test_preview_records_that_have_changed_since_stand_in_no_replays_way(world, agent):
    tried = world.remember(agent, "A fact on trial.", turn={**WHO, "preview": True})
    original = live_turn(world, agent, preview=True)
    since = live_turn(world, agent, preview=True)
    since.remove(tried)
    since.commit()
    again = replay(world, original)
    again.remove(tried)
    new = again.add("A fact tried again.")
    state = again.commit()
    assert state["status"] == "committed"
    assert [m["id"] for m in state["memories"]] == [new]
    assert record_of(world, agent, tried).version == 2


# ---------------------------------------------------------------- what was shown


@rule("HI-5", "RL-5")
def test_a_replay_begins_with_nothing_shown_and_marks_nothing_as_shown(world, agent):
    old = world.remember(agent, "A fact of old.", turn={**WHO, "preview": True})
    shown = live_turn(world, agent, preview=True)
    assert shown.recall("fact")["memories"][0]["seen"] is False
    shown.commit()
    later = live_turn(world, agent, preview=True)
    again = replay(world, later)
    told = again.recall("fact")
    assert [(item["id"], item["seen"]) for item in told["memories"]] == [(old, False)]
    assert told["recorded"] is True
    assert again.recall("fact")["recorded"] is False
    assert later.recall("fact")["memories"][0]["seen"] is True


@rule("HI-5", "RL-5")
def test_what_a_committed_replay_was_shown_its_session_was_not(world, agent):
    world.remember(agent, "A fact of old.")
    again = replay(world, live_turn(world, agent))
    again.recall("fact")
    again.commit()
    for preview in (False, True):
        assert live_turn(world, agent, preview=preview).recall("fact")["memories"][0]["seen"] is False


# ---------------------------------------------------------------- history


def say(turn, text):
    add_messages(turn.world.services, turn.agent, turn.id, [UserMessage(role="user", text=text)])


def told(world, agent, text, **fields):
    turn = live_turn(world, agent, **fields)
    say(turn, text)
    turn.commit()
    return turn


def heard(turn):
    """What the history of the turn's session holds of lockers."""
    events = turn.tool("search_history", {"query": "locker", "limit": 50})["events"]
    by_id = turn.tool("search_history", {"ids": [event["id"] for event in events]})["events"] if events else []
    assert [event["id"] for event in by_id] == [event["id"] for event in events]
    return {event["text"].split("\n")[1] for event in events}


@pytest.fixture
def listener(world):
    return world.configure(history={"index": "messages"}, memory={"search": {"mode": "lexical"}})


@rule("HI-5", "HI-2")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_replay_searches_what_had_been_committed_when_its_original_began(world, listener, indexed):
    told(world, listener, "The locker is blue.")
    slow = live_turn(world, listener)
    say(slow, "The locker is at the depot.")
    original = live_turn(world, listener)
    say(original, "The locker is mine.")
    original.commit()
    slow.commit()
    told(world, listener, "The locker is open.")
    if indexed:
        world.index_all()
    again = replay(world, original)
    assert heard(again) == {"The locker is blue."}
    again.roll_back()
    assert heard(world.begin(listener, None, retry_of=again.id)) == {"The locker is blue."}
    assert heard(replay(world, again)) == {"The locker is blue."}
    assert len(heard(live_turn(world, listener))) == 4


@rule("HI-5", "TU-6")
def test_an_attempt_that_began_later_saw_more_and_so_does_its_replay(world, listener):
    slow = live_turn(world, listener)
    say(slow, "The locker is blue.")
    first = live_turn(world, listener)
    slow.commit()
    second = world.begin(listener, None, retry_of=first.id)
    assert heard(replay(world, first)) == set()
    assert heard(replay(world, second)) == {"The locker is blue."}


@rule("HI-5", "PV-4")
def test_of_what_preview_turns_said_a_replay_hears_what_its_original_heard(world, listener):
    told(world, listener, "The locker is blue.")
    told(world, listener, "The locker is on trial.", preview=True)
    live, preview = live_turn(world, listener), live_turn(world, listener, preview=True)
    assert heard(replay(world, live)) == {"The locker is blue."}
    assert heard(replay(world, preview)) == {"The locker is blue.", "The locker is on trial."}


@rule("HI-5", "TU-1")
def test_a_replay_adds_nothing_to_the_history(world, listener):
    original = told(world, listener, "The locker is blue.")
    again = replay(world, original)
    say(again, "The locker is green.")
    assert again.commit()["history_events"] == 0
    world.index_all()
    for preview in (False, True):
        assert heard(live_turn(world, listener, preview=preview)) == {"The locker is blue."}
