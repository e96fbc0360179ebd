"""What each function really calls, recorded while its routes are driven over moto and a real node, wired by its
environment as in Lambda. A call belongs to the function that is being driven, in whatever thread it is made.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from botocore.exceptions import ReadTimeoutError
from http_api import Api

from agent_memory.runtime.routes import ROUTES, Route

Use = tuple[str, str]
"""An action of IAM, and what it is done to: a table's name, a path below the domain, a model, a state machine. Or one
of the domain's own roles: a search, and the alias that it names."""

SEARCH = "indices:data/read/search"

_PATHS = [(route, re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(route.resource)))) for route in ROUTES]
_IN_TRANSACTION = {
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "Update": "UpdateItem",
    "ConditionCheck": "ConditionCheckItem",
}


@dataclass
class Recorder:
    """function: whose calls are made now; None: those of the test itself, which count for nobody. loses_answers:
    whether the answers to transactions get lost, so that each function must look whether its own stands."""

    function: str | None = None
    loses_answers: bool = False
    uses: dict[str, set[Use]] = field(default_factory=lambda: defaultdict(set))

    @contextmanager
    def driving(self, function: str) -> Iterator[None]:
        """One may be driven within a call of another."""
        before, self.function = self.function, function
        try:
            yield
        finally:
            self.function = before

    def call(self, service: str, operation: str, params: Mapping[str, Any]) -> None:
        if self.function:
            self.uses[self.function] |= set(_uses_of(service, operation, params))

    def search(self, method: str, path: str, body: bytes) -> None:
        if self.function:
            self.uses[self.function].add((f"es:ESHttp{method.title()}", path.partition("?")[0].lstrip("/")))
            if path.startswith("/_msearch"):
                headers = map(json.loads, body.splitlines()[::2])
                self.uses[self.function] |= {(SEARCH, header["index"]) for header in headers}


class RecordedApi(Api):
    """in_function: what is around a call, by the name of the function that serves it. repeats: whether every POST comes
    with an Idempotency-Key, and once more. called: the routes so far."""

    def __init__(self, app: Any, in_function: Callable[[str], AbstractContextManager[None]]) -> None:
        super().__init__(app)
        self._in_function = in_function
        self.repeats = False
        self.called: set[tuple[Route, bool]] = set()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        route = _route_of(method, path)
        is_keyed = self.repeats and method == "POST"
        if is_keyed:
            options["headers"] = {**options.get("headers", {}), "Idempotency-Key": uuid4().hex}
        with self._in_function(route.function):
            answer = super().request(method, path, **options)
            if answer.is_success:
                self.called.add((route, is_keyed))
            if is_keyed:
                again = super().request(method, path, **options)
                assert again.headers.get("idempotency-replayed") == ("true" if answer.is_success else None)
        return answer


def _route_of(method: str, path: str) -> Route:
    (found,) = (route for route, pattern in _PATHS if route.method == method and pattern.fullmatch(path))
    return found


def _uses_of(service: str, name: str, params: Mapping[str, Any]) -> Iterator[Use]:
    """What IAM asks for: a transaction needs the verb of each of its actions, a batch its own verb on each table."""
    if service == "bedrock-runtime":
        assert name in ("InvokeModel", "Converse")  # both are InvokeModel to IAM
        yield "bedrock:InvokeModel", params["modelId"]
        return
    if service == "stepfunctions":
        yield f"states:{name}", params["stateMachineArn"].rpartition(":")[2]
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


Call = Callable[[Any, str, Mapping[str, Any]], Any]
"""botocore's one way of making a call: client, operation, parameters."""


Answer = Callable[[Mapping[str, Any]], Any]


def noted(recorder: Recorder, make: Call, answers: Mapping[str, Answer]) -> Call:
    """The same, which also notes what is called, has services answered by the test's own, and may lose answers."""

    def made(client: Any, operation: str, params: Mapping[str, Any]) -> Any:
        service = client.meta.service_model.service_name
        recorder.call(service, operation, params)
        if service in answers:
            return answers[service](params)
        answer = make(client, operation, params)
        if recorder.function and recorder.loses_answers and operation == "TransactWriteItems":
            raise ReadTimeoutError(endpoint_url="the table's")
        return answer

    return made


@contextmanager
def noted_server(recorder: Recorder, url: str) -> Iterator[str]:
    """A server on the loopback that hands everything on to another, and notes what is asked; gives its URL."""
    behind = urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            recorder.search(self.command, self.path, plain)
            asked = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            connection = HTTPConnection(behind)
            connection.request(self.command, self.path, body, asked)
            answer = connection.getresponse()
            said = answer.read()
            connection.close()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            if answer.headers.get("Content-Encoding"):
                self.send_header("Content-Encoding", answer.headers["Content-Encoding"])
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else said)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
