"""The client and the server name the same things: fields of answers, arguments of calls. A field that one of them gets
and the other does not fails here."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel
from scripted_api import turn as turn_answer

from agent_memory.client import (
    AgentMemory,
    Message,
    Platform,
    ToolCall,
    activity,
    agent,
    answers,
    auth,
    memories,
    memory,
    records,
    turn_tools,
)
from agent_memory.client import (
    fields as choices_of,
)
from agent_memory.client import turn as turns
from agent_memory.client.agent import Agent
from agent_memory.client.reading import shaped
from agent_memory.client.turn import Turn
from agent_memory.domain import messages, tool_inputs
from agent_memory.runtime import record_shapes, requests, shapes, transcript_shapes

SHAPES: Mapping[type[BaseModel], type] = {
    shapes.ConfigAnswer: answers.Configuration,
    shapes.ConfigVersion: answers.ConfigVersion,
    shapes.Tools: answers.Tools,
    shapes.BegunTurn: answers.BegunTurn,
    shapes.TurnShape: answers.TurnState,
    shapes.AddedMessage: answers.AddedMessage,
    shapes.JudgementAnswer: activity.Judgement,
    record_shapes.Recalled: records.Recall,
    record_shapes.Item: records.RecalledItem,
    record_shapes.ToolAnswer: records.ToolResult,
    record_shapes.HistoryEvent: records.HistoryEvent,
    record_shapes.RecordShape: records.Record,
    record_shapes.ListedRecord: records.FoundRecord,
    shapes.AgentShape: activity.AgentSummary,
    shapes.SessionShape: activity.Session,
    transcript_shapes.ExecutionShape: activity.Execution,
    shapes.UsageSum: activity.UsageSum,
    shapes.StatusShape: answers.Status,
}

Method = Callable[..., Any]
BODIES: Mapping[type[BaseModel], tuple[Method, set[str]]] = {
    requests.BeginBody: (Agent.begin, set()),
    requests.MessagesBody: (Turn.add_messages, set()),
    requests.RecallBody: (Turn.recall, set()),
    requests.ToolBody: (Turn.call_tool, {"name"}),
    requests.JudgementBody: (Turn.judge, set()),
    requests.EndBody: (Turn.end, {"wait"}),
    requests.EmptyBody: (Turn.review_again, {"wait"}),
    requests.MemoryBody: (Agent.insert_memory, set()),
    requests.PlatformMemoryBody: (Platform.insert_memory, set()),
    requests.DecisionBody: (Platform.decide, {"id", "version"}),
    tool_inputs.AddMemory: (Turn.add, set()),
    tool_inputs.SearchMemory: (Turn.search, {"conversation"}),
    tool_inputs.ReadMemory: (Turn.read, {"conversation"}),
    tool_inputs.DeleteMemory: (Turn.delete, set()),
    tool_inputs.SearchHistory: (Turn.search_history, {"conversation"}),
    requests.ConfigQuery: (Agent.config, set()),
    requests.ToolsQuery: (Agent.tools, set()),
    requests.WaitQuery: (Turn.refresh, set()),
    requests.PageQuery: (Agent.memory_versions, {"id"}),
    requests.TranscriptQuery: (Turn.transcript, set()),
    requests.TurnsQuery: (Agent.turns, set()),
    requests.SessionsQuery: (Agent.sessions, set()),
    requests.UsageQuery: (Agent.usage, set()),
    requests.MemoriesQuery: (Agent.memories, set()),
    requests.PlatformMemoriesQuery: (Platform.memories, set()),
}
OTHER_NAMES = {"type": "types", "limit": "page_size"}  # of query strings
GIVEN_BY_ITSELF = {
    requests.PlatformMemoryBody: {"scope"},
    requests.PlatformMemoriesQuery: {"scope", "query", "explain"},
    requests.MemoriesQuery: {"query", "explain"},  # of `search_memories`
}


def taken_by(method: Method) -> set[str]:
    """The arguments, those of a TypedDict by their own names; a key for the call is none of the body's."""
    parameters = inspect.signature(method).parameters.values()
    named = {one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD}
    (several,) = [get_type_hints(method)[one.name] for one in parameters if one.name not in named] or [None]
    return (named | set(get_type_hints(get_args(several)[0]) if several else ())) - {"self", "idempotency_key"}


def model_in(annotation: Any) -> type[BaseModel] | None:
    found = [one for one in (annotation, *get_args(annotation)) if inspect.isclass(one) and issubclass(one, BaseModel)]
    return found[0] if found else None


def dataclass_in(annotation: Any) -> type | None:
    found = [one for one in (annotation, *get_args(annotation)) if is_dataclass(one)]
    return found[0] if found else None  # type: ignore[return-value]


def differences(shape: type[BaseModel], read: type) -> list[str]:
    """What one has and the other has not, in all depths. `score` is a view's own here, and an item's there."""
    hints = get_type_hints(read)
    names = {field.name for field in fields(read)}
    found = [f"{read.__name__}.{name}" for name in names ^ set(shape.model_fields) if name != "score"]
    for name in names & set(shape.model_fields):
        below, inner = model_in(shape.model_fields[name].annotation), dataclass_in(hints[name])
        if below and inner:
            found += differences(below, inner)
    return found


@pytest.mark.rule("IF-3")
@pytest.mark.parametrize(("shape", "read"), SHAPES.items(), ids=lambda one: one.__name__)
def test_an_answer_has_the_fields_that_the_server_gives(shape: type[BaseModel], read: type) -> None:
    assert differences(shape, read) == []


@pytest.mark.rule("IF-3")
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_method_takes_what_the_server_takes(body: type[BaseModel]) -> None:
    method, its_own = BODIES[body]
    is_paged = issubclass(body, requests.PageQuery)
    names = set(body.model_fields) - ({"after"} if is_paged else set()) - GIVEN_BY_ITSELF.get(body, set())
    assert taken_by(method) - its_own == {OTHER_NAMES.get(name, name) if is_paged else name for name in names}


@pytest.mark.rule("IF-3", "GR-3")
@pytest.mark.parametrize(
    ("search", "listed"), [(Agent.search_memories, Agent.memories), (Platform.search_memories, Platform.memories)]
)
def test_records_are_searched_under_all_filters_of_their_list(search: Method, listed: Method) -> None:
    assert taken_by(search) - {"query", "explain", "limit"} == taken_by(listed) - {"page_size"}


@pytest.mark.rule("IF-2")
def test_what_sends_a_post_takes_a_key() -> None:
    posts = {method for body, (method, _) in BODIES.items() if not issubclass(body, requests.Query)}
    posts |= {Agent.restore_memory, Agent.review_again}
    keyed = {m for each in (Agent, Turn, Platform) for m in each_method(each) if "idempotency_key" in signature_of(m)}
    assert keyed == posts


def each_method(kind: type) -> Iterator[Method]:
    for each in kind.__mro__:
        yield from (one for name, one in vars(each).items() if inspect.isfunction(one) and name[0] != "_")


def signature_of(method: Method) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(method).parameters


def test_a_message_takes_what_the_server_takes() -> None:
    known = set(messages.AgentMessage.model_fields) | set(messages.ToolMessage.model_fields)
    assert set(Message.__annotations__) == known
    assert set(ToolCall.__annotations__) == set(messages.ToolCall.model_fields)


@pytest.mark.parametrize(
    ("choices", "field"),
    [
        (choices_of.Scope, requests.MemoriesQuery.model_fields["scope"]),
        (choices_of.AgentScope, requests.AgentScope),
        (choices_of.Source, requests.MemoriesQuery.model_fields["source"]),
        (choices_of.Status, requests.Status),
        (choices_of.TurnStatus, requests.TurnState),
        (turns.EventType, requests.EventType),
    ],
    ids=str,
)
def test_a_choice_offers_what_the_server_takes(choices: Any, field: Any) -> None:
    taken = {one for part in get_args(getattr(field, "annotation", field)) for one in get_args(part) or [part]}
    assert set(get_args(choices)) == taken - {type(None)}


def test_what_a_newer_server_adds_is_passed_over_in_all_depths() -> None:
    newer = {"id": "m", "version": 1, "status": "HIDDEN", "replaces": [], "source": "moon", "pinned": True}
    state = shaped(answers.TurnState, turn_answer(memories=[newer], lessons=3, status="dreaming").body)
    assert (state.status, state.memories[0].status) == ("dreaming", "HIDDEN")


def test_what_an_older_server_leaves_out_of_a_begun_turn_is_not_missed() -> None:
    assert shaped(answers.BegunTurn, turn_answer().body).still_ending == []


# ---------------------------------------------------------------- what it costs to have


def imported_by(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return set(printed.split())


def test_the_client_brings_neither_the_server_nor_the_signer() -> None:
    brought = imported_by("import agent_memory.client")
    assert brought & {"botocore", "boto3", "numpy", "opensearchpy", "starlette", "aws_lambda_powertools"} == set()
    ours = {name for name in brought if name.startswith("agent_memory.") and not name.startswith("agent_memory.client")}
    assert ours == {"agent_memory.domain", "agent_memory.domain.errors"}


def test_without_httpx_it_says_what_to_install() -> None:
    script = "import sys; sys.modules['httpx'] = None; import agent_memory.client"
    failed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "ModuleNotFoundError: The client needs httpx: pip install 'agent-memory[client]'" in failed.stderr


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8080", "ftp://x.test", "http://", "http://x.test/?a=b", "http://x:port", 7]
)
def test_an_address_that_is_none_is_told_at_once(url: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        AgentMemory(url)


@pytest.mark.parametrize("module", [agent, memories, memory, turns, turn_tools, auth])
def test_every_public_method_says_what_it_does(module: Any) -> None:
    classes = [one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__]
    methods = [m for each in classes for name, m in vars(each).items() if inspect.isfunction(m) and name[0] != "_"]
    assert [method.__qualname__ for method in methods if not method.__doc__ and method.__name__ != "auth_flow"] == []
