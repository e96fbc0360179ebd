"""From answers to errors: every status and code of the server, and what gateways and strangers answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from agent_memory.client.problems import BY_STATUS, error_of, no_answer
from agent_memory.domain.errors import (
    AgentMemoryError,
    Conflict,
    EmbedderUnavailable,
    Fault,
    Forbidden,
    InvalidRequest,
    NotFound,
    Refused,
    StoreUnavailable,
    Throttled,
    Unavailable,
    Unreachable,
    UnreadableAnswer,
    VersionMismatch,
)
from agent_memory.runtime.problems import CODES, STATUS, problem

NO_DETAIL = "The server answered with status 400."
A_DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


def answered(status: int, body: Any = None, **headers: str) -> AgentMemoryError:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, bytes):
        return error_of(httpx.Response(status, content=body, headers=names))
    return error_of(httpx.Response(status, json=body or {}, headers=names))


def test_the_client_has_the_servers_statuses() -> None:
    assert {kind: status for status, kind in BY_STATUS.items()} == {
        kind: status for kind, status in STATUS.items() if issubclass(kind, Refused)
    }


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(("status", "code"), [(status, code) for status in CODES for code in CODES[status]])
def test_every_code_of_the_server_comes_back_as_its_class(status: int, code: str) -> None:
    error = answered(status, {"code": code, "detail": "Not so.", "request_id": "r-1"})
    assert STATUS[type(error)] == status
    assert (error.code, str(error), error.request_id) == (code, "Not so.", "r-1")


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest("No.", code="unknown_field", faults=[Fault("memory.x", "unknown_field", "takes nothing")]),
        VersionMismatch("No.", current={"version": 3}),
        Conflict("No.", code="turn_not_open"),
        Throttled("No."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_server_raises_the_client_raises(error: Refused) -> None:
    answer = problem(error, "r-1")
    raised = error_of(httpx.Response(answer.status, json=answer.body, headers=dict(answer.headers)))
    assert type(raised) is type(error)
    assert isinstance(raised, Refused)
    assert (raised.code, raised.message, raised.faults, raised.current) == (
        error.code,
        error.message,
        error.faults,
        error.current,
    )


@pytest.mark.parametrize("error", [StoreUnavailable(), EmbedderUnavailable()])
def test_what_is_down_behind_the_server_is_unavailable(error: Unavailable) -> None:
    answer = problem(error, "r-1")
    raised = error_of(httpx.Response(answer.status, json=answer.body, headers=dict(answer.headers)))
    assert type(raised) is Unavailable
    assert (raised.retryable, raised.retry_after_s) == (True, 1.0)


def test_a_code_of_a_newer_server_is_taken_by_its_status_and_kept() -> None:
    error = answered(409, {"code": "moon_is_full", "detail": "Wait."})
    assert type(error) is Conflict
    assert error.code == "moon_is_full"
    unknown = answered(418, {"code": "teapot"})
    assert type(unknown) is Refused
    assert unknown.code == "teapot"


def test_a_code_that_is_known_is_of_its_class_whatever_the_status() -> None:
    assert type(answered(400, {"code": "not_found"})) is NotFound


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (403, {"message": "Missing Authentication Token"}, Forbidden, "Missing Authentication Token"),
        (502, b"<html>Bad Gateway</html>", Unavailable, "The server answered with status 502."),
        (504, {"message": "Endpoint request timed out"}, Unavailable, "Endpoint request timed out"),
        (500, b"", Unavailable, "The server answered with status 500."),
        (404, b"[1]", NotFound, "The server answered with status 404."),
        (302, b"", UnreadableAnswer, "Status 302 is none of this API: is the address right?"),
        (400, {"detail": 7, "code": [], "faults": "x", "current": 1}, InvalidRequest, NO_DETAIL),
        (400, {"detail": "No.", "faults": [7, {"path": "a", "message": None}]}, InvalidRequest, "No."),
    ],
)
def test_an_answer_without_a_problem_is_taken_by_its_status(status: int, body: Any, kind: type, said: str) -> None:
    error = answered(status, body)
    assert (type(error), str(error)) == (kind, said)


def test_the_request_id_is_found_in_the_header_too() -> None:
    assert answered(403, b"", Request_Id="r-9").request_id == "r-9"
    assert answered(403, b"").request_id is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0", 0.0), ("soon", None), ("-1", None), (A_DATE, None)],
)
def test_retry_after_is_read_in_seconds(header: str, seconds: float | None) -> None:
    assert answered(429, b"", Retry_After=header).retry_after_s == seconds


@pytest.mark.parametrize(
    ("error", "was_sent"),
    [
        (httpx.ConnectError("refused"), False),
        (httpx.ConnectTimeout(""), False),
        (httpx.PoolTimeout(""), False),
        (httpx.ReadTimeout(""), True),
        (httpx.WriteError(""), True),
        (httpx.RemoteProtocolError("gone"), True),
    ],
)
def test_a_lost_answer_says_whether_the_call_may_have_been_carried_out(error: Any, was_sent: bool) -> None:
    raised = no_answer(error)
    assert isinstance(raised, Unreachable)
    assert raised.was_sent is was_sent
    assert raised.retryable


def test_an_answer_that_cannot_be_decoded_is_unreadable() -> None:
    assert isinstance(no_answer(httpx.DecodingError("")), UnreadableAnswer)
