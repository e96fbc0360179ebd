"""The record list ranked by a query, for people and programs: over all that an agent has, on both editions (GR-3)."""

from __future__ import annotations

from typing import Any

import pytest
from embedders import HashEmbedder
from world import World, with_embedder

from agent_memory.domain.errors import EmbedderUnavailable, InvalidRequest, NotFound
from agent_memory.domain.records import Status
from agent_memory.domain.tool_inputs import AddMemory
from agent_memory.operations.index import index_commits
from agent_memory.operations.insert import insert
from agent_memory.operations.memories import list_memories
from agent_memory.operations.record_filters import Filters

pytestmark = pytest.mark.rule("GR-3")
rule = pytest.mark.rule

LEXICAL = {"search": {"mode": "lexical"}}
VECTOR = {"search": {"mode": "vector", "min_score": 0.9}}
LABELS = {"labels": {"room": {"number": 5, "description": "The room."}}}
PREVIEW = {"turn": {"preview": True}}


def ranked(world: World, agent: str | None, query: str = "invoice", **given: Any) -> dict[str, Any]:
    how = {name: given.pop(name) for name in ("limit", "explain", "after") if name in given}
    return list_memories(world.services, agent, Filters(**given), query=query, **how)


def ids(page: dict[str, Any]) -> list[str]:
    return [record["id"] for record in page["memories"]]


def found(world: World, agent: str | None, query: str = "invoice", **given: Any) -> set[str]:
    return set(ids(ranked(world, agent, query, **given)))


@pytest.fixture(params=["indexed", "not indexed", "half"])
def settle(request: pytest.FixtureRequest, world: World) -> Any:
    """How much of what was saved before the index has been told of."""

    def told() -> None:
        if request.param == "indexed":
            world.index_all()
        elif request.param == "half":
            index_commits(world.services, world.commits()[::2])

    return told


@rule("RK-1", "RK-5")
def test_records_of_all_scopes_sessions_and_modes_are_ranked_together(world: World, settle: Any) -> None:
    agent = world.configure(memory=LEXICAL)
    mine = [
        world.remember(agent, "Invoice invoice invoice.", "s1"),
        world.remember(agent, "Invoice by post.", "s2", scope="agent"),
        world.remember(agent, "Invoice by mail, not by fax or by pigeon.", "s3", **PREVIEW),
    ]
    world.remember(agent, "Likes tea.", "s2")
    settle()
    page = ranked(world, agent)
    assert ids(page) == mine
    scores = [record["score"] for record in page["memories"]]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert [record["preview"] for record in page["memories"]] == [False, False, True]
    assert (page["next"], page["degraded"], page["degraded_reason"]) == (None, False, None)
    assert page["ranked"] >= len(mine)


@rule("SC-1", "GR-5")
def test_another_agents_records_are_never_found(world: World, settle: Any) -> None:
    agent, other = world.configure(), world.configure()
    own = world.remember(agent, "Invoice by post.")
    world.remember(other, "Invoice by post.")
    settle()
    assert found(world, agent) == {own}
    world.index.down = True
    assert found(world, agent) == {own}


@rule("TU-1")
def test_what_is_staged_or_rolled_back_is_not_found(world: World) -> None:
    agent = world.configure()
    world.begin(agent).add("Invoice one.")
    lost = world.begin(agent, "s2")
    lost.add("Invoice two.")
    lost.roll_back()
    assert found(world, agent) == set()
    world.index.down = True
    assert found(world, agent) == set()


@rule("RC-6")
def test_a_record_that_ended_is_not_found_however_far_the_index_lags(world: World) -> None:
    agent = world.configure()
    old, gone, kept = (world.remember(agent, f"Invoice {n}.", f"s{n}") for n in range(3))
    world.index_all()
    turn = world.begin(agent, "s0")
    new = turn.add("Invoice anew.", replaces=old)
    turn.commit()
    turn = world.begin(agent, "s1")
    turn.remove(gone)
    turn.commit()
    assert found(world, agent) == {kept, new}
    world.index_all()
    assert found(world, agent) == {kept, new}


@rule("LC-1")
def test_expired_records_are_found_by_expired_alone(world: World, settle: Any) -> None:
    agent = world.configure()
    brief = world.remember(agent, "Invoice for an hour.", expires_at="2026-05-12T09:00:00Z")
    lasting = world.remember(agent, "Invoice for good.")
    settle()
    assert found(world, agent) == {brief, lasting}
    world.clock.advance(hours=2)
    assert found(world, agent) == {lasting}
    assert found(world, agent, expired=True) == {brief}


def test_all_filters_of_the_list_hold(world: World, settle: Any) -> None:
    memory = {**LABELS, "pinned": {"max_tokens": 500}}
    agent = world.configure(memory=memory)
    who = {"workflow_id": "w1", "user_id": "u1"}
    a = world.remember(agent, "Invoice a.", labels={"room": "7"}, kind="event")
    b = world.remember(agent, "Invoice b.", "s2", labels={"room": "8"}, memory_key="invoice.how")
    c = world.remember(agent, "Invoice c.", turn=who, scope="workflow", pinned=True)
    d = world.remember(agent, "Invoice d.", turn=who, scope="user")
    e = world.remember(agent, "Invoice e.", scope="agent")
    f = world.remember(agent, "Invoice f.", **PREVIEW)
    settle()
    everything = {a, b, c, d, e, f}
    assert found(world, agent) == everything
    assert found(world, agent, kind="event") == {a}
    assert found(world, agent, labels={"room": "8"}) == {b}
    assert found(world, agent, memory_key="invoice.how") == {b}
    assert found(world, agent, pinned=True) == {c}
    assert found(world, agent, preview=True) == {f}
    assert found(world, agent, preview=False) == everything - {f}
    assert found(world, agent, source="tool") == everything
    assert found(world, agent, source="person") == set()
    assert found(world, agent, scope="agent") == {e}
    assert found(world, agent, scope="session") == {a, b, f}
    assert found(world, agent, session_id="s1") == {a, f}
    assert found(world, agent, session_id="s2") == {b}
    assert found(world, agent, session_id="s") == set()
    assert found(world, agent, workflow_id="w1") == {c}
    assert found(world, agent, user_id="u1") == {d}
    assert found(world, agent, user_id="u1", scope="session") == set()
    assert found(world, agent, session_id="s1", user_id="u1") == set()
    created = {r["id"]: r["created_at"] for r in ranked(world, agent)["memories"]}
    assert found(world, agent, since=created[d]) == {d, e, f}
    assert found(world, agent, until=created[b]) == {a}


def test_what_filters_let_through_is_found_among_many_that_match_better(world: World) -> None:
    """The index gives the hundred best: of those under the filters, not of all."""
    agent = world.configure(memory={**LEXICAL, "pinned": {"max_tokens": 500}})
    for n in range(8):
        turn = world.begin(agent, f"s{n}")
        for number in range(15):
            turn.add(f"Invoice invoice {number}.")
        turn.commit()
    weak = "Much is said here, and only at its very end the word invoice."
    in_session = world.remember(agent, weak, "last")
    in_agent = world.remember(agent, weak, scope="agent", pinned=True)
    keyed = world.remember(agent, weak, memory_key="invoice.how", priority=1)
    trial = world.remember(agent, weak, "s2", **PREVIEW)
    request = AddMemory(summary=weak, kind="fact", scope="user", memory_key="of.a.person")
    of_person = insert(world.services, agent, request, {"user_id": "u1"}, caller="tester").record.id
    world.index_all()
    assert not {in_session, in_agent, keyed, trial, of_person} & found(world, agent, limit=200)
    assert found(world, agent, session_id="last") == {in_session}
    assert found(world, agent, scope="agent") == found(world, agent, pinned=True) == {in_agent}
    assert found(world, agent, memory_key="invoice.how") == {keyed}
    assert found(world, agent, preview=True) == {trial}
    assert found(world, agent, scope="user") == found(world, agent, source="person") == {of_person}
    assert found(world, agent, source="person", memory_key="invoice.how") == set()


def test_at_most_limit_records_are_given(world: World, settle: Any) -> None:
    agent = world.configure()
    for n in range(5):
        world.remember(agent, f"Invoice {n}.", f"s{n}")
    settle()
    assert len(ranked(world, agent, limit=3)["memories"]) == 3
    assert len(ranked(world, agent, limit=200)["memories"]) == 5


@rule("RK-4")
@pytest.mark.parametrize("blank", ["", "  ", "\u200b"])
def test_a_blank_query_lists(world: World, blank: str) -> None:
    agent = world.configure()
    several = [world.remember(agent, f"Invoice {n}.") for n in range(2)]
    page = ranked(world, agent, blank, limit=1)
    assert ids(page) == several[1:]
    assert page["next"] is not None
    assert "score" not in page["memories"][0]
    assert ids(ranked(world, agent, blank, after=page["next"])) == several[:1]


@rule("IF-1")
def test_what_does_not_go_with_a_query_is_refused_all_at_once(world: World) -> None:
    agent = world.configure()
    with pytest.raises(InvalidRequest) as refused:
        ranked(world, agent, after="x", statuses=[Status.ACTIVE, Status.DELETED], labels={"unknown": "1"})
    assert sorted(fault.path for fault in refused.value.faults) == ["after", "label.unknown", "status"]
    assert ranked(world, agent, statuses=[Status.ACTIVE])["memories"] == []
    with pytest.raises(InvalidRequest) as refused:
        ranked(world, agent, "", explain=True)
    assert [fault.path for fault in refused.value.faults] == ["explain"]


def test_an_agent_that_is_not_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        ranked(world, "nobody")


@rule("RK-3")
def test_explained_results_carry_cosine_and_ranks(world: World, settle: Any) -> None:
    agent = world.configure(memory={"search": {"min_score": -1}})
    same, other = world.remember(agent, "Invoice by post."), world.remember(agent, "Invoice.", "s2")
    settle()
    page = ranked(world, agent, "Invoice by post.", explain=True)
    explained = {record["id"]: record for record in page["memories"]}
    assert explained[same]["cosine"] == pytest.approx(1, abs=1e-5)
    assert explained[same]["ranks"] == {"lexical": 1, "vector": 1}
    assert -1 <= explained[other]["cosine"] < 0.9
    assert explained[other]["ranks"]["lexical"] == 2
    assert "cosine" not in ranked(world, agent)["memories"][0]


@rule("RK-3")
def test_in_lexical_mode_there_is_no_cosine(world: World) -> None:
    agent = world.configure(memory=LEXICAL)
    world.remember(agent, "Invoice by post.")
    record = ranked(world, agent, explain=True)["memories"][0]
    assert (record["cosine"], record["ranks"]) == (None, {"lexical": 1, "vector": None})


@rule("RK-1", "CF-6")
def test_the_newest_configuration_says_how_to_rank(world: World, settle: Any) -> None:
    agent = world.configure(memory=LEXICAL)
    exact, other = world.remember(agent, "Invoice by post."), world.remember(agent, "Invoice.", "s2")
    settle()
    assert found(world, agent, "Invoice by post.") == {exact, other}
    world.configure(agent=agent, memory=VECTOR)
    assert found(world, agent, "Invoice by post.") == {exact}


@rule("RK-6", "RK-8")
def test_while_the_index_is_down_the_newest_records_of_the_agent_stand_in(world: World) -> None:
    agent = world.configure()
    here, everywhere = world.remember(agent, "Invoice one.", "s2"), world.remember(agent, "Invoice two.", scope="agent")
    trial = world.remember(agent, "Invoice on trial.", **PREVIEW)
    tea = world.remember(agent, "Likes tea.")
    world.index_all()
    world.index.down = True
    page = ranked(world, agent)
    assert set(ids(page)) - {tea} == {here, everywhere, trial}
    assert (page["degraded"], page["degraded_reason"], page["ranked"]) == (True, "index_down", 4)
    assert found(world, agent, session_id="s1") - {tea} == {trial}
    assert found(world, agent, scope="agent") == {everywhere}


@rule("RK-6")
def test_while_the_model_is_down_records_are_ranked_by_words(world: World, settle: Any) -> None:
    class Down(HashEmbedder):
        def embed(self, *_: Any, **__: Any) -> Any:
            raise EmbedderUnavailable("down")

    agent = world.configure()
    saved = world.remember(agent, "Invoice by post.")
    world.remember(agent, "Likes tea.")
    settle()
    page = ranked(with_embedder(world, Down()), agent)
    assert ids(page) == [saved]
    assert (page["degraded"], page["degraded_reason"]) == (True, "embedder_down")


@rule("RK-5", "RK-6")
def test_what_the_index_refused_is_found(world: World) -> None:
    agent = world.configure(memory=LEXICAL)
    turn = world.begin(agent, workflow_id="w1")
    good, bad = turn.add("Invoice one."), turn.add("Invoice two.", scope="workflow")
    turn.commit()
    plain = world.index.inner.apply
    world.index.apply = lambda entries: plain([e for e in entries if e.id != bad]) | {bad: "refused"}  # type: ignore[method-assign]
    assert world.index_all().refused == {bad: "refused"}
    page = ranked(world, agent)
    assert set(ids(page)) == {good, bad}
    assert page["degraded"] is False


@rule("RK-8")
def test_a_backlog_beyond_what_is_read_is_said(world: World) -> None:
    agent, other = world.configure(), world.configure()
    several = [world.remember(agent, f"Invoice {n}.", f"s{n}") for n in range(4)]
    world.remember(other, "Invoice of another.")
    places, is_cut = world.services.records.unindexed_of(agent, limit=10)
    assert (list(places), is_cut) == (several[::-1], False)
    places, is_cut = world.services.records.unindexed_of(agent, limit=3)
    assert (list(places), is_cut) == (several[:0:-1], True)
    world.index_all()
    assert world.services.records.unindexed_of(agent, limit=3) == ({}, False)


@rule("SC-6")
def test_platform_records_are_ranked_without_any_agents(world: World, settle: Any) -> None:
    agent = world.configure()
    request = AddMemory(summary="Invoice every customer.", kind="guidance", scope="platform")
    platform = insert(world.services, None, request, {}, caller="tester").record.id
    own = world.remember(agent, "Invoice by post.")
    settle()
    assert found(world, None, "Invoice every customer.") == {platform}
    assert found(world, agent) == {own}
    world.index.down = True
    page = ranked(world, None, "Invoice every customer.")
    assert (ids(page), page["degraded_reason"]) == ([platform], "index_down")
