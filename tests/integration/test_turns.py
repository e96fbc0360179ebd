"""Turns over both editions: staged, seen by the turn itself, real with the commit or not at all (TU, TL, SC, RC)."""

from datetime import timedelta

import pytest

from agent_memory.domain.errors import Conflict, NotAllowed, NotFound
from agent_memory.domain.times import written
from agent_memory.operations import memories
from agent_memory.operations.memories import list_memories, read_memory, versions
from agent_memory.operations.record_filters import Filters

rule = pytest.mark.rule


@rule("TU-1", "TU-3")
def test_what_a_turn_stages_is_seen_by_its_searches_and_by_no_recall_and_no_other_turn(world):
    agent = world.configure()
    turn, other = world.begin(agent), world.begin(agent)
    saved = turn.add("The customer wants invoices by post.")
    assert turn.search("invoices") == turn.search() == [saved]
    assert turn.read(saved)["status"] == "ACTIVE"
    assert turn.shown("invoices") == []
    assert other.search("invoices") == other.search() == other.shown("invoices") == []
    assert other.refused("read_memory", {"id": saved})["code"] == "not_found"


@rule("TU-4", "TU-1", "RK-5")
def test_from_its_commit_on_a_record_is_seen_by_all_also_by_turns_that_were_open_already(world):
    agent = world.configure()
    turn, other = world.begin(agent), world.begin(agent)
    saved = turn.add("The customer wants invoices by post.")
    committed = turn.commit()
    assert [m["id"] for m in committed["memories"]] == [saved]
    for _ in range(2):  # before the index has it, and after
        assert other.search("invoices") == other.search() == other.shown("invoices") == [saved]
        assert other.read(saved)["id"] == saved
        assert [m["id"] for m in list_memories(world.services, agent, Filters())["memories"]] == [saved]
        world.index_all()


@rule("TU-1", "TU-2")
def test_a_turn_that_is_rolled_back_leaves_nothing_but_its_transcript(world):
    agent = world.configure()
    old = world.remember(agent, "The old address.")
    turn = world.begin(agent)
    turn.add("The new address.", replaces=old)
    turn.remove(old)
    assert turn.roll_back()["status"] == "rolled_back"
    look = world.begin(agent)
    assert look.search() == look.search("address") == look.shown("address") == [old]
    assert [
        m["id"] for m in list_memories(world.services, agent, Filters(statuses=("ACTIVE", "DELETED")))["memories"]
    ] == [old]
    assert [e["type"] for e in turn.transcript()] == ["execution", "usage", "execution", "turn.rolled_back"]


@rule("TU-3")
def test_recall_leaves_out_at_once_what_the_turn_has_staged_to_go(world):
    agent = world.configure()
    old, gone = world.remember(agent, "Invoices by post."), world.remember(agent, "Invoices by fax.")
    world.index_all()
    turn = world.begin(agent)
    new = turn.add("Invoices by mail.", replaces=old)
    turn.remove(gone)
    assert turn.shown("invoices") == []
    assert turn.search("invoices") == turn.search() == [new]
    assert set(world.recall(agent, "invoices")) == {old, gone}
    assert turn.read(old)["status"] == "SUPERSEDED"
    assert turn.read(old)["replaced_by"] == new
    assert turn.read(gone)["status"] == "DELETED"


@rule("RC-5", "RC-6", "TL-3", "GR-4")
def test_a_replaced_record_stays_readable_with_its_versions(world):
    agent = world.configure()
    old = world.remember(agent, "Invoices by post.")
    turn = world.begin(agent)
    new = turn.add("Invoices by mail.", replaces=old)
    turn.commit()
    was = read_memory(world.services, agent, old)
    assert (was["status"], was["replaced_by"], was["version"]) == ("SUPERSEDED", new, 2)
    assert was["written_by"]["turn_id"] == turn.id
    both = versions(world.services, agent, old)["versions"]
    assert [(v["version"], v["status"]) for v in both] == [(2, "SUPERSEDED"), (1, "ACTIVE")]
    look = world.begin(agent)
    assert look.read(old)["status"] == "SUPERSEDED"
    assert look.search("invoices") == look.shown("invoices") == [new]
    assert look.refused("add_memory", {"summary": "By fax.", "kind": "fact", "replaces": old})["details"] == {
        "status": "SUPERSEDED",
        "replaced_by": new,
    }


@rule("RC-6", "TL-4")
def test_deleting_twice_gives_one_version_and_the_record_leaves_every_list_at_once(world):
    agent = world.configure()
    saved = world.remember(agent, "Invoices by post.")
    world.index_all()
    turn = world.begin(agent)
    first, second = turn.remove(saved), turn.remove(saved)
    assert (first["status"], first["version"]) == (second["status"], second["version"]) == ("DELETED", 2)
    turn.commit()
    look = world.begin(agent)
    assert look.search("invoices") == look.search() == look.shown("invoices") == []  # however far the index lags
    assert read_memory(world.services, agent, saved)["version"] == 2
    assert look.remove(saved)["version"] == 2


@rule("TU-8")
def test_a_replace_whose_target_another_turn_replaced_replaces_what_took_its_place(world):
    agent = world.configure()
    old = world.remember(agent, "Tuesday.")
    slow, fast = world.begin(agent), world.begin(agent)
    mine = slow.add("Wednesday.", replaces=old)
    theirs = fast.add("Thursday.", replaces=old)
    fast.commit()
    assert slow.read(mine)["replaces"] == [theirs]  # the turn's own view applies it as of now
    committed = slow.commit()
    assert [(c["change"], c["outcome"], c["target"]) for c in committed["conflicts"]] == [
        ("replace", "retargeted", old)
    ]
    assert committed["conflicts"][0]["current"] == {"id": theirs, "version": 1, "status": "ACTIVE"}
    assert [e["type"] for e in slow.transcript("conflict", "turn.committed")] == ["conflict", "turn.committed"]
    assert world.begin(agent).search() == [mine]


@rule("TU-8")
def test_a_replace_whose_target_was_deleted_or_expired_saves_the_new_record_alone(world):
    agent = world.configure()
    deleted = world.remember(agent, "Tuesday.")
    expiring = world.remember(agent, "Friday.", expires_at=written(world.clock.now() + timedelta(hours=1)))
    turn = world.begin(agent)
    new = turn.add("Wednesday.", replaces=[deleted, expiring])
    other = world.begin(agent)
    other.remove(deleted)
    other.commit()
    world.clock.advance(hours=2)
    committed = turn.commit()
    assert [(c["target"], c["outcome"]) for c in committed["conflicts"]] == [
        (deleted, "saved_alone"),
        (expiring, "saved_alone"),
    ]
    assert read_memory(world.services, agent, new)["replaces"] == []


@rule("TU-8")
def test_a_delete_whose_target_was_replaced_changes_nothing(world):
    agent = world.configure()
    old = world.remember(agent, "Tuesday.")
    turn, other = world.begin(agent), world.begin(agent)
    turn.remove(old)
    new = other.add("Wednesday.", replaces=old)
    other.commit()
    committed = turn.commit()
    assert [(c["change"], c["id"], c["target"], c["outcome"]) for c in committed["conflicts"]] == [
        ("delete", old, old, "nothing")
    ]
    assert committed["memories"] == []
    assert read_memory(world.services, agent, old)["replaced_by"] == new


@rule("TU-2")
def test_the_first_outcome_stands(world):
    agent = world.configure()
    turn = world.begin(agent)
    turn.add("Tuesday.")
    committed = turn.commit()
    assert turn.commit() == committed
    with pytest.raises(Conflict) as differs:
        turn.roll_back()
    assert differs.value.code == "outcome_differs"
    for late in (lambda: turn.call("search_memory"), lambda: turn.recall("x")):
        with pytest.raises(Conflict) as closed:
            late()
        assert closed.value.code == "turn_not_open"


@rule("TU-6")
def test_a_retry_keeps_the_number_and_rolls_an_open_attempt_back(world):
    agent = world.configure()
    first = world.begin(agent, user_id="u-1")
    first.add("Learned by the first attempt.")
    second = world.begin(agent, None, retry_of=first.id)
    assert (first.state()["status"], first.state()["reason"]) == ("rolled_back", "superseded")
    state = second.state()
    assert (state["number"], state["attempt"], state["session_id"], state["user_id"]) == (1, 2, "s1", "u-1")
    with pytest.raises(Conflict, match="rolled_back"):
        first.call("add_memory", {"summary": "Too late.", "kind": "fact"})
    third = world.begin(agent, None, retry_of=first.id)  # any attempt may be named; the newest decides
    assert third.state()["attempt"] == 3
    assert second.state()["reason"] == "superseded"
    third.commit()
    for attempt in (first, second, third):
        with pytest.raises(Conflict) as refused:
            world.begin(agent, None, retry_of=attempt.id)
        assert refused.value.code == "not_retryable"
    assert world.begin(agent).search() == []


@rule("TU-6")
@pytest.mark.parametrize("other", [{"session_id": "s2"}, {"user_id": "u-2"}, {"workflow_id": "w"}])
def test_a_retry_for_somebody_else_is_refused(world, other):
    agent = world.configure()
    first = world.begin(agent, "s1", user_id="u-1")
    with pytest.raises(NotAllowed) as refused:
        world.begin(
            agent, other.get("session_id"), **{k: v for k, v in other.items() if k != "session_id"}, retry_of=first.id
        )
    assert refused.value.code == "retry_mismatch"
    assert first.state()["status"] == "open"


@rule("TU-7", "TU-9")
def test_turns_of_a_session_are_numbered_and_those_without_a_session_are_not(world):
    agent, without = (
        world.configure(),
        world.configure(sessions=False, memory={"scope": {"read": ["agent"], "write": ["agent"]}}),
    )
    assert [world.begin(agent).state()["number"] for _ in range(3)] == [1, 2, 3]
    assert world.begin(agent, "s2").state()["number"] == 1
    assert world.begin(without, None).state()["number"] is None
    for wrong, code in (((agent, None), "session_required"), ((without, "s1"), "session_not_allowed")):
        with pytest.raises(NotAllowed) as refused:
            world.begin(*wrong)
        assert refused.value.code == code


@rule("TU-5")
def test_tools_make_fifteen_changes_and_the_sixteenth_is_refused(world):
    agent = world.configure()
    old = world.remember(agent, "Old.")
    turn = world.begin(agent)
    turn.add("One change and one more.", replaces=old)
    for n in range(13):
        turn.add(f"Fact {n}.")
    assert turn.refused("delete_memory", {"id": old})["code"] == "turn_full"
    assert turn.refused("add_memory", {"summary": "Too much.", "kind": "fact"})["code"] == "turn_full"
    assert len(turn.commit()["memories"]) == 14


@rule("SC-1", "SC-2")
def test_a_record_is_seen_where_its_scope_and_owner_say_and_nowhere_else(world):
    agent, stranger = world.configure(), world.configure()
    who = {"user_id": "u-1", "workflow_id": "w-1"}
    saved = {
        scope: world.remember(agent, f"A {scope} note.", turn=who, scope=scope)
        for scope in ("session", "workflow", "user", "agent")
    }
    seen = {
        ("s1", "w-1", "u-1"): {"session", "workflow", "user", "agent"},
        ("s2", "w-1", None): {"workflow", "agent"},
        ("s2", None, "u-1"): {"user", "agent"},
        ("s1", "w-2", "u-2"): {"session", "agent"},
        ("s2", None, None): {"agent"},
    }
    for (session, workflow, user), scopes in seen.items():
        turn = world.begin(agent, session, workflow_id=workflow, user_id=user)
        expected = {saved[scope] for scope in scopes}
        assert set(turn.search("note", limit=50)) == set(turn.search()) == set(turn.shown("note")) == expected
        for scope, id in saved.items():
            assert (turn.tool("search_memory", {"ids": [id]})["missing"] == []) == (scope in scopes)
    turn = world.begin(stranger, "s1", **who)
    assert turn.search("note") == turn.search() == turn.shown("note") == []
    for id in saved.values():
        for tool in ("read_memory", "delete_memory"):
            assert turn.refused(tool, {"id": id})["code"] == "not_found"
        with pytest.raises(NotFound):
            read_memory(world.services, stranger, id)


@rule("CF-2", "TL-2", "TL-4")
def test_what_is_written_and_not_read_is_not_seen_by_the_turn_that_wrote_it_either(world):
    agent = world.configure(memory={"scope": {"read": ["session"], "write": ["session", "agent"]}})
    turn = world.begin(agent)
    hidden = turn.add("For every session.", scope="agent")
    assert turn.search() == []
    assert turn.refused("read_memory", {"id": hidden})["code"] == "not_found"
    turn.commit()
    look = world.begin(agent)
    for tool, input in (
        ("delete_memory", {"id": hidden}),
        ("add_memory", {"summary": "x", "kind": "fact", "replaces": hidden}),
    ):
        assert look.refused(tool, input)["code"] == "not_found"


@rule("SC-3", "SC-5")
def test_nothing_lands_in_a_broader_scope_because_an_id_was_missing(world):
    agent = world.configure(memory={"scope": {"read": ["user", "agent"], "write": ["agent", "user"]}})
    turn = world.begin(agent)  # for no user
    for scope in ({}, {"scope": "user"}):
        refused = turn.refused("add_memory", {"summary": "Invoices by post.", "kind": "fact", **scope})
        assert (refused["code"], refused["argument"]) == ("scope_not_allowed", "scope")
        assert "agent" in refused["message"]
    turn.add("Chosen by name.", scope="agent")
    assert [record["id"] for record in turn.commit()["memories"]] == world.begin(agent).search()
    assert read_memory(world.services, agent, world.begin(agent).search()[0])["scope"] == "agent"
    for_a_user = world.remember(agent, "Invoices by mail.", turn={"user_id": "u-1"})
    assert read_memory(world.services, agent, for_a_user)["scope"] == "user"  # the narrowest that is written


@rule("TL-2")
def test_a_record_cannot_replace_one_of_a_broader_scope(world):
    agent = world.configure()
    broad = world.remember(agent, "For all.", scope="agent")
    turn = world.begin(agent)
    refused = turn.refused("add_memory", {"summary": "For me.", "kind": "fact", "replaces": broad})
    assert (refused["code"], refused["details"]["scope"]) == ("broader_target", "agent")
    assert turn.search() == [broad]


@rule("TL-2")
def test_an_equal_call_writes_nothing_and_answers_the_record_there_is(world):
    agent = world.configure()
    same = {"summary": "Invoices by post.", "kind": "fact", "content": "Said in May."}
    turn = world.begin(agent)
    first = turn.tool("add_memory", same)
    again = turn.tool("add_memory", same)
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert first["memories"][0]["id"] == again["memories"][0]["id"]
    turn.commit()
    look = world.begin(agent)
    assert look.tool("add_memory", same)["memories"][0]["id"] == first["memories"][0]["id"]
    assert look.tool("add_memory", {**same, "priority": 60})["duplicate"] is False
    assert look.tool("add_memory", {**same, "scope": "agent"})["duplicate"] is False
    look.remove(first["memories"][0]["id"])
    assert look.tool("add_memory", same)["duplicate"] is False


@rule("TL-2", "TU-8")
def test_of_two_equal_records_the_one_that_is_left_is_answered(world):
    agent = world.configure()
    same = {"summary": "Invoices by post.", "kind": "fact"}
    turns = [world.begin(agent), world.begin(agent)]
    older, newer = (turn.tool("add_memory", same)["memories"][0]["id"] for turn in turns)
    for turn in turns:
        turn.commit()
    look = world.begin(agent)
    assert look.search() == [newer, older]  # neither turn saw the other's
    look.remove(newer)
    for _ in range(2):
        again = look.tool("add_memory", same)
        assert (again["duplicate"], again["memories"][0]["id"]) == (True, older)
        look.commit()
        look = world.begin(agent)


@rule("CF-2", "TL-4")
def test_an_agent_that_writes_no_scope_deletes_nothing(world):
    agent = world.configure()
    saved = world.remember(agent, "Invoices by post.")
    world.configure(agent=agent, memory={"scope": {"read": ["session"], "write": []}})
    turn = world.begin(agent)
    assert turn.refused("delete_memory", {"id": saved})["code"] == "scope_not_allowed"
    assert turn.commit()["memories"] == []
    assert world.begin(agent).search() == [saved]


@rule("TL-2", "TL-4")
def test_what_is_seen_and_not_written_is_neither_replaced_nor_deleted(world):
    written = {"scope": {"read": ["session", "agent"], "write": ["session", "agent"]}}
    agent = world.configure(memory=written)
    common = world.remember(agent, "For every session.", scope="agent")
    world.configure(agent=agent, memory={"scope": {"read": ["session", "agent"], "write": ["session"]}})
    turn = world.begin(agent)
    assert turn.search() == [common]
    replacing = turn.refused("add_memory", {"summary": "For me.", "kind": "fact", "replaces": common})
    deleting = turn.refused("delete_memory", {"id": common})
    assert (replacing["code"], replacing["argument"]) == ("scope_not_allowed", "replaces")
    assert (deleting["code"], deleting["argument"]) == ("scope_not_allowed", "id")
    assert turn.commit()["memories"] == []


@rule("LC-1", "TL-1", "TL-3")
def test_an_expired_record_is_seen_by_people_alone(world):
    agent = world.configure(memory={"retention": {"kind": {"event": "1h"}}})
    given = "2026-05-12T12:00:00+02:00"
    by_itself = world.remember(agent, "A visit at noon.", expires_at=given)
    by_kind = world.remember(agent, "A visit.", kind="event")
    assert read_memory(world.services, agent, by_itself)["expires_at"] == given
    world.index_all()
    assert set(world.begin(agent).search("visit")) == {by_itself, by_kind}
    world.clock.advance(hours=3)
    look = world.begin(agent)
    assert look.search("visit") == look.search() == look.shown("visit") == []
    for id in (by_itself, by_kind):
        assert look.refused("read_memory", {"id": id})["code"] == "not_found"
        assert read_memory(world.services, agent, id)["expired"] is True
    assert list_memories(world.services, agent, Filters())["memories"] == []
    assert len(list_memories(world.services, agent, Filters(expired=True))["memories"]) == 2


@rule("TL-6")
@pytest.mark.parametrize("conversation", ["helper:h1", "program:p1"])
def test_helpers_and_programs_search_and_read_and_never_write(world, conversation):
    agent = world.configure()
    saved = world.remember(agent, "Invoices by post.")
    turn = world.begin(agent)
    found = turn.tool("search_memory", {"query": "invoices"}, conversation=conversation)
    assert [m["id"] for m in found["memories"]] == [saved]
    assert turn.tool("read_memory", {"id": saved}, conversation=conversation)["sources"][0]["id"] == saved
    for tool, input in (("add_memory", {"summary": "x", "kind": "fact"}), ("delete_memory", {"id": saved})):
        assert turn.refused(tool, input, conversation=conversation)["code"] == "read_only"


@rule("TL-5", "TR-2")
def test_every_call_is_an_execution_also_one_that_is_refused_and_keeps_no_text_of_a_record(world):
    agent = world.configure()
    saved = world.remember(agent, "Invoices by post.", content="Said in May.")
    turn = world.begin(agent)
    turn.search("invoices")
    turn.refused("read_memory", {"id": "no such id"})
    kept = world.services.turns.transcript(agent, turn.id, after=0, limit=50, types=("execution",))
    assert [("output" in e, "error" in e) for e in kept] == [(True, False), (False, True)]
    assert kept[0]["output"]["memories"] == [{"id": saved, "version": 1}]
    assert turn.transcript("execution")[0]["output"]["memories"][0]["summary"] == "Invoices by post."


@rule("TL-1")
def test_records_read_by_id_come_in_the_order_asked_and_the_rest_is_missing_without_a_reason(world):
    agent = world.configure()
    note, event, gone, old = (
        world.remember(agent, f"Note {n}.", kind=("fact", "event")[n == 1], expires_at=end)
        for n, end in enumerate([None, None, None, written(world.clock.now() + timedelta(hours=1))])
    )
    theirs = world.remember(agent, "Of another session.", "s2")
    world.clock.advance(hours=2)
    turn = world.begin(agent)
    turn.remove(gone)
    staged = turn.add("Not yet committed.")
    asked = [gone, event, "no id", staged, note, theirs, old, event]
    found = turn.tool("search_memory", {"ids": asked})
    assert [record["id"] for record in found["memories"]] == [event, staged, note]
    assert found["missing"] == [gone, "no id", theirs, old]
    assert found["next"] is None
    facts = turn.tool("search_memory", {"ids": [event, note], "kind": "fact"})
    assert ([record["id"] for record in facts["memories"]], facts["missing"]) == ([note], [event])


@rule("TL-1", "IF-4")
def test_pages_stay_whole_while_records_are_added_and_a_cursor_is_for_its_own_list(world):
    agent, other = world.configure(), world.configure()
    turn = world.begin(agent, user_id="u")
    saved = [turn.add(f"Note {n}.", scope=("session", "user", "agent")[n % 3]) for n in range(8)]
    first = turn.tool("search_memory", {"limit": 3})
    turn.commit()
    look = world.begin(agent, user_id="u")
    look.add("A newer note.")
    seen, after = [m["id"] for m in first["memories"]], first["next"]
    while after:
        page = look.tool("search_memory", {"limit": 3, "after": after})
        seen, after = seen + [m["id"] for m in page["memories"]], page["next"]
    assert seen == saved[::-1]
    for foreign in (world.begin(agent, "s2", user_id="u"), world.begin(agent), world.begin(other, user_id="u")):
        assert foreign.refused("search_memory", {"after": first["next"]})["code"] == "invalid_cursor"
    assert look.refused("search_memory", {"after": first["next"], "kind": "fact"})["code"] == "invalid_cursor"


@rule("IF-4", "GR-3")
def test_a_list_of_records_that_few_match_gives_short_pages_to_its_end(world, monkeypatch):
    monkeypatch.setattr(memories, "LOOKED_AT", 4)
    agent = world.configure()
    turn = world.begin(agent)
    kinds = ["event", *["fact"] * 9, "event", "event"]
    saved = [turn.add(f"Note {n}.", kind=kind) for n, kind in enumerate(kinds)]
    turn.commit()
    world.begin(agent).add("Staged.", kind="event")
    pages, after = [], None
    while not pages or after:
        page = list_memories(world.services, agent, Filters(kind="event"), limit=1, after=after)
        pages.append([record["id"] for record in page["memories"]])
        after = page["next"]
    assert [id for page in pages for id in page] == [saved[11], saved[10], saved[0]]
    assert len(pages) <= 6
