"""The handlers over both editions: the same calls, the same answers; and the wiring that a function does by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from http_api import Api, ok, problem
from moto import mock_aws
from table_fixtures import create_tables
from world import World

from agent_memory.adapters.change_feed import FeedRow
from agent_memory.adapters.dynamodb_client import dynamodb_client
from agent_memory.local.feed import stream_event
from agent_memory.local.gateway import Gateway
from agent_memory.runtime import settings, wiring
from agent_memory.runtime.settings import SettingsError, embedder_settings, settings_of
from functions.index.handler import handler as index_handler

ENVIRONMENT = {
    settings.MEMORY_TABLE: "Memory",
    settings.EXECUTION_TABLE: "Execution",
    settings.OPENSEARCH_URL: "http://127.0.0.1:1",
    settings.EMBEDDER: "openai:http://127.0.0.1:1/v1",
    settings.EMBEDDER_MODEL: "scripted",
    settings.EMBEDDER_DIMENSIONS: "64",
    settings.EMBEDDER_MIN_SCORE: "0.5",
}


@pytest.fixture
def api() -> Iterator[Api]:
    yield Api(Gateway().app())
    wiring.use(None)


@pytest.mark.rule("TU-1", "TU-4", "RK-5", "RL-1")
def test_a_turns_whole_way_over_http(world: World, api: Api) -> None:
    wiring.use(wiring.Wired(world.services, "test"))
    agent = api.configure(memory={"search": {"mode": "hybrid", "min_score": -1}})
    turn = api.begin(agent, user_id="u1")
    ok(api.post(f"{turn.path}/messages", {"messages": [{"role": "user", "text": "By post, please. 请邮寄 🙂"}]}))
    post = turn.add("Wants invoices by post.", scope="user")
    old = turn.add("The depot closes at noon.", scope="agent")
    assert set(turn.search()) == {post["id"], old["id"]}
    assert turn.recall("invoices")["memories"] == []
    assert turn.end()["status"] == "committed"

    for _ in range(2):  # before the index has seen it, and after
        recalled = api.begin(agent, "s2", user_id="u1").recall("invoices")
        assert post["id"] in {memory["id"] for memory in recalled["memories"]}
        assert api.begin(agent, "s2", user_id="u2").search("invoices depot") == [old["id"]]
        commits = [FeedRow(n, key) for n, key in enumerate(world.commits())]
        assert index_handler(stream_event(commits), None) == {"batchItemFailures": []}

    new = api.remember(agent, "The depot closes at one.", replaces=old["id"], scope="agent")
    listed = ok(api.get(f"/v1/agents/{agent}/memories", status="all"))["memories"]
    assert [(r["id"], r["status"]) for r in listed] == [
        (new["id"], "ACTIVE"), (old["id"], "SUPERSEDED"), (post["id"], "ACTIVE")
    ]  # fmt: skip
    events = ok(api.get(f"{turn.path}/transcript", limit=200))["events"]
    assert events[0]["text"] == "By post, please. 请邮寄 🙂"
    assert events[-1]["type"] == "turn.committed"
    problem(api.post(f"{turn.path}/recall", {"query": "x"}), 409, "turn_not_open")


@pytest.mark.rule("TL-5", "RC-1")
def test_what_no_store_can_write_is_refused_or_recorded_in_its_likeness(world: World, api: Api) -> None:
    wiring.use(wiring.Wired(world.services, "test"))
    turn = api.begin(api.configure())
    for input in (
        '{"query": "\\ud800", "\\udfff": 1}',
        '{"limit": ' + "9" * 300 + "}",
        '{"limit": 1e308, "labels": {"a": 1e-320}}',
        '{"deep": ' + "[" * 60 + "]" * 60 + "}",
        '{"summary": "' + "x" * 500_000 + '"}',
        '{"": "", "a\\u0000b": "\\u0000"}',
    ):
        answer = ok(api.raw(f"{turn.path}/tools/add_memory", f'{{"input": {input}}}'))
        assert answer["error"]["code"] == "invalid_input"
    executions = ok(api.get(f"{turn.path}/transcript", type="execution"))["events"]
    assert len(executions) == 6
    assert turn.end()["memories"] == []


# ---------------------------------------------------------------- wiring


def test_a_function_is_wired_by_its_environment(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        create_tables(dynamodb_client(region="eu-central-1"), "Memory", "Execution")
        wiring.use(None)
        agent = api.configure()
        status = ok(api.get("/v1/status"))
        assert (status["edition"], status["index"]["state"]) == ("aws", "down")
        assert status["embedder"] == {"model": "scripted", "dimensions": 64, "min_score": 0.5, "near_score": 0.583}
        assert status["reviewer"] == {"kind": "bedrock", "model": "qwen.qwen3-235b-a22b-2507-v1:0"}
        saved = api.remember(agent, "The depot closes at noon.")
        recalled = api.begin(agent).recall("depot")
        assert ([m["id"] for m in recalled["memories"]], recalled["degraded_reason"]) == ([saved["id"]], "index_down")


def test_a_setting_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    wiring.use(None)
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match=settings.MEMORY_TABLE):
        wiring.services()
    problem(api.get("/v1/status"), 503, "unavailable")
    for name in (settings.MEMORY_TABLE, settings.EXECUTION_TABLE, settings.OPENSEARCH_URL):
        with pytest.raises(SettingsError, match=name):
            settings_of({key: value for key, value in ENVIRONMENT.items() if key != name})
    with pytest.raises(SettingsError, match=settings.EMBEDDER_DIMENSIONS):
        settings_of(ENVIRONMENT | {settings.EMBEDDER_DIMENSIONS: "many"})


def test_a_key_is_not_shown() -> None:
    assert "sk-" not in repr(settings_of(ENVIRONMENT | {settings.OPENAI_API_KEY: "sk-1"}))


@pytest.mark.parametrize(
    "spelled", ["", "remote", "local:x", "openai:", "openai:ftp://x", "bedrock:", "bedrock", "LOCAL"]
)
def test_an_embedder_is_one_of_three(spelled: str) -> None:
    with pytest.raises(SettingsError, match="local, openai:<base url> or bedrock:<model>"):
        embedder_settings(spelled, model="m")


def test_calls_at_once_give_their_results_in_order_and_the_first_failure() -> None:
    assert (
        wiring.at_once(lambda: 1, lambda: 2, lambda: 3) == wiring.in_turn(lambda: 1, lambda: 2, lambda: 3) == [1, 2, 3]
    )
    ended = []

    def fails(name: str) -> None:
        ended.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="last"):
        wiring.at_once(lambda: fails("first"), lambda: fails("last"))
    assert sorted(ended) == ["first", "last"]
