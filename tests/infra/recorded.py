"""What each function really calls, recorded while its routes are driven over moto and a real node, wired by its
environment as in Lambda. A call belongs to the function whose route is being driven, in whatever thread it is made.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from http_api import Api

from agent_memory.runtime.routes import ROUTES

Use = tuple[str, str]
"""An action of IAM, and what it is done to: a table's name, a path below the domain, a model."""

_PATHS = [
    (route.method, re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route.resource))), route.function)
    for route in ROUTES
]
_IN_TRANSACTION = {
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "Update": "UpdateItem",
    "ConditionCheck": "ConditionCheckItem",
}


@dataclass
class Recorder:
    """function: whose calls are made now; None: those of the test itself, which count for nobody."""

    function: str | None = None
    uses: dict[str, set[Use]] = field(default_factory=lambda: defaultdict(set))

    @contextmanager
    def driving(self, function: str) -> Iterator[None]:
        self.function = function
        try:
            yield
        finally:
            self.function = None

    def call(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        """Of botocore's event `before-parameter-build`."""
        if self.function:
            self.uses[self.function] |= set(_uses_of(model.service_model.service_name, model.name, params))

    def search(self, method: str, url: str) -> None:
        if self.function:
            self.uses[self.function].add((f"es:ESHttp{method.title()}", url.partition("?")[0].lstrip("/")))


class RecordedApi(Api):
    """in_function: what is around a call, by the name of the function that serves it."""

    def __init__(self, app: Any, in_function: Callable[[str], AbstractContextManager[None]]) -> None:
        super().__init__(app)
        self._in_function = in_function

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._in_function(_function_of(method, path)):
            return super().request(method, path, **options)


def _function_of(method: str, path: str) -> str:
    (found,) = {function for verb, pattern, function in _PATHS if verb == method and pattern.fullmatch(path)}
    return found


def _uses_of(service: str, name: str, params: Mapping[str, Any]) -> Iterator[Use]:
    """What IAM asks for: a transaction needs the verb of each of its actions, a batch its own verb on each table."""
    if service == "bedrock-runtime":
        yield f"bedrock:{name}", params["modelId"]
        return
    assert service == "dynamodb", service
    if name == "TransactWriteItems":
        for each in params["TransactItems"]:
            ((kind, action),) = each.items()
            yield f"dynamodb:{_IN_TRANSACTION[kind]}", action["TableName"]
    elif name in ("BatchGetItem", "BatchWriteItem"):
        for table in params["RequestItems"]:
            yield f"dynamodb:{name}", table
    else:
        assert not name.startswith(("Transact", "Batch")), name
        yield f"dynamodb:{name}", params["TableName"]


def noted(recorder: Recorder, perform: Callable[..., Any]) -> Callable[..., Any]:
    """opensearch-py's `perform_request` of a connection, which also notes what is asked."""

    def performed(connection: Any, method: str, url: str, *rest: Any, **more: Any) -> Any:
        recorder.search(method, url)
        return perform(connection, method, url, *rest, **more)

    return performed
