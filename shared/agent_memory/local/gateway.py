"""In place of API Gateway: an ASGI app that makes a Lambda proxy event of each request and calls the very handlers.

A handler runs in a thread of its own and is not stopped when the client hangs up: what was accepted is carried out.
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_memory.domain.errors import (
    AgentMemoryError,
    Fault,
    Forbidden,
    InvalidRequest,
    Unauthenticated,
    Unavailable,
)
from agent_memory.runtime import routes
from agent_memory.runtime.calls import Answer
from agent_memory.runtime.http import no_route, proxy_answer
from agent_memory.runtime.problems import problem
from agent_memory.runtime.routes import MAX_BODY_BYTES

from . import dev
from .browsers import is_foreign
from .principals import Principals

THREADS = 32  # calls at a time; the rest wait in line
DRAINED_BYTES = 32 * 1024 * 1024  # of a body that is too large: read to its end, so that its sender sees the answer
CALLER = "local"  # without principals everyone on this machine has all grants

_ROUTES: dict[str, dict[str, routes.Route]] = {}  # by resource and method
for _route in routes.ROUTES:
    _ROUTES.setdefault(_route.resource, {})[_route.method] = _route

Serve = Callable[[Request, str, str], Awaitable[Response]]
LambdaHandler = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]


class Gateway:
    """switches: the dev switches, which ask nobody for a token; None: their paths do not exist. principals: who may
    call, None: whoever can, with all grants. loopback: whether it is reached from this machine alone."""

    def __init__(
        self, switches: dev.Switches | None = None, *, principals: Principals | None = None, loopback: bool = True
    ) -> None:
        self._principals = principals
        self._loopback = loopback
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self._handlers = {name: _handler(name) for name in {route.function for route in routes.ROUTES}}
        self._switches = switches
        self._running = 0
        self._counting = Lock()

    def app(self) -> ASGIApp:
        paths: list[BaseRoute] = [Route(resource, self._endpoint(self._serve, resource)) for resource in _ROUTES]
        if self._switches:
            paths += [Route(f"/v1/dev/{name}", self._endpoint(self._switch, name)) for name in (*dev.NAMES, "nothing")]
        return _by_raw_path(Router(paths, redirect_slashes=False, default=self._endpoint(self._no_route, "")))

    def _endpoint(self, serve: Serve, name: str) -> _Endpoint:
        return _Endpoint(serve, name, self._loopback)

    @property
    def idle(self) -> bool:
        """Whether no handler runs."""
        return self._running == 0

    async def _serve(self, request: Request, resource: str, request_id: str) -> Response:
        route = _ROUTES[resource].get(request.method)
        body = await _body(request)
        try:
            caller = self._caller(request, route)
            event = event_of(request, resource, body, request_id, caller)
        except Unauthenticated as error:
            return _refused(error, request_id, {"WWW-Authenticate": "Bearer"})
        except (Forbidden, InvalidRequest) as error:
            return _refused(error, request_id)
        if route is None:
            return _response(proxy_answer(no_route(resource, request_id), request_id))
        return _response(await self._in_thread(self._handlers[route.function], event, None))

    def _caller(self, request: Request, route: routes.Route | None) -> str:
        """The name of who calls, once the route is open to it: nothing of the request is looked at before (GR-5)."""
        if self._principals is None:
            return CALLER
        principal = self._principals.of(request.headers.get("authorization"))
        if route is not None:
            principal.check(route, request.path_params.get("agent"))
        return principal.name

    async def _switch(self, request: Request, name: str, request_id: str) -> Response:
        if name == "nothing" and request.method == "GET":
            return _response(proxy_answer(Answer(200, {}), request_id))
        if self._switches is None or name == "nothing" or request.method != "POST":
            return await self._no_route(request, "", request_id)
        answer = await self._in_thread(self._switches.handle, name, await _body(request), request_id)
        return _response(proxy_answer(answer, request_id))

    async def _no_route(self, request: Request, _: str, request_id: str) -> Response:
        return _response(proxy_answer(no_route(None, request_id), request_id))

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._counted, call, *arguments)

    def _counted(self, call: Callable[..., Any], *arguments: Any) -> Any:
        self._count(1)
        try:
            return call(*arguments)
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._counting:
            self._running += more


class _Endpoint:
    """An ASGI app for all methods of a path (a function would be a route for GET alone)."""

    def __init__(self, serve: Serve, name: str, loopback: bool) -> None:
        self._serve = serve
        self._name = name
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        request_id = str(uuid.uuid4())
        if is_foreign(request.headers.get("origin"), request.headers.get("host"), loopback=self._loopback):
            response = _refused(Forbidden("A page of another site may not call this server."), request_id)
        else:
            try:
                response = await self._serve(request, self._name, request_id)
            except ClientDisconnect:
                return  # it hung up before it had sent everything: there is no call
            except asyncio.CancelledError:  # the server leaves, and this call is not done
                response = _refused(Unavailable(), request_id)
        await response(scope, receive, send)


def _by_raw_path(app: ASGIApp) -> ASGIApp:
    """A slash that is escaped belongs to an id, as in API Gateway: it divides nothing (and no id has one)."""

    async def divided(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            parts = scope["raw_path"].decode("latin-1").split("/")
            scope = {**scope, "path": "/".join(unquote(part).replace("/", "%2F") for part in parts)}
        await app(scope, receive, send)

    return divided


def _handler(function: str) -> LambdaHandler:
    handler: LambdaHandler = import_module(f"functions.{function}.handler").handler
    return handler


async def _body(request: Request) -> bytes:
    """The body, up to one byte more than any route takes: the handler says that it is too large."""
    kept, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        kept += chunk[: max(0, MAX_BODY_BYTES + 1 - len(kept))]
        if length > DRAINED_BYTES:
            break
    return bytes(kept)


def event_of(request: Request, resource: str, body: bytes, request_id: str, caller: str) -> dict[str, Any]:
    """The request as API Gateway (REST, Lambda proxy) hands it over. Raises `InvalidRequest` for a query string that is
    no UTF-8."""
    query: dict[str, list[str]] = {}
    for name, value in _pairs(request):
        query.setdefault(name, []).append(value)
    try:
        text, encoded = body.decode(), False
    except UnicodeDecodeError:
        text, encoded = base64.b64encode(body).decode(), True
    return {
        "resource": resource,
        "path": request.url.path,
        "httpMethod": request.method,
        "headers": dict(request.headers),
        "multiValueQueryStringParameters": query or None,
        "pathParameters": request.path_params or None,
        "body": text or None,
        "isBase64Encoded": encoded,
        "requestContext": {"requestId": request_id, "identity": {"userArn": caller}},
    }


def _pairs(request: Request) -> list[tuple[str, str]]:
    given = request.scope["query_string"].decode("latin-1")
    try:
        return parse_qsl(given, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        fault = Fault("", "invalid_request", "takes a query string in UTF-8")
        raise InvalidRequest("The query string takes UTF-8.", faults=[fault]) from error


def _refused(error: AgentMemoryError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    return _response(proxy_answer(problem(error, request_id, headers), request_id))


def _response(answer: Mapping[str, Any]) -> Response:
    return Response(answer["body"], status_code=answer["statusCode"], headers=answer["headers"])
