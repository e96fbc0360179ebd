"""RC-3: no place ever has two live records of one memory_key, whatever turns do at once."""

import pytest
from people import discard, record_of, restore

from agent_memory.domain.errors import Conflict

rule = pytest.mark.rule
KEY = "invoice.delivery"
WITH_RULES = {"kinds": ["fact", "constraint"]}


def status(world, agent, id):
    record = record_of(world, agent, id)
    return record.status.value, record.replaced_by


def active(world, agent, session="s1", **turn):
    return world.begin(agent, session, **turn).search(limit=50)


@rule("RC-3", "RC-5")
def test_a_commit_takes_the_key_over_and_both_records_say_so(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    turn = world.begin(agent)
    view = turn.tool("add_memory", {"summary": "Invoices by post.", "kind": "fact", "memory_key": KEY})["memories"][0]
    assert (view["replaces"], view["memory_key"]) == ([old], KEY)
    assert turn.search() == [view["id"]]
    assert active(world, agent) == [old]  # others see it once it is committed
    assert turn.commit()["conflicts"] == []
    assert active(world, agent) == [view["id"]]
    assert status(world, agent, old) == ("SUPERSEDED", view["id"])


@rule("RC-3")
def test_a_key_is_held_by_scope_owner_and_agent_and_compared_to_the_character(world):
    agent, other = world.configure(), world.configure()
    who = {"user_id": "u1", "workflow_id": "w1"}
    ids = [
        world.remember(agent, "In the session.", memory_key=KEY),
        world.remember(agent, "In another session.", "s2", memory_key=KEY),
        world.remember(agent, "Of the user.", turn=who, scope="user", memory_key=KEY),
        world.remember(agent, "Of the workflow.", turn=who, scope="workflow", memory_key=KEY),
        world.remember(agent, "Of the agent.", scope="agent", memory_key=KEY),
        world.remember(agent, "Of another case.", memory_key=KEY.upper()),
        world.remember(agent, "With the key's own marks.", memory_key=f"K#{KEY}%23"),
        world.remember(agent, "Another with its own marks.", memory_key=f"K#{KEY}#"),
    ]
    foreign = world.remember(other, "Of another agent.", memory_key=KEY)
    assert {status(world, agent, id) for id in ids} == {("ACTIVE", None)}
    assert status(world, other, foreign) == ("ACTIVE", None)


@rule("RC-3", "TU-8")
def test_of_two_turns_that_take_a_key_at_once_the_later_commit_has_it_and_says_from_whom(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    slow, fast = world.begin(agent), world.begin(agent)
    late, early = (
        turn.add(summary, memory_key=KEY)
        for turn, summary in ((slow, "Invoices by post."), (fast, "Invoices by e-mail."))
    )
    assert fast.commit()["conflicts"] == []
    assert slow.search() == [late]  # its own view applies this already
    ended = slow.commit()
    current = {"id": early, "version": 1, "status": "ACTIVE"}
    conflict = {"change": "key", "id": late, "target": early, "outcome": "retargeted", "current": current}
    assert ended["conflicts"] == [conflict]
    (event,) = slow.transcript("conflict")
    assert {name: event[name] for name in conflict} == conflict
    assert [status(world, agent, id) for id in (old, early, late)] == [
        ("SUPERSEDED", early),
        ("SUPERSEDED", late),
        ("ACTIVE", None),
    ]
    assert record_of(world, agent, late).replaces == (early,)


@rule("RC-3", "TU-8")
def test_two_turns_that_bring_a_key_that_nobody_had_leave_one_holder(world):
    agent = world.configure()
    turns = [world.begin(agent) for _ in range(3)]
    ids = [turn.add(f"Invoices by way {n}.", memory_key=KEY) for n, turn in enumerate(turns)]
    assert [len(turn.commit()["conflicts"]) for turn in turns] == [0, 1, 1]
    assert active(world, agent) == [ids[-1]]


@rule("RC-3", "TU-8")
def test_a_replace_and_a_key_that_meet_the_same_record_meet_it_once(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    slow, fast = world.begin(agent), world.begin(agent)
    new = slow.add("Invoices by post.", replaces=old, memory_key=KEY)
    heir = fast.add("Invoices by e-mail.", replaces=old, memory_key=KEY)
    fast.commit()
    ended = slow.commit()
    assert [(c["change"], c["target"], c["outcome"]) for c in ended["conflicts"]] == [("replace", old, "retargeted")]
    assert record_of(world, agent, new).replaces == (heir,)


def deleted(world, agent, id):
    turn = world.begin(agent)
    turn.remove(id)
    turn.commit()


def superseded(world, agent, id):
    world.remember(agent, "Something else instead.", replaces=id)


def expired(world, agent, id):
    world.clock.advance(hours=1)


@rule("RC-3", "LC-1")
@pytest.mark.parametrize("end", [deleted, superseded, expired])
def test_what_is_no_longer_active_holds_no_key(world, end):
    agent = world.configure(memory=WITH_RULES)
    lasts = (world.clock.now().replace(microsecond=0)).replace(minute=30).isoformat()
    old = world.remember(agent, "Invoices by fax.", kind="constraint", memory_key=KEY, expires_at=lasts)
    end(world, agent, old)
    turn = world.begin(agent)
    new = turn.add("Invoices by post.", memory_key=KEY)
    ended = turn.commit()
    assert (ended["conflicts"], record_of(world, agent, new).replaces) == ([], ())
    assert record_of(world, agent, new).memory_key == KEY
    assert status(world, agent, new) == ("ACTIVE", None)


@rule("RC-3")
def test_a_broader_kind_keeps_its_key_and_the_refusal_names_it(world):
    agent = world.configure(memory=WITH_RULES)
    held = world.remember(agent, "Never by fax.", kind="constraint", memory_key=KEY)
    turn = world.begin(agent)
    error = turn.refused("add_memory", {"summary": "By fax.", "kind": "fact", "memory_key": KEY})
    assert (error["code"], error["argument"], error["details"]) == ("key_held", "memory_key", {"id": held})
    assert turn.search() == [held]
    new = turn.add("By fax, as agreed.", replaces=held, memory_key=KEY)
    assert turn.commit()["conflicts"] == []
    assert status(world, agent, held) == ("SUPERSEDED", new)


@rule("RC-3")
def test_a_holder_that_the_turn_does_not_see_keeps_its_key_and_none_of_its_text_is_told(world):
    """What is written and not read: the key is held there all the same."""
    scope = {"read": ["session"], "write": ["session", "agent"]}
    agent = world.configure(memory={**WITH_RULES, "scope": scope})
    world.remember(agent, "Never by fax.", kind="constraint", scope="agent", memory_key=KEY)
    add = {"summary": "By fax.", "kind": "fact", "scope": "agent", "memory_key": KEY}
    error = world.begin(agent).refused("add_memory", add)
    assert (error["code"], error["argument"]) == ("key_held", "memory_key")
    assert "fax" not in str(error)


@rule("RC-3", "TU-8")
def test_a_key_that_a_broader_kind_has_taken_meanwhile_stays_there_and_the_record_is_saved_without(world):
    agent = world.configure(memory=WITH_RULES)
    slow, fast = world.begin(agent), world.begin(agent)
    new = slow.add("By fax.", memory_key=KEY)
    held = fast.add("Never by fax.", kind="constraint", memory_key=KEY)
    fast.commit()
    ended = slow.commit()
    current = {"id": held, "version": 1, "status": "ACTIVE"}
    conflict = {"change": "key", "id": new, "target": held, "outcome": "nothing", "current": current}
    assert ended["conflicts"] == [conflict]
    assert slow.transcript("conflict")[0]["outcome"] == "nothing"
    assert {status(world, agent, id) for id in (new, held)} == {("ACTIVE", None)}
    assert record_of(world, agent, new).memory_key is None
    assert world.begin(agent).read(new)["memory_key"] is None


@rule("RC-3", "GR-8")
def test_a_key_given_back_by_a_deletion_is_taken_again_and_a_restore_does_not_take_it_from_the_new_holder(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    discard(world, agent, old)
    new = world.remember(agent, "Invoices by post.", memory_key=KEY)
    with pytest.raises(Conflict) as refused:
        restore(world, agent, old)
    assert (refused.value.code, refused.value.current["id"]) == ("key_held", new)
    discard(world, agent, new)
    assert restore(world, agent, old).memory_key == KEY
    later = world.remember(agent, "Invoices by pigeon.", memory_key=KEY)
    assert status(world, agent, old) == ("SUPERSEDED", later)


@rule("RC-3", "GR-8")
def test_a_restored_record_takes_its_key_back_from_what_had_replaced_it(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    new = world.remember(agent, "Invoices by post.", memory_key=KEY)
    restore(world, agent, old)
    assert status(world, agent, new) == ("SUPERSEDED", old)
    third = world.remember(agent, "Invoices by pigeon.", memory_key=KEY)
    assert record_of(world, agent, third).replaces == (old,)
    assert active(world, agent) == [third]


@rule("TU-8", "RC-3", "RC-6")
def test_a_keyed_save_that_its_own_turn_deletes_leaves_the_former_holder_superseded_and_the_key_free(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    turn = world.begin(agent)
    new = turn.add("Invoices by post.", memory_key=KEY)
    turn.remove(new)
    assert turn.search() == []
    turn.commit()
    assert [status(world, agent, id) for id in (old, new)] == [("SUPERSEDED", new), ("DELETED", None)]
    assert active(world, agent) == []
    third = world.remember(agent, "Invoices by pigeon.", memory_key=KEY)
    assert record_of(world, agent, third).replaces == ()


@rule("TU-1", "RC-3")
def test_a_turn_that_is_rolled_back_takes_no_key(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    turn = world.begin(agent)
    turn.add("Invoices by post.", memory_key=KEY)
    turn.roll_back()
    assert status(world, agent, old) == ("ACTIVE", None)
    new = world.remember(agent, "Invoices by e-mail.", memory_key=KEY)
    assert record_of(world, agent, new).replaces == (old,)


@rule("RC-3", "PV-3")
def test_preview_and_live_records_hold_a_key_beside_each_other(world):
    agent = world.configure()
    live = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    trial = {"turn": {"preview": True}}
    first = world.remember(agent, "Invoices by post.", memory_key=KEY, **trial)
    assert record_of(world, agent, first).replaces == (live,)
    second = world.remember(agent, "Invoices by e-mail.", memory_key=KEY, **trial)
    assert record_of(world, agent, second).replaces == (first,)  # the live one is hidden: it needs no second cover
    assert status(world, agent, live) == ("ACTIVE", None)
    assert status(world, agent, first) == ("SUPERSEDED", second)
    newer = world.remember(agent, "Invoices by pigeon.", memory_key=KEY)
    assert status(world, agent, second) == ("ACTIVE", None)
    assert record_of(world, agent, newer).replaces == (live,)
    assert active(world, agent) == [newer]
    assert active(world, agent, preview=True) == [newer, second]
    third = world.remember(agent, "Invoices by drone.", memory_key=KEY, **trial)
    assert record_of(world, agent, third).replaces == (second, newer)
    assert active(world, agent, preview=True) == [third]
    assert active(world, agent) == [newer]


@rule("RC-3")
def test_a_turn_tells_of_the_record_that_took_a_key_and_names_the_former_holder_in_it(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by fax.", memory_key=KEY)
    turn = world.begin(agent)
    new = turn.add("Invoices by post.", memory_key=KEY)
    memories = turn.commit()["memories"]
    assert [(m["id"], m["replaces"]) for m in memories] == [(new, [old])]
    (event,) = turn.transcript("turn.committed")
    assert event["memories"] == [{"id": new, "version": 1}]
