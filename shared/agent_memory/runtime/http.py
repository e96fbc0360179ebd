"""From an API Gateway proxy event to an operation's call, and back: the one door of every route.

What it checks before the operation: the route, the form of the path's ids (GR-5: an id that cannot be is as one that is
not), the size, the query string and the body, all faults of both at once. Whatever goes wrong is answered as a problem.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from agent_memory.domain.errors import (
    AgentMemoryError,
    Fault,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    TooLarge,
    Unavailable,
)
from agent_memory.domain.text import is_agent_id
from agent_memory.domain.ulids import is_ulid
from agent_memory.operations.configure import Expected

from . import metrics, receipts
from . import observability as log
from .calls import Answer, Call, IdempotencyKey
from .json_text import json_value
from .lambda_handler import lambda_handler
from .problems import problem
from .requests import body_of, query_of
from .routes import ROUTES, Route, methods_of
from .wiring import rates

Event = Mapping[str, Any]
Operation = Callable[[Call], Answer]

_TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_TOO_MANY_REQUESTS = 429
_ETAG = re.compile('"([1-9][0-9]{0,5})"')
_NUMBER = re.compile("[1-9][0-9]{0,8}")
_FORMS: Mapping[str, Callable[[str], bool]] = {
    "agent": is_agent_id,
    "turn": is_ulid,
    "id": is_ulid,
    "n": lambda text: _NUMBER.fullmatch(text) is not None,
    "tool": lambda text: True,  # which tools there are, the operation knows
}


def handler(operations: Mapping[str, Operation]) -> Callable[[Event, Any], dict[str, Any]]:
    """The Lambda handler of a function that serves these operations (`Route.operation`)."""
    routes = {(route.method, route.resource): route for route in ROUTES if route.operation in operations}

    def handle(event: Event, context: Any) -> dict[str, Any]:
        request_id = str(event.get("requestContext", {}).get("requestId") or uuid.uuid4())
        started = perf_counter()
        answer = _answer(routes, operations, event, request_id)
        _log_request(event, answer, request_id, perf_counter() - started)
        if answer.status == _TOO_MANY_REQUESTS:
            metrics.write({metrics.THROTTLED: 1})
        return proxy_answer(answer, request_id)

    return lambda_handler(handle)


def _answer(
    routes: Mapping[tuple[str, str], Route], operations: Mapping[str, Operation], event: Event, request_id: str
) -> Answer:
    try:
        route = routes.get((event["httpMethod"], event["resource"]))
        if route is None:
            return no_route(event["resource"], request_id)
        _check_rate(event)
        return operations[route.operation](call_of(route, event))
    except AgentMemoryError as error:
        if isinstance(error, Unavailable):
            log.warning("unavailable", request_id=request_id, **log.where(error))
        return problem(error, request_id)
    except Exception as error:  # the outermost edge: no caller is shown a stack trace, and someone must learn of it
        log.error("unexpected error", request_id=request_id, **log.where(error))
        return problem(Unavailable(), request_id)


def _check_rate(event: Event) -> None:
    """Before the body is parsed: a call that is refused should cost next to nothing. Raises `Throttled`."""
    agent = (event.get("pathParameters") or {}).get("agent")
    if agent and is_agent_id(agent):
        rates().take(agent)


def no_route(resource: str | None, request_id: str) -> Answer:
    """For a path that is not there, or a method that the resource does not have."""
    methods = methods_of(resource) if resource else []
    if not methods:
        return problem(NotFound("There is no such path."), request_id)
    refused = MethodNotAllowed(f"This path takes {', '.join(methods)}.")
    return problem(refused, request_id, {"Allow": ", ".join(methods)})


def call_of(route: Route, event: Event) -> Call:
    """The event as the route has it. Raises `NotFound`, `TooLarge`, `InvalidRequest`, `NotAllowed`."""
    path = event.get("pathParameters") or {}
    if not all(_FORMS[name](path.get(name) or "") for name in route.parameters):
        raise NotFound("There is no such path: an id in it does not have the form of one.")
    query, faults = query_of(route.query, event.get("multiValueQueryStringParameters") or {})
    body, given = None, {}
    if route.body is not None:
        given = _json_body(event, route.body_bytes)
        body, more = body_of(route.body, given)
        faults += more
    expected, more = _expected(event) if route.conditional else (Expected(), [])
    faults += more
    key, more = _key(event, given) if route.method == "POST" else (None, [])
    faults += more
    if faults or query is None:
        raise InvalidRequest("The request has faults.", faults=faults)
    return Call(route.method, route.resource, path, body, query, expected, _caller(event), key)


def _json_body(event: Event, limit: int) -> Any:
    body: str | bytes = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True)
        except binascii.Error:
            body = b"\xff"  # no UTF-8, so no JSON either
    size = len(body) if isinstance(body, bytes) or body.isascii() else len(body.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise TooLarge(f"A body takes at most {limit:,} bytes here.")
    return json_value(body) if body.strip() else {}


def _key(event: Event, body: Any) -> tuple[IdempotencyKey | None, list[Fault]]:
    text = header(event, receipts.HEADER.lower())
    if text is None:
        return None, []
    key = receipts.key_of(text, body)
    return key, [] if key else [Fault(receipts.HEADER, "invalid_request", f"takes {receipts.TAKES}")]


def _expected(event: Event) -> tuple[Expected, list[Fault]]:
    """Only the version's own ETag matches it: weak ones, lists and `*` match none, as what is no ETag at all."""
    if_match, if_none_match = header(event, "if-match"), header(event, "if-none-match")
    if if_none_match is not None and if_none_match.strip() != "*":
        return Expected(), [Fault("If-None-Match", "invalid_request", "takes *")]
    if if_match is None:
        return Expected(absent=if_none_match is not None), []
    version = _ETAG.fullmatch(if_match.strip())
    unreadable = version is None or if_none_match is not None
    return Expected(version=int(version[1]) if version else None, unreadable=unreadable), []


def header(event: Event, name: str) -> str | None:
    """A header by its lower-case name; HTTP/1.1 clients write it as they like."""
    for given, value in (event.get("headers") or {}).items():
        if given.lower() == name:
            return str(value)
    return None


def _caller(event: Event) -> str:
    identity = event.get("requestContext", {}).get("identity") or {}
    return str(identity.get("userArn") or "anonymous")


def proxy_answer(answer: Answer, request_id: str) -> dict[str, Any]:
    """The answer as API Gateway takes it from a Lambda proxy."""
    return {
        "statusCode": answer.status,
        "headers": {"Content-Type": answer.content_type, "Request-Id": request_id, **answer.headers},
        "body": json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")),
        "isBase64Encoded": False,
    }


def _log_request(event: Event, answer: Answer, request_id: str, duration_s: float) -> None:
    path = event.get("pathParameters") or {}
    trace = _TRACEPARENT.fullmatch(header(event, "traceparent") or "")
    named = {"turn_id": path.get("turn"), "trace_id": trace[1] if trace else None, "code": answer.body.get("code")}
    named |= {"tool_execution_id": answer.body.get("tool_execution_id")}
    log.info(
        "request",
        request_id=request_id,
        method=event.get("httpMethod"),
        resource=event.get("resource"),
        status=answer.status,
        duration_ms=round(duration_s * 1000, 1),
        **{name: value for name, value in named.items() if value is not None},
    )
