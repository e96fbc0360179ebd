"""How a run calls the product: the very handlers, with the events that API Gateway would send, one effect a call.

A harness that is told 503, or whose server died, sends the call again, with the same `Idempotency-Key`; so does this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from agent_memory.domain.errors import Unavailable
from agent_memory.operations.turn_end import carry_out
from agent_memory.runtime.routes import ROUTES

from .faults import Killed
from .stage import Stage

_TRIES = 8
_LEASE_S = 120  # at most; a claim whose holder is gone is free then


@dataclass(frozen=True)
class Reply:
    """tries: how often it was sent."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]
    tries: int

    @property
    def code(self) -> str | None:
        """Why it was refused, by the API or by a tool; None: it was carried out."""
        refused = self.body if self.status >= 400 else self.body.get("error", {})
        code: str | None = refused.get("code")
        return code


class Door:
    """calls: how many were sent, those sent again included."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.calls = 0
        self._keys = 0
        self._handlers = {name: import_module(f"functions.{name}.handler").handler for name in _functions()}

    def get(self, resource: str, *, query: Mapping[str, Any] | None = None, **path: str) -> Reply:
        return self.send("GET", resource, query=query, **path)

    def post(self, resource: str, body: Any = None, *, headers: Mapping[str, str] | None = None, **path: str) -> Reply:
        """Under a new key."""
        self._keys += 1
        named = {"Idempotency-Key": f"key-{self._keys}", **(headers or {})}
        return self.send("POST", resource, body or {}, headers=named, **path)

    def send(
        self,
        method: str,
        resource: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        **path: str,
    ) -> Reply:
        """Until it is answered by something else than 503."""
        resource = f"/v1/{resource}"
        handler = self._handlers[_function_of(method, resource)]
        event = _event(method, resource, body, query or {}, headers or {}, path)
        for tries in range(1, _TRIES + 1):
            self.calls += 1
            try:
                answer = handler(event, None)
            except Killed:
                self.stage.kill()
                continue
            told = json.loads(answer["body"])
            if told.get("code") == "in_progress":
                self.stage.clock.advance(seconds=_LEASE_S)
            elif answer["statusCode"] != 503 and told.get("error", {}).get("code") != "unavailable":
                return Reply(answer["statusCode"], told, answer["headers"], tries)
        raise AssertionError(f"{method} {resource} is not answered: {answer['statusCode']} {told.get('code')}")

    def carry_out(self, agent: str, turn: str) -> None:
        """A turn's end, again where the process died over it or the store did not answer."""
        for _ in range(_TRIES):
            try:
                carry_out(self.stage.services, agent, turn)
            except Killed:
                self.stage.kill()
            except Unavailable:
                continue
            else:
                return
        raise AssertionError("the turn's end is not carried out")


def _functions() -> set[str]:
    return {route.function for route in ROUTES}


def _function_of(method: str, resource: str) -> str:
    return next(route.function for route in ROUTES if (route.method, route.resource) == (method, resource))


def _event(
    method: str, resource: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str], path: Mapping[str, str]
) -> dict[str, Any]:
    several = {name: value if isinstance(value, list) else [str(value)] for name, value in query.items()}
    return {
        "resource": resource,
        "path": resource.format(**path),
        "httpMethod": method,
        "headers": dict(headers),
        "multiValueQueryStringParameters": several or None,
        "pathParameters": dict(path) or None,
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
        "requestContext": {"requestId": "soak", "identity": {"userArn": "soak"}},
    }
