"""What agents did, listed and followed: agents, turns, sessions, executions, usage; and whose it is."""

import pytest
from embedders import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from world import World, one_machine, with_services

from agent_memory.domain.errors import InvalidRequest, NotFound
from agent_memory.domain.times import written
from agent_memory.operations import turn_list
from agent_memory.operations.agents import list_agents
from agent_memory.operations.execution import read_execution
from agent_memory.operations.sessions import list_sessions
from agent_memory.operations.turn_list import TurnFilters, list_turns
from agent_memory.operations.usage import usage
from agent_memory.store import keys
from agent_memory.store.turns import Turns

rule = pytest.mark.rule


def pages(ask, name, **how):
    """Every page of a list, to the end."""
    after, found = None, []
    while True:
        page = ask(after=after, **how)
        found.append(page[name])
        after = page["next"]
        if after is None:
            return found


def turns(world: World, agent, limit=50, **filters):
    """Ids of all turns that the list gives."""
    ask = lambda after: list_turns(world.services, agent, TurnFilters(**filters), limit=limit, after=after)  # noqa: E731
    return [turn["turn_id"] for page in pages(ask, "turns") for turn in page]


def sessions(world: World, agent, limit=50, **filters):
    ask = lambda after: list_sessions(world.services, agent, limit=limit, after=after, **filters)  # noqa: E731
    return [session["session_id"] for page in pages(ask, "sessions") for session in page]


# ---------------------------------------------------------------- turns


@rule("IF-4", "TU-1")
def test_turns_are_listed_newest_first_and_as_they_are_read_alone(world):
    agent = world.configure()
    begun = [world.begin(agent, f"s{n % 2}") for n in range(5)]
    saved = begun[0].add("Staged.")
    begun[1].commit()
    begun[2].roll_back()
    listed = list_turns(world.services, agent, TurnFilters())
    assert [turn["turn_id"] for turn in listed["turns"]] == [turn.id for turn in reversed(begun)]
    assert listed["turns"] == [turn.state() for turn in reversed(begun)]
    assert [m["id"] for m in listed["turns"][-1]["memories"]] == [saved]
    assert listed["next"] is None


@rule("IF-4")
def test_pages_neither_skip_nor_repeat_while_turns_begin(world):
    agent = world.configure()
    begun = [world.begin(agent).id for _ in range(7)]
    first = list_turns(world.services, agent, TurnFilters(), limit=3)
    world.begin(agent)
    second = list_turns(world.services, agent, TurnFilters(), limit=3, after=first["next"])
    third = list_turns(world.services, agent, TurnFilters(), limit=3, after=second["next"])
    listed = [turn["turn_id"] for page in (first, second, third) for turn in page["turns"]]
    assert (listed, third["next"]) == (begun[::-1], None)


def test_turns_are_found_by_all_that_they_are_for(world):
    agent = world.configure()
    wanted = {"workflow_id": "w#1", "user_id": "u1", "execution_id": "run", "invocation_id": "i", "preview": True}
    other = world.begin(agent, "s")
    found = world.begin(agent, "s1", **wanted)
    for name, value in {"session_id": "s1", **wanted}.items():
        assert turns(world, agent, **{name: value}) == [found.id], name
        assert turns(world, agent, **{name: value, "status": "committed"}) == []
    assert turns(world, agent, preview=False) == turns(world, agent, execution_id=other.id) == [other.id]
    assert turns(world, agent, session_id="s1", user_id="u2") == []


@rule("TU-5", "TU-6")
def test_turns_are_found_by_how_they_stand_now(world):
    agent = world.configure()
    late = world.begin(agent)
    world.clock.advance(hours=24)
    assert turns(world, agent, status="rolled_back") == [late.id]
    committed, failed, superseded = (world.begin(agent) for _ in range(3))
    committed.commit()
    failed.roll_back()
    retry = world.begin(agent, None, retry_of=superseded.id)
    assert turns(world, agent, status="open") == [retry.id]
    assert turns(world, agent, status="committed") == [committed.id]
    assert turns(world, agent, status="rolled_back") == [superseded.id, failed.id, late.id]
    assert turns(world, agent, status="ending") == []


def test_a_turn_is_as_new_as_its_id_whatever_the_harness_says(world):
    agent = world.configure()
    before = world.begin(agent, started_at="2031-01-01T00:00:00Z")
    world.clock.advance(minutes=1)
    since = written(world.clock.now())
    found = world.begin(agent, started_at="2001-01-01T00:00:00+02:00")
    until = written(world.clock.now())
    world.clock.advance(minutes=1)
    after = world.begin(agent)
    assert turns(world, agent, since=since, until=until) == [found.id]
    assert turns(world, agent, since=since) == [after.id, found.id]
    assert turns(world, agent, until=until) == [found.id, before.id]
    offset = f"{until[:11]}{int(until[11:13]) + 2:02}{until[13:-1]}+02:00"
    assert turns(world, agent, until=offset, limit=1) == [found.id, before.id]
    assert turns(world, agent, until="9999-12-31T23:59:59.999999Z") == [after.id, found.id, before.id]
    assert turns(world, agent, since="9999-12-31T23:59:59Z") == turns(world, agent, until="0001-01-01T00:00:00Z") == []


@rule("IF-4")
def test_a_search_for_few_among_many_turns_ends_early_and_goes_on(machine, monkeypatch):
    agent = machine.configure()
    wanted = machine.begin(agent, "rare").id
    for _ in range(9):
        machine.begin(agent, "often")
    monkeypatch.setattr(turn_list, "LOOKED_AT", 4)
    ask = lambda after: list_turns(machine.services, agent, TurnFilters(session_id="rare"), after=after)  # noqa: E731
    found = pages(ask, "turns")
    assert [[turn["turn_id"] for turn in page] for page in found] == [[], [], [wanted]]


@rule("IF-4", "SC-1")
def test_a_cursor_of_turns_belongs_to_its_agent_and_filters(world):
    agent, other = world.configure(), world.configure()
    for _ in range(2):
        world.begin(agent), world.begin(other)
    cursor = list_turns(world.services, agent, TurnFilters(), limit=1)["next"]
    for whose, filters in ((other, TurnFilters()), (agent, TurnFilters(session_id="s1"))):
        with pytest.raises(InvalidRequest) as refused:
            list_turns(world.services, whose, filters, after=cursor)
        assert refused.value.code == "invalid_cursor"
    with pytest.raises(InvalidRequest):
        list_turns(world.services, agent, TurnFilters(), after=cursor[:-1] + "_")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("uv"), st.booleans()), max_size=12), st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_filtered_pages_are_what_filtering_the_whole_list_gives(tmp_path_factory, begun, limit):
    with one_machine(tmp_path_factory.mktemp("w"), HashEmbedder()) as world:
        agent = world.configure()
        made = [(world.begin(agent, s, user_id=u, preview=p).id, s, u, p) for s, u, p in begun]
        expected = [id for id, s, u, p in reversed(made) if (s, u, p) == ("a", "u", False)]
        assert turns(world, agent, limit, session_id="a", user_id="u", preview=False) == expected


# ---------------------------------------------------------------- sessions


@rule("TU-7", "IF-4")
def test_sessions_are_listed_newest_first_with_their_turns_and_times(world):
    agent = world.configure()
    first = world.begin(agent, "old#1").state()
    world.clock.advance(minutes=1)
    world.begin(agent, "new")
    second = world.begin(agent, "old#1").state()
    world.begin(agent, None, retry_of=second["turn_id"])
    listed = list_sessions(world.services, agent)
    assert [session["session_id"] for session in listed["sessions"]] == ["new", "old#1"]
    assert listed["sessions"][1] == {
        "session_id": "old#1",
        "status": "open",
        "turns": 2,
        "first_turn_at": first["started_at"],
        "last_turn_at": second["started_at"],
        "closed_at": None,
    }
    assert sessions(world, agent, limit=1) == ["new", "old#1"]


def test_sessions_are_found_by_id_and_by_every_user_who_had_a_turn(world):
    agent = world.configure()
    world.begin(agent, "ours", user_id="u#1")
    world.begin(agent, "nobody's")
    world.begin(agent, "ours", user_id="u2")
    world.begin(agent, "ours", user_id="u#1")
    world.begin(agent, "mine", user_id="u#1")
    assert sessions(world, agent, user_id="u#1", limit=1) == ["mine", "ours"]
    assert sessions(world, agent, user_id="u2") == ["ours"]
    assert sessions(world, agent, user_id="u") == []
    assert sessions(world, agent, session_id="ours") == ["ours"]
    assert sessions(world, agent, session_id="ours", user_id="u2") == ["ours"]
    assert sessions(world, agent, session_id="mine", user_id="u2") == []
    assert sessions(world, agent, session_id="our") == []


class Faster:
    """A table before whose next transaction somebody else is faster."""

    def __init__(self, table, other):
        self._table, self._others = table, [other]

    def __getattr__(self, name):
        return getattr(self._table, name)

    def transact(self, writes):
        if self._others:
            self._others.pop()()
        self._table.transact(writes)


@rule("TU-7")
@pytest.mark.parametrize("is_new", [True, False])
def test_turns_of_a_session_that_begin_at_once_are_all_counted_and_listed_for_their_users(world, is_new):
    agent = world.configure()
    if not is_new:
        world.begin(agent, "ours", user_id="u")
    begun = []
    table = Faster(world.table, lambda: begun.append(world.begin(agent, "ours", user_id="v")))
    slower = with_services(world, turns=Turns(table))
    begun.append(slower.begin(agent, "ours", user_id="u"))
    assert [turn.state()["number"] for turn in begun] == ([1, 2] if is_new else [2, 3])
    (session,) = list_sessions(world.services, agent)["sessions"]
    assert session["turns"] == begun[-1].state()["number"]
    assert session["last_turn_at"] == begun[-1].state()["started_at"]
    assert sessions(world, agent, user_id="u") == sessions(world, agent, user_id="v") == ["ours"]


@rule("TU-9")
def test_an_agent_without_sessions_has_none_listed(world):
    agent = world.configure(sessions=False, memory={"scope": {"read": ["agent"], "write": ["agent"]}})
    turn = world.begin(agent, None, user_id="u1")
    assert sessions(world, agent) == sessions(world, agent, user_id="u1") == []
    assert turns(world, agent, user_id="u1") == [turn.id]


# ---------------------------------------------------------------- executions


@rule("TR-2", "RC-8")
def test_an_execution_is_read_by_its_id_as_the_transcript_has_it(world):
    turn = world.begin(world.configure())
    calls = [turn.call("add_memory", {"summary": "The depot closes at noon.", "kind": "fact"}, call_id="c1")]
    id = calls[0]["output"]["memories"][0]["id"]
    calls += [turn.call("search_memory", {}), turn.call("read_memory", {"id": id})]
    calls += [turn.call("add_memory", {"kind": "fact"}), turn.call("delete_memory", {"id": id})]
    told = turn.transcript("execution")
    for called, event in zip(calls, told, strict=True):
        read = read_execution(world.services, turn.agent, called["tool_execution_id"])
        assert read == {**event, "turn_id": turn.id, "attempt": 1, "output_uses": read["output_uses"]}
    added, found, _, wrong, _ = (
        read_execution(world.services, turn.agent, called["tool_execution_id"]) for called in calls
    )
    assert (added["call_id"], added["output_uses"]) == ("c1", [])
    assert [use["memories"] for use in found["output_uses"]] == [[{"id": id, "version": 1}]]
    assert found["output_uses"] == turn.transcript("output_use")
    assert "output" not in wrong
    assert wrong["error"]["code"] == "invalid_input"


@rule("TR-2", "RL-5")
def test_a_recorded_recall_is_an_execution_too_with_the_text_it_showed(world):
    agent = world.configure()
    id = world.remember(agent, "The depot closes at noon.")
    first = world.begin(agent)
    first.roll_back()
    turn = world.begin(agent, None, retry_of=first.id)
    recalled = turn.recall("depot")
    read = read_execution(world.services, agent, recalled["tool_execution_id"])
    assert (read["tool"], read["attempt"], read["turn_id"]) == ("search_memory", 2, turn.id)
    assert [(m["id"], m["summary"]) for m in read["output"]["memories"]] == [(id, "The depot closes at noon.")]
    assert read["output_uses"][0]["tool_execution_id"] == recalled["tool_execution_id"]


@rule("GR-5", "SC-1")
def test_another_agents_execution_is_not_found(world):
    turn, other = world.begin(world.configure()), world.configure()
    id = turn.call("search_memory", {})["tool_execution_id"]
    assert read_execution(world.services, turn.agent, id)["turn_id"] == turn.id
    for agent, unknown in ((other, id), (turn.agent, turn.id), ("nobody", id)):
        with pytest.raises(NotFound):
            read_execution(world.services, agent, unknown)


@rule("TR-2")
def test_a_call_that_was_no_execution_is_not_read_as_one(world):
    turn = world.begin(world.configure())
    assert turn.recall("depot")["recorded"] is False
    (called,) = world.services.calls.between(turn.agent, None, None)
    with pytest.raises(NotFound):
        read_execution(world.services, turn.agent, called.id)


@rule("LC-4")
def test_rows_of_calls_hold_no_text(world):
    turn = world.begin(world.configure())
    turn.add("The depot closes at noon.")
    turn.recall("depot")
    rows = world.table.query("execution", keys.call(turn.agent, "").partition)
    assert rows
    assert "depot" not in repr(rows)


# ---------------------------------------------------------------- usage


def summed(world, agent, **how):
    return {each["key"]: each["calls"] for each in usage(world.services, agent, **how)["usage"]}


@rule("RL-6")
def test_usage_is_what_the_transcripts_tell_summed(world):
    agent = world.configure()
    told = []
    for session, user in (("s1", "u1"), ("s1", None), ("s2", "u1")):
        turn = world.begin(agent, session, user_id=user)
        turn.add(f"The depot of {session} and {user} closes.")
        turn.search("depot")
        turn.recall(f"depot {session}")
        turn.recall("depot")  # known by now: counted, and for nothing
        told += turn.transcript("usage")
    (total,) = usage(world.services, agent)["usage"]
    tokens = sum(event["input_tokens"] for event in told)
    assert total == {"key": "embed", "calls": len(told), "input_tokens": tokens, "output_tokens": 0}
    assert total["calls"] == 12
    for event in told:
        assert event.keys() - {"sequence", "at", "type"} == {
            "purpose",
            "model",
            "input_tokens",
            "output_tokens",
            "cached",
            "limited",
            "for",
        }
    assert summed(world, agent, by="session") == {"s1": 8, "s2": 4}
    assert summed(world, agent, by="user") == {"u1": 8, None: 4}


@rule("RL-6")
def test_usage_is_summed_by_day_between_two_moments(world):
    agent = world.configure()
    moments = []
    for _ in range(3):
        turn = world.begin(agent)
        moments.append(written(world.clock.now()))
        turn.search("depot")
        world.clock.advance(hours=23)
    assert summed(world, agent, by="day") == {"2026-05-12": 1, "2026-05-13": 1, "2026-05-14": 1}
    assert summed(world, agent, by="day", since=moments[1]) == {"2026-05-13": 1, "2026-05-14": 1}
    assert summed(world, agent, by="day", until=moments[1]) == {"2026-05-12": 1}
    assert summed(world, agent, since=moments[1], until=moments[1]) == {}


@rule("SC-1")
def test_usage_of_one_agent_is_not_anothers(world):
    agent, other = world.configure(), world.configure()
    world.begin(agent).search("depot")
    assert summed(world, other) == {}


# ---------------------------------------------------------------- agents


def test_agents_are_listed_by_id_with_their_newest_version(world):
    made = sorted(world.configure() for _ in range(3))
    world.configure(agent=made[1], notes={"enabled": False})
    ask = lambda after: list_agents(world.services, limit=2, after=after)  # noqa: E731
    listed = [each for page in pages(ask, "agents") for each in page]
    assert [(each["agent_id"], each["version"]) for each in listed] == [(made[0], 1), (made[1], 2), (made[2], 1)]
    first = world.services.agents.version(made[1], 1)
    assert first
    assert listed[1]["created_at"] == first.created_at


@rule("GR-5")
@pytest.mark.parametrize(
    "ask",
    [
        lambda services: list_turns(services, "nobody", TurnFilters()),
        lambda services: list_sessions(services, "nobody"),
        lambda services: list_sessions(services, "nobody", session_id="s1"),
        lambda services: list_sessions(services, "nobody", user_id="u1"),
        lambda services: usage(services, "nobody"),
    ],
)
def test_an_agent_that_is_not_there_has_no_lists(machine, ask):
    with pytest.raises(NotFound):
        ask(machine.services)
