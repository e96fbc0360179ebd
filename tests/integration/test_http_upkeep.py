"""The sweep of the one-machine edition, as a developer runs it."""

import pytest
from http_api import Api, ok, problem

rule = pytest.mark.rule


@rule("TU-5", "IF-6")
def test_the_sweep_runs_when_asked_and_answers_when_it_is_done(api: Api) -> None:
    agent = api.configure()
    left, young = api.begin(agent), None
    left.add("Never to be.")
    ok(api.post("/v1/dev/clock", {"advance": "24h"}))
    young = api.begin(agent)
    assert ok(api.get(left.path))["reason"] == "timeout"  # at the instant, before the sweep
    problem(api.post(f"{left.path}/recall", {"query": "x"}), 409, "turn_not_open")
    assert ok(api.get("/v1/status"))["parts"]["sweep"]["last_run_at"] is None
    assert ok(api.post("/v1/dev/run", {"job": "sweep"})) == {"job": "sweep"}
    assert ok(api.get("/v1/status"))["parts"]["sweep"]["last_run_at"]
    assert ok(api.get(left.path))["reason"] == "timeout"
    assert ok(api.get(young.path))["status"] == "open"
    (event,) = ok(api.get(f"{left.path}/transcript", type="turn.rolled_back"))["events"]
    assert event["reason"] == "timeout"


@rule("TU-2", "TU-5")
def test_ending_a_turn_that_timed_out(api: Api) -> None:
    turn = api.begin(api.configure())
    ok(api.post("/v1/dev/clock", {"advance": "25h"}))
    problem(api.post(f"{turn.path}/end", {"outcome": "completed"}), 409, "turn_not_open")
    assert ok(api.post(f"{turn.path}/end", {"outcome": "failed"}))["reason"] == "timeout"


def test_a_job_that_is_not_built_is_refused(api: Api) -> None:
    problem(api.post("/v1/dev/run", {"job": "merge"}), 400, "invalid_request")


def test_what_is_paused_stays_so_through_a_sweep(api: Api) -> None:
    agent = api.configure()
    ok(api.post("/v1/dev/index", {"state": "paused"}))
    api.remember(agent, "The depot closes at noon.")
    ok(api.post("/v1/dev/clock", {"advance": "1h"}))
    ok(api.post("/v1/dev/run", {"job": "sweep"}))
    assert ok(api.get("/v1/status"))["index"]["unindexed"] == 1
