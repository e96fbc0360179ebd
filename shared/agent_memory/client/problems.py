"""From an answer that is no success, and from none at all, to an error of the tree.

A code that this client knows is of its own class; any other is taken by the status, and kept. What a gateway or a proxy
answers without a problem document is taken by its status too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agent_memory.domain.errors import (
    AgentMemoryError,
    Conflict,
    Fault,
    Forbidden,
    IfMatchRequired,
    InvalidRequest,
    MethodNotAllowed,
    NotAllowed,
    NotFound,
    Refused,
    Throttled,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unreachable,
    UnreadableAnswer,
    VersionMismatch,
)

BY_STATUS: Mapping[int, type[Refused]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    412: VersionMismatch,
    413: TooLarge,
    422: NotAllowed,
    428: IfMatchRequired,
    429: Throttled,
}
_BY_CODE = {kind.code: kind for kind in BY_STATUS.values()}

# Nothing of the call had left: no connection was made, or the pool had none to give.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def error_of(response: httpx.Response) -> AgentMemoryError:
    """The error that the answer tells of, with `request_id` and `retry_after_s`. Its faults are notes of it as well, so
    that a traceback shows them."""
    problem = _problem(response)
    error = _error(response.status_code, problem)
    error.request_id = _text(problem, "request_id") or response.headers.get("request-id")
    error.retry_after_s = _seconds(response.headers.get("retry-after"))
    if error.request_id:
        error.add_note(f"code {error.code}, request {error.request_id}")
    for fault in error.faults if isinstance(error, Refused) else ():
        error.add_note(f"{fault.path or 'body'}: {fault.message} ({fault.code})")
    return error


def no_answer(error: httpx.RequestError) -> AgentMemoryError:
    if isinstance(error, httpx.DecodingError):
        return UnreadableAnswer("The answer cannot be decoded.")
    said = str(error) or type(error).__name__
    return Unreachable(f"The server did not answer: {said}", was_sent=not isinstance(error, _NEVER_SENT))


def _error(status: int, problem: Mapping[str, Any]) -> AgentMemoryError:
    code = _text(problem, "code")
    detail = _text(problem, "detail") or _text(problem, "message") or f"The server answered with status {status}."
    if status >= 500:
        return Unavailable(detail)
    if status < 400:
        return UnreadableAnswer(f"Status {status} is none of this API: is the address right?")
    kind = _BY_CODE.get(code or "") or BY_STATUS.get(status, Refused)
    current = problem.get("current")
    return kind(
        detail,
        code=code or (kind.code if kind is not Refused else "refused"),
        faults=_faults(problem.get("faults")),
        current=current if isinstance(current, Mapping) else None,
    )


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    try:
        value = json.loads(response.content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _faults(given: object) -> list[Fault]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return []
    names = ("path", "code", "message")
    return [Fault(*(_text(fault, name) or "" for name in names)) for fault in given if isinstance(fault, Mapping)]


def _text(problem: Mapping[str, Any], name: str) -> str | None:
    value = problem.get(name)
    return value if isinstance(value, str) and value else None


def _seconds(text: str | None) -> float | None:
    """Seconds alone, as this API gives them: a date would need the server's clock."""
    return float(text) if text and text.isascii() and text.isdigit() else None
