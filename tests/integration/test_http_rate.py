"""An agent that sends too many calls is answered 429, and no other one is (IF-7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from http_api import Api, ok, problem

from agent_memory.local.edition import Edition
from agent_memory.runtime import wiring
from agent_memory.runtime.rates import Rates
from agent_memory.runtime.settings import CALLS_PER_SECOND, SettingsError, settings_of

A_SECOND = 3


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(edition: Edition, api: Api) -> Iterator[Seconds]:
    for agent in ("looping", "quiet"):
        if api.get(f"/v1/agents/{agent}/config").status_code == 404:
            api.configure(agent)
    seconds = Seconds()
    wiring.use(wiring.Wired(edition.services, "one machine", rates=Rates(A_SECOND, monotonic=seconds)))
    yield seconds
    wiring.use(wiring.Wired(edition.services, "one machine"))


def exhausted(api: Api, agent: str) -> str:
    path = f"/v1/agents/{agent}/turns"
    for _ in range(A_SECOND):
        ok(api.post(path, {"session_id": "s"}), 201)
    return path


@pytest.mark.rule("IF-7")
def test_the_call_beyond_is_refused_and_the_next_second_brings_new_ones(api: Api, seconds: Seconds) -> None:
    path = exhausted(api, "looping")
    refused = api.post(path, {"session_id": "s"})
    problem(refused, 429, "throttled")
    assert refused.headers["Retry-After"] == "1"
    seconds.now += 1
    ok(api.post(path, {"session_id": "s"}), 201)


@pytest.mark.rule("IF-7")
def test_other_agents_and_routes_of_no_agent_go_on(api: Api, seconds: Seconds) -> None:
    exhausted(api, "looping")
    problem(api.get("/v1/agents/looping/config"), 429, "throttled")  # every route of the agent
    ok(api.get("/v1/agents/quiet/config"))
    ok(api.get("/v1/status"))


@pytest.mark.rule("IF-7")
def test_it_is_refused_before_its_body_is_read(api: Api, seconds: Seconds) -> None:
    path = exhausted(api, "looping")
    problem(api.raw(path, "{"), 429, "throttled")
    problem(api.raw(path, "x" * 6_000_000), 429, "throttled")


@pytest.mark.rule("IF-2", "IF-7")
def test_a_refused_call_keeps_no_answer_for_its_key(api: Api, seconds: Seconds) -> None:
    path, key = exhausted(api, "looping"), {"Idempotency-Key": "k"}
    problem(api.request("POST", path, json={"session_id": "s"}, headers=key), 429, "throttled")
    seconds.now += 1
    begun = api.request("POST", path, json={"session_id": "another"}, headers=key)
    assert (begun.status_code, "Idempotency-Replayed" in begun.headers) == (201, False)


def test_in_aws_the_environment_sets_it() -> None:
    environment = {f"AGENT_MEMORY_{name}": "x" for name in ("MEMORY_TABLE", "EXECUTION_TABLE", "OPENSEARCH_URL")}
    assert settings_of(environment).calls_per_second == 200
    assert settings_of(environment | {CALLS_PER_SECOND: "7"}).calls_per_second == 7
    for wrong in ("0", "-1", "many"):
        with pytest.raises(SettingsError, match=CALLS_PER_SECOND):
            settings_of(environment | {CALLS_PER_SECOND: wrong})
