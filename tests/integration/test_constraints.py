"""RL-1, RL-2, UP-1: what binds is shown unasked, contradictions are settled, and what has faded is not recalled."""

import pytest
from people import discard, publish, record_of

from agent_memory.domain.staging import MAX_CONSTRAINTS

rule = pytest.mark.rule
WHO = {"user_id": "u1", "workflow_id": "w1"}
KINDS = {"kinds": {"fact": {}, "guidance": {}, "constraint": {}, "house_rule": {"precedence": "broader"}}}
LEXICAL = {"search": {"mode": "lexical", "max_results": 50}}


def configure(world, **memory):
    return world.configure(memory={**KINDS, **LEXICAL, **memory})


def bind(world, agent, summary="Refunds need approval.", session="s1", *, kind="constraint", **fields):
    return world.remember(agent, summary, session, turn=WHO, kind=kind, **fields)


def ids(answer, name="memories"):
    return [item["id"] for item in answer[name]]


def fill_up(world, agent, count=MAX_CONSTRAINTS, **fields):
    """So many constraints in the session, ten a turn."""
    saved = []
    for start in range(0, count, 10):
        turn = world.begin(agent, **WHO)
        saved += [turn.add(f"Rule {n}.", kind="constraint", **fields) for n in range(start, min(start + 10, count))]
        turn.commit()
    return saved


# ---------------------------------------------------------------- shown unasked


@rule("RL-1")
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("query", ["refunds", "something else altogether", " "])
def test_constraints_stand_beside_what_was_found_whether_or_not_they_match(world, indexed, query):
    agent = configure(world)
    constraint = bind(world, agent)
    own = bind(world, agent, "Of the house.", kind="house_rule", scope="agent")
    fact = bind(world, agent, "Refunds are paid weekly.", kind="fact")
    if indexed:
        world.index_all()
    answer = world.begin(agent, **WHO).recall(query)
    assert ids(answer, "constraints") == [own, constraint]
    assert ids(answer) == ([fact] if query == "refunds" else [])
    assert answer["recorded"] is True
    for id in (own, constraint):
        assert f"[{id}]" in answer["block"]


@rule("CF-3", "RL-1")
def test_a_kind_that_a_later_version_makes_binding_binds_with_the_records_that_it_has(world):
    agent = configure(world)
    kept = [bind(world, agent, f"Held so far {n}.", kind="guidance", scope=("user", "agent")[n % 2]) for n in range(60)]
    gone = bind(world, agent, "Held no more.", kind="guidance")
    discard(world, agent, gone)
    reader = world.begin(agent, **WHO)
    binding = {**KINDS["kinds"], "guidance": {"precedence": "broader"}}
    world.configure(agent=agent, memory={**KINDS, **LEXICAL, "kinds": binding})
    later = world.begin(agent, **WHO)
    assert set(ids(later.recall("something else"), "constraints")) == set(kept)
    assert ids(reader.recall("something else"), "constraints") == []
    refused = later.refused("add_memory", {"summary": "One more.", "kind": "guidance", "scope": "agent"})
    assert refused["code"] == "too_many_constraints"
    discard(world, agent, kept[0])
    assert kept[0] not in ids(world.begin(agent, **WHO).recall(" "), "constraints")
    world.configure(agent=agent, memory={**KINDS, **LEXICAL})
    assert ids(world.begin(agent, **WHO).recall(" "), "constraints") == []


@rule("RL-1")
def test_constraints_stand_broadest_scope_first_then_by_priority_then_oldest(world):
    agent = configure(world)
    last, fourth = bind(world, agent, "Oldest."), bind(world, agent, "Of the user.", scope="user")
    third = bind(world, agent, "Of the user, weightier.", scope="user", priority=90)
    newest = bind(world, agent, "Newest.")
    second = bind(world, agent, "Of the agent.", scope="agent")
    first = publish(world, "Of platform.", kind="constraint")
    flow = bind(world, agent, "Of the flow.", scope="workflow")
    shown = ids(world.begin(agent, **WHO).recall(" "), "constraints")
    assert shown == [first, second, third, fourth, flow, last, newest]


@rule("RL-1", "SC-2")
def test_a_constraint_binds_where_its_scope_and_owner_say_and_while_it_is_active(world):
    agent, other = configure(world), configure(world)
    session, user = bind(world, agent), bind(world, agent, scope="user")
    ends = world.clock.now().replace(microsecond=0, minute=30).isoformat()
    passing = bind(world, agent, "For a while.", expires_at=ends)

    def shown(agent, *args, **who):
        return set(ids(world.begin(agent, *args, **who).recall("refunds"), "constraints"))

    assert shown(agent, **WHO) == {user, session, passing}
    assert shown(agent) == {session, passing}
    assert shown(agent, "s2", user_id="u1") == {user}
    assert shown(agent, "s2") == shown(other, **WHO) == set()
    world.clock.advance(hours=1)
    assert shown(agent) == {session}
    discard(world, agent, session)
    assert shown(agent) == set()


@rule("RL-1", "TU-3")
def test_what_is_staged_binds_nobody_yet_and_what_is_staged_to_go_binds_the_turn_no_more(world):
    agent = configure(world)
    old = bind(world, agent)
    turn = world.begin(agent)
    new = turn.add("Refunds need two approvals.", kind="constraint", replaces=old)
    assert ids(turn.recall(" "), "constraints") == []
    assert ids(world.begin(agent).recall(" "), "constraints") == [old]
    turn.commit()
    assert ids(world.begin(agent).recall(" "), "constraints") == [new]


@rule("RL-1")
def test_constraints_are_not_counted_among_the_results(world):
    agent = configure(world, search={"mode": "lexical", "max_results": 2})
    bound = [bind(world, agent, f"Refund rule {n}.") for n in range(3)]
    facts = [bind(world, agent, f"Refund fact {n}.", kind="fact") for n in range(4)]
    answer = world.begin(agent).recall("refund")
    assert ids(answer, "constraints") == bound
    assert ids(answer) == facts[:1:-1]


@rule("RL-1", "RL-3")
def test_constraints_are_cut_and_never_left_out_and_the_others_fill_what_they_leave(world):
    agent = configure(world, recall={"max_tokens": 215, "max_item_tokens": 60})
    bound = [bind(world, agent, f"Refund rule {n}.", content="Because of this. " * 60) for n in range(3)]
    small = bind(world, agent, "Refund in cash.", kind="fact")
    large = bind(world, agent, "Refund by transfer.", kind="fact", priority=90, content="At length. " * 60)
    answer = world.begin(agent).recall("refund")
    assert ids(answer, "constraints") == bound
    assert all(item["cut"] and item["tokens"] <= 60 for item in answer["constraints"])
    assert (ids(answer), answer["omitted"]["ids"]) == ([small], [large])
    tight = configure(world, recall={"max_tokens": 100, "max_item_tokens": 60})
    bound = [bind(world, tight, f"Refund rule {n}.", content="Because of this. " * 60) for n in range(4)]
    assert ids(world.begin(tight).recall("refund"), "constraints") == bound  # more than max_tokens


@rule("RL-1")
@pytest.mark.parametrize("blank", ["", " ", "\u200b"])
def test_a_blank_query_gives_constraints_and_pins_alone_and_costs_no_embedding(world, blank):
    agent = configure(world, search={"mode": "hybrid", "min_score": -1}, pinned={"max_tokens": 100})
    bound, pin = bind(world, agent), bind(world, agent, "Speaks Dutch.", kind="fact", pinned=True)
    turn = world.begin(agent)
    answer = turn.recall(blank)
    assert (ids(answer, "constraints"), ids(answer, "pinned"), ids(answer)) == ([bound], [pin], [])
    assert (answer["usage"], answer["recorded"]) == (None, True)
    assert turn.transcript("usage") == []


# ---------------------------------------------------------------- at most twenty


@rule("RL-1")
def test_a_scope_holds_twenty_constraints_and_the_next_is_refused(world):
    agent = configure(world)
    saved = fill_up(world, agent)
    turn = world.begin(agent, **WHO)
    one_more = {"summary": "One more.", "kind": "constraint"}
    for kind in ("constraint", "house_rule"):
        error = turn.refused("add_memory", {**one_more, "kind": kind})
        assert (error["code"], error["argument"], error["details"]) == ("too_many_constraints", "kind", {"max": 20})
    turn.add("One of the user.", kind="constraint", scope="user")
    turn.add("A fact.")
    turn.add("In the place of one.", kind="constraint", replaces=saved[0])
    turn.remove(saved[1])
    turn.add("And of another.", kind="house_rule")
    assert turn.refused("add_memory", one_more)["code"] == "too_many_constraints"
    assert turn.commit()["conflicts"] == []
    assert len(ids(world.begin(agent).recall(" "), "constraints")) == MAX_CONSTRAINTS
    assert "error" not in world.begin(agent, "s2").call("add_memory", one_more)


@rule("RL-1", "TU-8")
def test_of_two_turns_that_bring_the_twenty_first_at_once_the_later_saves_nothing_of_it_and_says_so(world):
    agent = configure(world)
    fill_up(world, agent, MAX_CONSTRAINTS - 1)
    old = bind(world, agent, "A fact.", kind="fact")
    slow, fast = world.begin(agent), world.begin(agent)
    late = slow.add("The late rule.", kind="constraint", replaces=old, memory_key="k")
    kept = slow.add("A fact beside it.")
    early = fast.add("The early rule.", kind="constraint")
    assert fast.commit()["conflicts"] == []
    ended = slow.commit()
    conflict = {"change": "save", "id": late, "target": late, "outcome": "nothing", "current": None}
    assert ended["conflicts"] == [conflict]
    assert [memory["id"] for memory in ended["memories"]] == [kept]
    (event,) = slow.transcript("conflict")
    assert {name: event[name] for name in conflict} == conflict
    turn = world.begin(agent)
    assert early in ids(turn.recall(" "), "constraints")
    assert turn.refused("read_memory", {"id": late})["code"] == "not_found"
    assert record_of(world, agent, old).status == "ACTIVE"
    again = turn.add("The key is free.", memory_key="k")
    turn.commit()
    assert record_of(world, agent, again).replaces == ()


@rule("RL-1", "LC-1")
def test_an_expired_constraint_makes_room(world):
    agent = configure(world)
    ends = world.clock.now().replace(microsecond=0, minute=30).isoformat()
    fill_up(world, agent, MAX_CONSTRAINTS - 1)
    bind(world, agent, "For a while.", expires_at=ends)
    turn = world.begin(agent)
    assert turn.refused("add_memory", {"summary": "One more.", "kind": "constraint"})["code"] == "too_many_constraints"
    world.clock.advance(hours=1)
    turn.add("One more.", kind="constraint")
    assert turn.commit()["conflicts"] == []


# ---------------------------------------------------------------- contradictions


@rule("RL-2")
@pytest.mark.parametrize("indexed", [False, True])
def test_of_one_key_the_narrowest_applies_and_the_answer_says_which_did_not(world, indexed):
    agent = configure(world)
    wide = bind(world, agent, "Invoices by fax.", kind="fact", scope="agent", memory_key="invoice")
    middle = bind(world, agent, "Invoices by e-mail.", kind="fact", scope="user", memory_key="invoice")
    narrow = bind(world, agent, "Invoices by post.", kind="fact", memory_key="invoice")
    if indexed:
        world.index_all()
    turn = world.begin(agent, **WHO)
    answer = turn.recall("invoices")
    assert ids(answer) == [narrow]
    by_id = {one["id"]: one for one in answer["overridden"]}
    assert by_id == {id: {"id": id, "version": 1, "memory_key": "invoice", "by": narrow} for id in (wide, middle)}
    assert set(turn.search("invoices")) == {wide, middle, narrow}  # searches show what there is
    assert ids(world.begin(agent, "s2").recall("invoices")) == [wide]


@rule("RL-2")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_winner_that_did_not_match_takes_the_rank_of_the_loser(world, indexed):
    agent = configure(world)
    loser = bind(world, agent, "Invoices by fax.", kind="fact", scope="agent", memory_key="k")
    winner = bind(world, agent, "Bills go by post.", kind="fact", memory_key="k")
    weaker = bind(world, agent, "Whoever asks for invoices gets a copy of them.", kind="fact")
    if indexed:
        world.index_all()
    answer = world.begin(agent, **WHO).recall("invoices fax", explain=True)
    assert ids(answer) == [winner, weaker]
    (taken, own) = answer["memories"]
    assert taken["score"] > own["score"]
    assert taken["ranks"]["lexical"] == 1
    assert [(one["id"], one["by"]) for one in answer["overridden"]] == [(loser, winner)]


@rule("RL-2")
def test_of_a_broader_kind_the_broadest_applies_whatever_else_has_the_key(world):
    agent = configure(world)
    wide = bind(world, agent, "Never by fax.", scope="agent", memory_key="invoice")
    binding = bind(world, agent, "Never by post.", scope="user", memory_key="invoice")
    fact = bind(world, agent, "Invoices by fax.", kind="fact", memory_key="invoice")
    answer = world.begin(agent, **WHO).recall("invoices fax")
    assert (ids(answer, "constraints"), ids(answer)) == ([wide], [])
    assert {one["id"]: one["by"] for one in answer["overridden"]} == {binding: wide, fact: wide}
    platform = publish(world, "Never at all.", kind="constraint", memory_key="invoice")
    answer = world.begin(agent, **WHO).recall("invoices fax")
    assert (ids(answer, "constraints"), ids(answer)) == ([platform], [])


@rule("RL-2", "TU-3")
def test_what_the_turn_has_staged_to_go_is_left_out_before_keys_are_settled(world):
    agent = configure(world)
    wide = bind(world, agent, "Invoices by fax.", kind="fact", scope="agent", memory_key="invoice")
    narrow = bind(world, agent, "Invoices by post.", kind="fact", memory_key="invoice")
    turn = world.begin(agent)
    turn.remove(narrow)
    answer = turn.recall("invoices")
    assert (ids(answer), answer["overridden"]) == ([wide], [])


@rule("RL-2", "LC-1", "UP-1")
def test_what_has_expired_or_faded_overrides_nothing(world):
    agent = configure(world, decay={"guidance": {"half_life": "1d"}}, min_confidence=0.5)
    ends = world.clock.now().replace(microsecond=0, minute=30).isoformat()
    wide = [bind(world, agent, f"Invoices, way {n}.", kind="fact", scope="agent", memory_key=f"k{n}") for n in range(2)]
    bind(world, agent, "Not for long.", kind="fact", memory_key="k0", expires_at=ends)
    bind(world, agent, "Fades soon.", kind="guidance", memory_key="k1")
    assert set(ids(world.begin(agent).recall("invoices"))) & set(wide) == set()
    world.clock.advance(days=3)
    answer = world.begin(agent).recall("invoices")
    assert (set(ids(answer)), answer["overridden"]) == (set(wide), [])


@rule("RL-2", "PV-2")
def test_a_preview_record_overrides_in_preview_turns_alone(world):
    agent = configure(world)
    wide = bind(world, agent, "Invoices by fax.", kind="fact", scope="agent", memory_key="invoice")
    tried = world.remember(agent, "Invoices by post.", turn={"preview": True}, memory_key="invoice")
    assert ids(world.begin(agent).recall("invoices")) == [wide]
    answer = world.begin(agent, preview=True).recall("invoices")
    assert (ids(answer), [one["by"] for one in answer["overridden"]]) == ([tried], [tried])


# ---------------------------------------------------------------- what has faded


@rule("UP-1")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_record_that_has_faded_is_not_recalled_and_is_still_found_by_search(world, indexed):
    agent = configure(world, decay={"fact": {"half_life": "2d"}}, min_confidence=0.5)
    sure = bind(world, agent, "The lift stops at noon.", kind="fact")
    unsure = bind(world, agent, "The lift stops at one.", kind="fact", confidence=0.6)
    other = bind(world, agent, "The lift is old.", kind="guidance")
    if indexed:
        world.index_all()

    def recalled():
        return set(ids(world.begin(agent).recall("lift")))

    assert recalled() == {sure, unsure, other}
    world.clock.advance(days=1)
    assert recalled() == {sure, other}
    world.clock.advance(days=2)
    assert recalled() == {other}  # kinds that decay does not name keep their confidence
    turn = world.begin(agent)
    assert set(turn.search("lift")) == set(turn.search()) == {sure, unsure, other}
    assert record_of(world, agent, sure).confidence == 1


@rule("UP-1")
def test_being_recalled_does_not_make_a_record_younger(world):
    agent = configure(world, decay={"fact": {"half_life": "2d"}}, min_confidence=0.5)
    id = bind(world, agent, "The lift stops at noon.", kind="fact")
    for _ in range(2):
        world.clock.advance(hours=23)
        assert ids(world.begin(agent).recall("lift")) == [id]
    world.clock.advance(hours=3)
    assert ids(world.begin(agent).recall("lift")) == []


@rule("UP-1", "RL-1")
def test_broader_kinds_do_not_fade_unless_named(world):
    decay = {"fact": {"half_life": "1d"}, "house_rule": {"half_life": "1d"}}
    agent = configure(world, decay=decay, min_confidence=0.5)
    kept, named = bind(world, agent), bind(world, agent, "Of the house.", kind="house_rule")
    unsure = bind(world, agent, "Perhaps.", confidence=0.1)
    assert set(ids(world.begin(agent).recall(" "), "constraints")) == {kept, named, unsure}
    world.clock.advance(days=30)
    assert set(ids(world.begin(agent).recall(" "), "constraints")) == {kept, unsure}
