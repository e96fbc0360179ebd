"""The typed client against the one-machine edition: every method, every page, every error as the tree has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from http_api import EVERY_SCOPE, NOWHERE
from in_process import InProcess

from agent_memory import __version__
from agent_memory.client import (
    Agent,
    AgentMemory,
    Conflict,
    IfMatchRequired,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Resending,
    ToolRefused,
    Turn,
    VersionMismatch,
)
from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.runtime.problems import CODES
from agent_memory.runtime.routes import ROUTES

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
MEMORY = {
    "enabled": True,
    "scope": {"read": EVERY_SCOPE, "write": EVERY_SCOPE},
    "tools": ["add_memory", "read_memory", "delete_memory"],
    "search": {"mode": "lexical"},
    "labels": {"room": {"number": 5, "description": "The room."}},
}
WITH_PLATFORM = {
    "memory": MEMORY | {"scope": {"read": [*EVERY_SCOPE, "platform"], "write": [*EVERY_SCOPE, "platform"]}},
}
SAID = {"role": "user", "text": "Where are the keys?"}


@pytest.fixture(scope="module")
def transport(edition: Edition) -> InProcess:
    return InProcess(Gateway(edition.switches).app())


@pytest.fixture(scope="module")
def memory(transport: InProcess) -> Iterator[AgentMemory]:
    with AgentMemory("http://127.0.0.1", transport=transport, resending=Resending(attempts=1)) as memory:
        yield memory


@pytest.fixture
def agent(memory: AgentMemory) -> Agent:
    agent = memory.agent("a" + uuid4().hex[:12])
    agent.configure({"memory": MEMORY}, if_absent=True)
    return agent


def saved(agent: Agent, *summaries: str, session: str = "s") -> list[str]:
    with agent.begin(session_id=session) as turn:
        return [turn.add(summary, kind="fact", labels={"room": "7"}).memory.id for summary in summaries]


@pytest.mark.rule("IF-3")
def test_every_route_has_its_method(memory: AgentMemory, transport: InProcess) -> None:
    transport.called.clear()
    agent = memory.agent("all-routes")
    assert agent.configure({"memory": MEMORY}).version == 1
    assert agent.config().config["memory"]["recall"]["max_tokens"] == 2000
    assert [version.version for version in agent.config_versions()] == [1]
    assert {tool["name"] for tool in agent.tools().tools} >= {"search_memory", "add_memory"}
    assert agent.id in [each.agent_id for each in memory.agents(page_size=1)]
    turn = a_turn_is_driven_by(agent)
    what_it_did_is_read_of(agent, turn)
    its_records_are_changed_by_people(agent, turn.state.memories[0].id)
    platform_records_are_decided_on(memory, agent)
    assert memory.status().version == __version__
    assert memory.openapi()["openapi"].startswith("3.1")
    assert transport.routes() == {(route.method, route.resource) for route in ROUTES}


def a_turn_is_driven_by(agent: Agent) -> Turn:
    begun = agent.begin(session_id="s", messages=[{"role": "user", "text": "Hello."}])
    turn = agent.turn(begun.id)
    assert (turn.state, turn.still_ending) == (begun.refresh(), [])
    (added,) = turn.add_messages([{"role": "agent", "text": "Hello yourself."}])
    assert added.sequence == 2
    record = turn.add("The keys hang in the hall.", kind="fact").memory
    assert turn.recall("keys").memories == []
    assert turn.judge("rejected", "Say where the hall is.", judge="grader").lesson
    assert turn.end().status == "committed"
    assert turn.state.memories[0].id == record.id
    return turn


def what_it_did_is_read_of(agent: Agent, turn: Turn) -> None:
    events = list(turn.transcript())
    assert events[-1]["type"] == "turn.committed"
    with pytest.raises(Conflict) as refused:
        agent.review_again(turn.id)
    assert refused.value.code == "no_failed_review"
    (called,) = [event["tool_execution_id"] for event in events if event["type"] == "execution"]
    execution = agent.execution(called)
    assert (execution.turn_id, execution.tool, execution.output_uses) == (turn.id, "add_memory", [])
    assert [state.turn_id for state in agent.turns(session_id="s", status="committed")] == [turn.id]
    assert [(session.session_id, session.turns) for session in agent.sessions()] == [("s", 1)]
    assert {spent.key for spent in agent.usage(by="session")} <= {"s"}


def its_records_are_changed_by_people(agent: Agent, id: str) -> None:
    lesson, listed = agent.memories()
    assert (lesson.source, lesson.summary) == ("lesson", "Say where the hall is.")
    assert listed == agent.memory(id) == agent.memory_version(id, 1)
    assert list(agent.memory_versions(id)) == [listed]
    inserted = agent.insert_memory("The hall is on the left.", kind="fact", scope="agent", memory_key="hall")
    assert (inserted.source, inserted.memory_key, inserted.written_by.caller) == ("person", "hall", "local")
    assert agent.delete_memory(inserted.id, version=1).status == "DELETED"
    assert agent.restore_memory(inserted.id, version=2).status == "ACTIVE"


def platform_records_are_decided_on(memory: AgentMemory, agent: Agent) -> None:
    platform = memory.platform
    agent.configure(WITH_PLATFORM, if_match=1)
    with agent.begin(session_id="s") as turn:
        proposed = turn.add("Refunds need a receipt.", kind="constraint", scope="platform").memory
    assert [record.status for record in platform.memories(status="PENDING")] == ["PENDING"]
    approved = platform.decide(proposed.id, "approve", version=platform.memory(proposed.id).version, reason="Policy.")
    assert approved.status == "ACTIVE"
    assert [version.status for version in platform.memory_versions(proposed.id)] == ["ACTIVE", "PENDING"]
    written = platform.insert_memory("Be brief.", kind="guidance")
    assert platform.delete_memory(written.id).status == "DELETED"


# ---------------------------------------------------------------- configuration


@pytest.mark.rule("CF-7")
def test_a_configuration_follows_the_version_that_is_named(agent: Agent) -> None:
    with pytest.raises(IfMatchRequired):
        agent.configure({})
    with pytest.raises(VersionMismatch) as refused:
        agent.configure({}, if_match=7)
    assert refused.value.current == {"version": 1}
    with pytest.raises(VersionMismatch):
        agent.configure({}, if_absent=True)
    assert agent.configure({"memory": MEMORY}, if_match=1).unchanged
    assert agent.configure({"memory": MEMORY, "notes": {"enabled": False}}, if_match=1).version == 2
    assert (agent.config(1).config["notes"]["enabled"], agent.config().version) == (True, 2)
    assert [each.version for each in agent.config_versions(page_size=1)] == [2, 1]


@pytest.mark.rule("CF-1", "IF-1")
def test_all_faults_of_a_configuration_come_with_the_error_and_stand_in_its_traceback(memory: AgentMemory) -> None:
    with pytest.raises(InvalidRequest) as refused:
        memory.agent("faulty").configure({"sessions": "perhaps", "memory": {"kinds": ["Not A Name"]}})
    assert {fault.path for fault in refused.value.faults} == {"sessions", "memory.kinds[0]"}
    assert refused.value.request_id
    told = "\n".join(refused.value.__notes__)
    assert refused.value.request_id in told
    assert "memory.kinds[0]: takes" in told


@pytest.mark.rule("CF-8")
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "bedrock"])
def test_tools_come_in_the_dialect_and_for_the_audience_asked_for(agent: Agent, dialect: Any) -> None:
    assert agent.tools(dialect).format == dialect
    assert len(agent.tools(dialect, "helper", version=1).tools) < len(agent.tools(dialect).tools)


# ---------------------------------------------------------------- turns


@pytest.mark.rule("TU-1", "TU-2")
def test_a_turn_in_a_with_commits_at_the_end_of_the_block(agent: Agent) -> None:
    with agent.begin(session_id="s", user_id="u-7", time_zone="Europe/Berlin", messages=[SAID]) as turn:
        id = turn.add("The keys hang in the hall.", kind="fact", scope="user", occurred_at=datetime.now(UTC)).memory.id
        assert turn.state.status == "open"
    assert turn.state.status == "committed"
    assert agent.memory(id).user_id == "u-7"


@pytest.mark.rule("TU-1")
@pytest.mark.parametrize("leaving", [ZeroDivisionError, KeyboardInterrupt])
def test_what_leaves_the_block_rolls_the_turn_back_and_goes_on(agent: Agent, leaving: type[BaseException]) -> None:
    turn = agent.begin(session_id="s")
    turn.add("The keys hang in the hall.", kind="fact")
    with pytest.raises(leaving), turn:
        raise leaving
    assert (turn.state.status, turn.state.reason) == ("rolled_back", "failed")
    assert list(agent.memories()) == []


@pytest.mark.rule("TU-2")
def test_a_turn_that_its_block_has_ended_stays_as_it_was_ended(agent: Agent) -> None:
    turn = agent.begin(session_id="s")
    turn.end("completed", messages=[{"role": "agent", "text": "In the hall."}], wait=0)
    with pytest.raises(ZeroDivisionError), turn:
        raise ZeroDivisionError
    assert turn.wait().status == turn.refresh().status == "committed"
    assert turn.end("completed").status == "committed"
    with pytest.raises(Conflict) as refused:
        turn.end("failed")
    assert refused.value.code == "outcome_differs"
    with pytest.raises(Conflict) as refused:
        turn.recall("keys")
    assert refused.value.code == "turn_not_open"


@pytest.mark.rule("TU-6")
def test_a_failed_turn_is_tried_again(agent: Agent) -> None:
    turn = agent.begin(session_id="s", workflow_id="w")
    turn.end("failed", error="model overloaded")
    again = agent.begin(retry_of=turn.id)
    assert (again.state.number, again.state.attempt, again.state.workflow_id) == (1, 2, "w")
    assert again.state.retry_of == turn.id


@pytest.mark.rule("HI-5")
def test_a_turn_is_run_again_over_what_it_saw(agent: Agent) -> None:
    with agent.begin(session_id="s", user_id="u") as turn:
        turn.add(summary="The keys hang in the hall.", kind="fact")
    with agent.begin(replay_of=turn.id) as again:
        assert again.search("keys").memories == []
        state = again.state
    assert (state.replay_of, state.preview, state.number, state.user_id) == (turn.id, True, 1, "u")


@pytest.mark.rule("TR-1")
def test_a_transcript_is_read_over_all_of_its_pages(agent: Agent) -> None:
    with agent.begin(session_id="s") as turn:
        turn.add_messages([{"role": "user", "text": f"Message {n}."} for n in range(7)])
        turn.search("keys")
    whole = [event["sequence"] for event in turn.transcript()]
    assert len(whole) >= 9
    assert [event["sequence"] for event in turn.transcript(page_size=2)] == sorted(whole)
    assert len(list(turn.transcript(types="message", page_size=3))) == 7
    assert {event["type"] for event in turn.transcript(types=["execution", "turn.committed"])} == {
        "execution",
        "turn.committed",
    }


def test_a_message_takes_all_that_the_server_takes(agent: Agent) -> None:
    turn = agent.begin(session_id="s")
    at = datetime(2026, 5, 12, 10, tzinfo=UTC)
    call: Any = {"call_id": "c1", "tool": "look_up", "input": {"order": 7}}
    turn.add_messages(
        [
            {"role": "agent", "text": "", "calls": [call], "at": at},
            {
                "role": "tool",
                "text": "none",
                "call_id": "c1",
                "tool": "look_up",
                "is_error": True,
                "purpose": "message",
            },
        ]
    )
    said, answered = turn.transcript(types="message")
    assert (said["calls"], said["said_at"]) == ([call], at.isoformat())
    assert (answered["is_error"], answered["call_id"]) == (True, "c1")


@pytest.mark.rule("GT-2")
def test_a_lone_surrogate_reaches_the_server_which_names_its_place(agent: Agent) -> None:
    with pytest.raises(InvalidRequest) as refused:
        agent.begin(session_id="s", messages=[{"role": "user", "text": "\ud800"}])
    assert [fault.path for fault in refused.value.faults] == ["messages[0].text"]


# ---------------------------------------------------------------- recall and tools


@pytest.mark.rule("RL-3", "RK-3")
def test_a_recall_shows_what_earlier_turns_saved(agent: Agent) -> None:
    (id,) = saved(agent, "The keys hang in the hall.")
    turn = agent.begin(session_id="s")
    plain = turn.recall(messages=[SAID])
    assert [item.id for item in plain.memories] == [id]
    assert "The keys hang in the hall." in plain.block
    assert (plain.recorded, plain.omitted.count, plain.memories[0].ranks) == (True, 0, None)
    explained = turn.recall("keys", conversation="helper:h1", explain=True)
    assert explained.conversation == "helper:h1"
    assert explained.memories[0].ranks
    assert explained.memories[0].ranks.lexical == 1
    with pytest.raises(InvalidRequest):
        turn.recall()


@pytest.mark.rule("TL-5")
def test_a_refusal_of_a_tool_is_given_to_the_model_and_raised_to_a_program(agent: Agent) -> None:
    turn = agent.begin(session_id="s")
    result = turn.call_tool("add_memory", {"summary": "Two\nlines.", "kind": "fact"}, call_id="call-1")
    assert result.is_error
    assert result.output is None
    assert result.error
    assert (result.error.code, result.error.argument) == ("invalid_input", "summary")
    assert result.error.message in result.text
    with pytest.raises(ToolRefused) as refused:
        turn.add("Two\nlines.", kind="fact")
    assert (refused.value.code, refused.value.argument) == ("invalid_input", "summary")
    with pytest.raises(NotFound):
        turn.call_tool("no_such_tool", {})


@pytest.mark.rule("TL-1", "TL-2", "TL-3", "TL-4")
def test_a_program_saves_searches_reads_and_deletes(agent: Agent) -> None:
    with agent.begin(session_id="s") as turn:
        first = turn.add(
            "The keys hang in the hall.",
            kind="fact",
            content="Behind the door.",
            labels={"room": "7"},
            scope="agent",
            priority=70,
            confidence=0.5,
            occurred_at="2026-05-12T10:00:00+02:00",
            expires_at=datetime.now(UTC) + timedelta(days=900),
        )
        again = turn.add("The lamp is on.", kind="fact", priority=1)
        assert turn.add("The lamp is on.", kind="fact", priority=1).duplicate
    with agent.begin(session_id="s") as turn:
        found = turn.search("keys", kind="fact", labels={"room": "7"}).memories
        assert [view.id for view in found] == [first.memory.id]
        page = turn.search(limit=1)
        assert page.next
        assert [view.id for view in turn.search(limit=1, after=page.next).memories] == [first.memory.id]
        assert turn.search(ids=[NOWHERE, first.memory.id]).missing == [NOWHERE]
        newer = turn.add("The keys lie in the car.", kind="fact", scope="agent", replaces=first.memory.id)
        assert newer.memory.replaces == [first.memory.id]
        assert turn.read(first.memory.id).content == "Behind the door."
        assert turn.delete(again.memory.id).status == "DELETED"
    assert [record.id for record in agent.memories()] == [newer.memory.id]


# ---------------------------------------------------------------- records


@pytest.mark.rule("GR-3", "IF-4")
def test_records_are_listed_over_all_pages_and_asked_for_as_they_are_used(
    agent: Agent, memory: AgentMemory, transport: InProcess
) -> None:
    ids = saved(agent, *(f"Fact {n}." for n in range(5)))
    assert [record.id for record in agent.memories(page_size=2)] == sorted(ids, reverse=True)
    transport.called.clear()
    unused = agent.memories()
    assert not transport.called
    assert [record.id for record in islice(unused, 1)] == [max(ids)]


@pytest.mark.rule("GR-3")
def test_every_filter_reaches_the_server(agent: Agent) -> None:
    (id,) = saved(agent, "The keys hang in the hall.", session="über/§ &=+#?")
    now = datetime.now(UTC)
    found: list[Callable[[], Iterator[Any]]] = [
        lambda: agent.memories(session_id="über/§ &=+#?"),
        lambda: agent.memories(scope="session", kind="fact", source="tool", labels={"room": "7"}),
        lambda: agent.memories(status=["ACTIVE", "DELETED"]),
        lambda: agent.memories(status="all"),
        lambda: agent.memories(since=now - timedelta(hours=1), until=(now + timedelta(hours=1)).isoformat()),
    ]
    missed: list[Callable[[], Iterator[Any]]] = [
        lambda: agent.memories(session_id="über/§ &=+#"),
        lambda: agent.memories(workflow_id="w"),
        lambda: agent.memories(user_id="u"),
        lambda: agent.memories(labels={"room": "8"}),
        lambda: agent.memories(status="DELETED"),
        lambda: agent.memories(expired=True),
        lambda: agent.memories(until=now - timedelta(hours=1)),
    ]
    assert [[record.id for record in ask()] for ask in found] == [[id]] * len(found)
    assert [list(ask()) for ask in missed] == [[]] * len(missed)


@pytest.mark.rule("GR-3")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"memory_key": "keys"}, True),
        ({"memory_key": "lamp"}, False),
        ({"pinned": False, "preview": False}, True),
        ({"pinned": True}, False),
        ({"preview": True}, False),
        ({"source": "person", "status": "ACTIVE"}, True),
    ],
)
def test_keys_pins_and_previews_are_filtered_by(agent: Agent, filters: Any, found: bool) -> None:
    id = agent.insert_memory("The keys hang in the hall.", kind="fact", scope="agent", memory_key="keys").id
    assert [record.id for record in agent.memories(**filters)] == ([id] if found else [])
    assert [record.id for record in agent.search_memories("keys", **filters).memories] == ([id] if found else [])


@pytest.mark.rule("GR-3", "RK-3")
def test_records_are_searched_best_first_and_explained(agent: Agent) -> None:
    best, other = saved(agent, "The keys hang in the hall.", "Nobody has the keys of the old green car any more.")
    found = agent.search_memories("keys in the hall", limit=2, explain=True, session_id="s")
    assert [record.id for record in found.memories] == [best, other]
    assert found.memories[0].ranks
    assert (found.memories[0].ranks.lexical, found.degraded, found.ranked) == (1, False, 2)
    assert agent.search_memories("keys", limit=1).memories[0].ranks is None


@pytest.mark.rule("GR-3", "SC-4")
def test_platform_records_are_filtered_and_searched_as_an_agents_are(memory: AgentMemory) -> None:
    platform, key = memory.platform, uuid4().hex
    written = platform.insert_memory(f"Refunds need a receipt {key}.", kind="guidance", memory_key=key)
    assert [record.id for record in platform.memories(memory_key=key, status="all", page_size=1)] == [written.id]
    assert list(platform.memories(memory_key=key, source="tool")) == []
    (found,) = platform.search_memories("receipt for refunds", memory_key=key, explain=True, limit=1).memories
    assert (found.id, found.agent_id, found.scope) == (written.id, None, "platform")
    with pytest.raises(Conflict) as refused:
        platform.decide(written.id, "reject", version=1)
    assert (refused.value.code, refused.value.current) == (
        "not_pending",
        {"id": written.id, "version": 1, "status": "ACTIVE"},
    )


@pytest.mark.rule("GR-9")
def test_an_equal_record_is_given_back(agent: Agent) -> None:
    first, again = (agent.insert_memory("Closed on Mondays.", kind="fact", scope="agent") for _ in range(2))
    assert (again.id, again.version) == (first.id, 1)


@pytest.mark.rule("GR-4", "GR-8")
def test_a_change_of_a_record_names_the_version_that_was_read(agent: Agent) -> None:
    (id,) = saved(agent, "The keys hang in the hall.")
    for change in (agent.delete_memory, agent.restore_memory):
        with pytest.raises(VersionMismatch) as refused:
            change(id, version=7)
        assert refused.value.current == {"id": id, "version": 1, "status": "ACTIVE"}
    with pytest.raises(Conflict) as conflict:
        agent.restore_memory(id)
    assert conflict.value.code == "not_restorable"


@pytest.mark.rule("SC-5")
def test_an_empty_id_is_no_missing_filter(agent: Agent) -> None:
    with pytest.raises(InvalidRequest):
        list(agent.memories(session_id=""))


@pytest.mark.rule("RC-6", "GR-4")
def test_the_versions_of_a_record_are_read_newest_first(agent: Agent) -> None:
    (id,) = saved(agent, "The keys hang in the hall.")
    with agent.begin(session_id="s") as turn:
        turn.delete(id)
    assert [(each.version, each.status) for each in agent.memory_versions(id, page_size=1)] == [
        (2, "DELETED"),
        (1, "ACTIVE"),
    ]
    assert agent.memory_version(id, 1).status == "ACTIVE"
    assert agent.memory(id).written_by.turn_id == turn.id


# ---------------------------------------------------------------- calls that come twice


@pytest.mark.rule("IF-2")
def test_a_call_of_an_earlier_process_is_repeated_by_its_key(agent: Agent) -> None:
    first, again = (agent.begin(session_id="s", idempotency_key="job-7") for _ in range(2))
    assert (first.id, first.state.number) == (again.id, 1)
    saves = [first.add("Closed on Mondays.", kind="fact", idempotency_key="job-7/save").memory.id for _ in range(2)]
    assert len(set(saves)) == 1
    with pytest.raises(NotAllowed) as refused:
        agent.begin(session_id="other", idempotency_key="job-7")
    assert refused.value.code == "idempotency_mismatch"


@pytest.mark.rule("IF-2", "IF-3")
def test_a_call_whose_answer_was_lost_has_one_effect(agent: Agent, transport: InProcess) -> None:
    losing = Losing(transport)
    with AgentMemory("http://127.0.0.1", transport=losing, resending=Resending(sleep=lambda _: None)) as memory:
        same = memory.agent(agent.id)
        with same.begin(session_id="s", messages=[SAID]) as turn:
            turn.add_messages([SAID])
            turn.add("The keys hang in the hall.", kind="fact")
        same.insert_memory("The lamp is on.", kind="fact", scope="agent")
    assert turn.state.number == 1
    assert [event["type"] for event in agent.turn(turn.id).transcript()] == [
        "message",
        "message",
        "execution",
        "usage",
        "usage",
        "turn.committed",
    ]
    assert [state.turn_id for state in agent.turns()] == [turn.id]
    assert [record.summary for record in agent.memories()] == ["The lamp is on.", "The keys hang in the hall."]


class Losing(httpx.BaseTransport):
    """Carries every call out and loses each first answer."""

    def __init__(self, within: httpx.BaseTransport) -> None:
        self.within = within
        self.is_lost = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.within.handle_request(request)
        self.is_lost = not self.is_lost
        if self.is_lost:
            raise httpx.ReadError("connection lost", request=request)
        return answer


# ---------------------------------------------------------------- errors


@pytest.mark.rule("IF-1")
def test_what_is_not_there_is_not_found(memory: AgentMemory, agent: Agent) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: memory.agent("nobody").config(),
        lambda: memory.agent("nobody").begin(session_id="s"),
        lambda: agent.turn(NOWHERE),
        lambda: agent.memory(NOWHERE),
        lambda: agent.memory("no id/at all?"),
        lambda: list(agent.memory_versions(NOWHERE)),
    ]
    for ask in asked:
        with pytest.raises(NotFound) as refused:
            ask()
        assert refused.value.request_id


@pytest.mark.rule("TU-9")
def test_what_is_well_formed_and_not_allowed_says_why_in_its_code(agent: Agent) -> None:
    with pytest.raises(NotAllowed) as refused:
        agent.begin()
    assert refused.value.code == "session_required"
    assert refused.value.code in CODES[422]


# ---------------------------------------------------------------- the README


def examples() -> list[str]:
    part = README.partition("\n## Use it from Python\n")[2].partition("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme_run(memory: AgentMemory, transport: InProcess) -> None:
    harness, deployed = examples()
    names: dict[str, Any] = {}
    local = harness.replace('"http://127.0.0.1:8080"', '"http://127.0.0.1:8080", transport=transport')
    exec(local, names | {"transport": transport}, names)
    assert names["recalled"].memories[0].summary == "Wants invoices by post."
    assert [record.summary for record in memory.agent("support").memories(user_id="u-7")] == ["Wants invoices by post."]
    exec(deployed, names)
    names["memory"].close()
