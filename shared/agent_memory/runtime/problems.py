"""Errors as HTTP: one table from error to status, and the problem document (RFC 9457) that carries the code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from agent_memory.domain.errors import (
    AgentMemoryError,
    Conflict,
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
    VersionMismatch,
)

from .calls import Answer

CONTENT_TYPE = "application/problem+json"

STATUS: Mapping[type[AgentMemoryError], int] = {
    InvalidRequest: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodNotAllowed: 405,
    Conflict: 409,
    VersionMismatch: 412,
    TooLarge: 413,
    NotAllowed: 422,
    IfMatchRequired: 428,
    Throttled: 429,
    Unavailable: 503,
}

CODES: Mapping[int, frozenset[str]] = {
    400: frozenset({"invalid_request", "unknown_field", "invalid_cursor", "id_required"}),
    401: frozenset({"unauthenticated"}),
    403: frozenset({"forbidden"}),
    404: frozenset({"not_found"}),
    405: frozenset({"method_not_allowed"}),
    409: frozenset(
        {
            "conflict",
            "in_progress",
            "turn_not_open",
            "outcome_differs",
            "not_retryable",
            "no_failed_review",
            "turn_full",
            "not_active",
            "key_held",
            "too_many_constraints",
            "not_restorable",
            "not_pending",
            "target_changed",
        }
    ),
    412: frozenset({"version_mismatch"}),
    413: frozenset({"too_large"}),
    422: frozenset(
        {
            "not_allowed",
            "label_changed",
            "session_required",
            "session_not_allowed",
            "retry_mismatch",
            "replay_is_preview",
            "unknown_version",
            "kind_not_declared",
            "label_not_declared",
            "broader_target",
            "pin_not_configured",
            "pin_over_budget",
            "idempotency_mismatch",
        }
    ),
    428: frozenset({"if_match_required"}),
    429: frozenset({"throttled"}),
    503: frozenset({"unavailable"}),
}
"""Every code that this build answers, by status. Codes are stable; what a client does not know it takes by status."""

_UNAVAILABLE = "Something that the answer needs did not answer; send it again."
_RETRY_AFTER_S = 1.0


def problem(error: AgentMemoryError, request_id: str, headers: Mapping[str, str] | None = None) -> Answer:
    """The answer for an error. What is not meant for a caller (a failed condition that nobody took care of) is told as
    unavailable: the state is whole, and the call may be sent again."""
    status = status_of(error)
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": _code(error) if status != 503 else Unavailable.code,
        "detail": error.message if isinstance(error, Refused) else _UNAVAILABLE,
        "request_id": request_id,
    }
    if isinstance(error, Refused) and error.faults:
        body["faults"] = [asdict(fault) for fault in error.faults]
    if isinstance(error, Refused) and error.current is not None:
        body["current"] = dict(error.current)
    return Answer(status, body, {**_retry_after(error), **(headers or {})}, CONTENT_TYPE)


def _retry_after(error: AgentMemoryError) -> dict[str, str]:
    wait_s = error.retry_after_s or (_RETRY_AFTER_S if error.retryable else None)
    return {"Retry-After": str(math.ceil(wait_s))} if wait_s else {}


def status_of(error: AgentMemoryError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 503)


def status_of_code(code: str) -> int:
    return next(status for status, codes in CODES.items() if code in codes)


def _code(error: AgentMemoryError) -> str:
    """`unknown_field` says of a whole body or query that nothing else is wrong with it."""
    if isinstance(error, InvalidRequest) and error.code == InvalidRequest.code and error.faults:
        codes = {fault.code for fault in error.faults}
        return codes.pop() if len(codes) == 1 else error.code
    return error.code
