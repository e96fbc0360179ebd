"""SC-4, SC-6, as far as turns go: agents propose platform memory, people decide on it, and it binds every agent."""

import pytest
from people import approve, discard, publish, record_of

from agent_memory.domain.errors import NotFound
from agent_memory.domain.precedence import PLATFORM_KINDS

rule = pytest.mark.rule
ALL = ["session", "workflow", "user", "agent", "platform"]
READS = {"scope": {"read": ALL, "write": ALL}}


def proposing(world, **memory):
    return world.configure(memory={**READS, **memory})


def propose(world, agent, summary="Refunds take two weeks.", **fields):
    return world.remember(agent, summary, scope="platform", **fields)


def constraints(world, agent, **turn):
    return [item["id"] for item in world.begin(agent, **turn).recall(" ")["constraints"]]


@rule("SC-4")
def test_what_a_tool_saves_in_platform_memory_is_pending_and_seen_by_no_turn(world):
    agent, other = proposing(world), proposing(world)
    turn = world.begin(agent)
    add = {"summary": "Refunds take two weeks.", "kind": "fact", "scope": "platform", "memory_key": "refund"}
    view = turn.tool("add_memory", add)["memories"][0]
    assert (view["status"], view["scope"]) == ("PENDING", "platform")
    id = view["id"]

    def assert_unseen(turn):
        assert turn.search() == turn.search("refunds") == turn.shown("refunds") == []
        assert turn.tool("search_memory", {"ids": [id]})["missing"] == [id]
        for tool in ("read_memory", "delete_memory"):
            assert turn.refused(tool, {"id": id})["code"] == "not_found"
        replace = {"summary": "Three weeks.", "kind": "fact", "scope": "platform", "replaces": id}
        assert turn.refused("add_memory", replace)["code"] == "not_found"

    assert_unseen(turn)
    assert [(m["id"], m["status"]) for m in turn.commit()["memories"]] == [(id, "PENDING")]
    world.index_all()
    for agent_id in (agent, other):
        assert_unseen(world.begin(agent_id))
    world.index.down = True
    assert world.begin(agent).search("refunds") == []


@rule("SC-4", "RC-3")
def test_a_proposal_holds_no_key_and_supersedes_nothing_until_it_is_approved(world):
    agent = proposing(world)
    held = publish(world, "Refunds take a week.", memory_key="refund")
    named = publish(world, "Refunds are paid in cash.")
    id = propose(world, agent, memory_key="refund", replaces=named)
    assert record_of(world, None, id).replaces == (named,)
    assert set(world.begin(agent).search()) == {held, named}
    approve(world, id)
    assert world.begin(agent).search() == [id]
    assert record_of(world, None, id).replaces == (named, held)
    assert {record_of(world, None, one).replaced_by for one in (held, named)} == {id}


@rule("SC-4")
def test_an_approved_proposal_is_found_by_every_agent_that_reads_platform_and_by_no_other(world):
    agent, other, stranger = proposing(world), proposing(world), world.configure()
    id = propose(world, agent)
    approve(world, id)
    for indexed in (False, True):
        if indexed:
            world.index_all()
        for reader in (agent, other):
            turn = world.begin(reader)
            assert turn.search() == turn.search("refunds") == turn.shown("refunds") == [id]
            assert turn.read(id)["status"] == "ACTIVE"
        turn = world.begin(stranger)
        assert turn.search() == turn.search("refunds") == turn.shown("refunds") == []
        assert turn.refused("read_memory", {"id": id})["code"] == "not_found"


@rule("SC-4")
@pytest.mark.parametrize("preview", [False, True])
def test_platform_memory_is_not_deleted_by_a_tool(world, preview):
    agent = proposing(world)
    id = publish(world, "Refunds take a week.")
    error = world.begin(agent, preview=preview).refused("delete_memory", {"id": id})
    assert (error["code"], error["argument"]) == ("needs_person", "id")


@rule("SC-4")
def test_a_binding_constraint_of_platform_is_not_deleted_by_an_agent_that_does_not_read_platform(world):
    id = publish(world, "Nobody sends card numbers.", kind="constraint")
    turn = world.begin(world.configure())
    assert turn.read(id)["summary"] == "Nobody sends card numbers."
    assert turn.refused("delete_memory", {"id": id})["code"] == "needs_person"
    replace = {"summary": "Everybody does.", "kind": "fact", "replaces": id}
    assert turn.refused("add_memory", replace)["code"] == "scope_not_allowed"


@rule("SC-4")
def test_a_preview_turn_proposes_too_and_is_not_shown_it(world):
    agent = proposing(world)
    turn = world.begin(agent, preview=True)
    view = turn.tool("add_memory", {"summary": "Refunds take two weeks.", "kind": "fact", "scope": "platform"})
    assert view["memories"][0]["status"] == "PENDING"
    turn.commit()
    for preview in (False, True):
        turn = world.begin(agent, preview=preview)
        assert turn.search() == turn.search("refunds") == []


@rule("TU-1", "SC-4")
def test_a_proposal_of_a_turn_that_is_rolled_back_never_was(world):
    agent = proposing(world)
    turn = world.begin(agent)
    id = turn.add("Refunds take two weeks.", scope="platform")
    turn.roll_back()
    with pytest.raises(NotFound):
        record_of(world, None, id)


@rule("TL-2", "SC-4")
def test_a_turn_that_proposes_the_same_again_is_answered_with_its_own_proposal(world):
    turn = world.begin(proposing(world))
    add = {"summary": "Refunds take two weeks.", "kind": "fact", "scope": "platform"}
    first, second = (turn.tool("add_memory", add) for _ in range(2))
    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert second["memories"] == first["memories"]


@rule("SC-6")
@pytest.mark.parametrize("kind", PLATFORM_KINDS)
def test_a_platform_record_has_one_of_the_shared_kinds_whatever_the_agent_declares(world, kind):
    agent = proposing(world, kinds=["rule"])
    turn = world.begin(agent)
    error = turn.refused("add_memory", {"summary": "A rule.", "kind": "rule", "scope": "platform"})
    assert (error["code"], error["argument"]) == ("kind_not_declared", "kind")
    id = turn.add("A record for all.", kind=kind, scope="platform")
    turn.commit()
    assert record_of(world, None, id).kind == kind


@rule("SC-6", "RL-1")
def test_constraints_of_platform_bind_every_agent_with_memory_enabled(world):
    agents = [world.configure(), proposing(world), world.configure(memory={"kinds": ["fact"]})]
    off = world.configure(memory={"enabled": False})
    id = publish(world, "Nobody sends card numbers.", kind="constraint")
    fact = publish(world, "A fact of platform.")
    for agent in agents:
        assert constraints(world, agent) == constraints(world, agent, preview=True) == [id]
        turn = world.begin(agent)
        assert turn.search(kind="constraint") == [id]
        assert turn.read(id)["scope"] == "platform"
        assert (fact in turn.search()) is (agent == agents[1])
    assert constraints(world, off) == []
    discard(world, None, id)
    assert [constraints(world, agent) for agent in agents] == [[], [], []]


@rule("SC-6", "RK-5")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_constraint_that_binds_is_found_by_a_ranked_search_too(world, indexed):
    agent = world.configure()
    id = publish(world, "Nobody sends card numbers.", kind="constraint")
    own = world.remember(agent, "Wants the numbers by post.")
    publish(world, "Card numbers have sixteen digits.")
    if indexed:
        world.index_all()
    turn = world.begin(agent)
    assert set(turn.search("numbers")) == {id, own}
    world.index.down = True
    assert set(turn.search("numbers")) == {id, own}


@rule("SC-6", "CF-3")
def test_what_an_agent_says_of_a_kind_says_nothing_of_platform_records(world):
    kinds = {"decision": {"precedence": "broader"}, "constraint": {"precedence": "narrower"}}
    agent = proposing(world, kinds=kinds)
    decided = publish(world, "Refunds in two weeks.", kind="decision")
    bound = publish(world, "Nobody sends card numbers.", kind="constraint")
    own = world.remember(agent, "Decided here.", kind="decision")
    answer = world.begin(agent).recall("refunds numbers decided")
    assert [item["id"] for item in answer["constraints"]] == [bound, own]
    assert [item["id"] for item in answer["memories"]] == [decided]
