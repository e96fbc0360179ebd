"""A scripted server of OpenAI's protocol on the loopback, and Bedrock's answers without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from embedders import HashEmbedder

Script = Callable[[dict[str, Any]], tuple[int, Any]]
"""The request's body → status and body: a dict is sent as JSON, bytes as they are. `Hang` and `Drop` may be raised."""


class Hang(Exception):
    """Answer nothing until the test is over."""


class Drop(Exception):
    """Break the connection off."""


class ScriptedServer:
    """asked: the bodies of all requests. script: how the next are answered; at first, by hash vectors. path: what alone
    is served."""

    def __init__(self, dimensions: int = 8) -> None:
        self.hash = HashEmbedder(dimensions)
        self.asked: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.retry_after: str | None = None
        self.script: Script = self.answer
        self.over = Event()
        self.url = ""
        self.path = "/v1/embeddings"

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        texts = body["input"]
        rows = [{"index": i, "embedding": self.hash.vector(text)} for i, text in enumerate(texts)]
        return 200, {"data": list(reversed(rows)), "usage": {"prompt_tokens": 3 * len(texts)}}

    def texts(self) -> list[list[str]]:
        return [body["input"] for body in self.asked]

    def refusing(self, word: str, status: int = 400) -> Script:
        """Answers but where a text holds the word."""
        return lambda body: (status, {"error": {"message": "no"}}) if word in str(body["input"]) else self.answer(body)

    def dropping(self, word: str) -> Script:
        def script(body: dict[str, Any]) -> tuple[int, Any]:
            if word in str(body["input"]):
                raise Drop
            return self.answer(body)

        return script


@contextmanager
def scripted_server(dimensions: int = 8) -> Iterator[ScriptedServer]:
    scripted = ScriptedServer(dimensions)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(scripted))
    server.daemon_threads = True
    scripted.url = f"http://127.0.0.1:{server.server_port}/v1"
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield scripted
    finally:
        scripted.over.set()
        server.shutdown()
        server.server_close()


def _handler(scripted: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would wait 40 ms for each other

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            scripted.asked.append(body)
            scripted.headers = dict(self.headers)
            try:
                status, answer = scripted.script(body) if self.path == scripted.path else (404, {})
            except Hang:
                scripted.over.wait()
                self.close_connection = True
                return
            except Drop:
                self.close_connection = True
                return
            self._send(status, answer)

        def _send(self, status: int, answer: Any) -> None:
            sent = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            if scripted.retry_after is not None:
                self.send_header("Retry-After", scripted.retry_after)
            self.end_headers()
            self.wfile.write(sent)

    return Handler


def bedrock_client(script: Script, *, tries: int = 1) -> Any:
    """A real client whose requests are answered by the script instead of being sent."""
    client = bare_bedrock_client(tries=tries)

    def answered(request: Any, **_: Any) -> AWSResponse:
        status, answer = script(json.loads(request.body))
        headers = {"content-type": "application/json"}
        if status != 200:
            headers["x-amzn-errortype"] = answer["type"]
        return AWSResponse(request.url, status, headers, _Raw(json.dumps(answer).encode()))

    client.meta.events.register("before-send.bedrock-runtime.InvokeModel", answered)
    return client


def bare_bedrock_client(*, tries: int = 1) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": tries}),
    )


class _Raw:
    """What botocore reads a streamed body from."""

    def __init__(self, body: bytes) -> None:
        self._left = body

    def read(self, amount: int | None = None, **_: Any) -> bytes:
        piece, self._left = self._left[:amount], self._left[amount:] if amount else b""
        return piece

    def stream(self, amount: int = 65536, **_: Any) -> Iterator[bytes]:
        while piece := self.read(amount):
            yield piece
