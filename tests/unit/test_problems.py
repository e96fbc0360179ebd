"""Errors as HTTP: none is forgotten, and none tells what it should not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_memory.domain import errors
from agent_memory.domain.errors import (
    AgentMemoryError,
    ConditionFailed,
    Conflict,
    EmbedderUnavailable,
    Fault,
    InvalidRequest,
    NotFound,
    Refused,
    Throttled,
    Unavailable,
    VersionMismatch,
)
from agent_memory.runtime.problems import CODES, STATUS, problem, status_of, status_of_code
from agent_memory.runtime.routes import ROUTES
from agent_memory.runtime.shapes import Problem


def kinds(base: type[AgentMemoryError]) -> Iterator[type[AgentMemoryError]]:
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from kinds(kind)


REFUSALS = list(kinds(Refused))


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("kind", REFUSALS, ids=lambda kind: kind.__name__)
def test_every_refusal_has_a_status_and_a_code_of_that_status(kind: type[Refused]) -> None:
    refused = kind("Not so.")
    answer = problem(refused, "r1")
    assert kind in STATUS
    assert answer.status == STATUS[kind]
    assert answer.body["code"] in CODES[answer.status]
    Problem.model_validate(dict(answer.body))


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("kind", [Unavailable, *kinds(Unavailable)], ids=lambda kind: kind.__name__)
def test_what_did_not_answer_is_503_and_may_be_sent_again(kind: type[Unavailable]) -> None:
    answer = problem(kind("table: connection lost to 10.0.0.7"), "r1")
    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"]
    assert "10.0.0.7" not in answer.body["detail"]


@pytest.mark.rule("IF-1")
def test_an_error_that_is_not_meant_for_callers_shows_nothing_of_itself() -> None:
    answer = problem(ConditionFailed({0: {"summary": "a memory"}}), "r1")
    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert "memory" not in str(answer.body)


def test_statuses_are_of_the_nearest_class() -> None:
    class Special(Conflict):
        code = "special"

    assert status_of(Special("x")) == 409
    assert status_of(EmbedderUnavailable()) == 503
    assert status_of(AgentMemoryError()) == 503


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(
    ("codes", "code"),
    [
        (["unknown_field"], "unknown_field"),
        (["unknown_field", "unknown_field"], "unknown_field"),
        (["unknown_field", "invalid_request"], "invalid_request"),
        (["invalid_request"], "invalid_request"),
    ],
)
def test_a_body_with_nothing_but_unknown_fields_has_that_code(codes: list[str], code: str) -> None:
    faults = [Fault(f"f{n}", each, "takes something else") for n, each in enumerate(codes)]
    answer = problem(InvalidRequest("Faults.", faults=faults), "r1")
    assert answer.body["code"] == code
    assert [fault["code"] for fault in answer.body["faults"]] == codes


def test_a_code_of_its_own_stands_beside_faults() -> None:
    fault = Fault("after", "invalid_request", "takes a cursor")
    assert problem(InvalidRequest("x", code="invalid_cursor", faults=[fault]), "r").body["code"] == "invalid_cursor"


def test_what_stands_now_is_told_where_it_is_known() -> None:
    assert problem(VersionMismatch("x", current={"version": 3}), "r").body["current"] == {"version": 3}
    assert "current" not in problem(NotFound("x"), "r").body
    assert "faults" not in problem(NotFound("x"), "r").body


def test_what_may_be_sent_again_says_when() -> None:
    assert problem(Throttled("x"), "r").headers == {"Retry-After": "1"}
    assert problem(NotFound("x"), "r").headers == {}


@pytest.mark.rule("IF-1")
def test_every_code_that_a_route_declares_is_known() -> None:
    for route in ROUTES:
        for code in route.codes:
            assert status_of_code(code) >= 400
