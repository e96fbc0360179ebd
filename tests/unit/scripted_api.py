"""A server on the loopback that answers what a test tells it to, and keeps what it was asked; and a turn's shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TURN_ID = "01HZZZZZZZZZZZZZZZZZZZZZZZ"


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire; target: path and query, escaped as they were. headers: by lower-case
    name."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Say:
    """An answer. body: bytes as they are, anything else as JSON. drop: break the connection off instead."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


DROP = Say(drop=True)


class ScriptedApi:
    """answers: what it says, one after another; the last again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[Say] = [Say()]
        self.url = ""

    def says(self, *answers: Say) -> None:
        self.answers = list(answers)
        self.asked.clear()

    def next(self) -> Say:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted_api() -> Iterator[ScriptedApi]:
    api = ScriptedApi()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_port}/prod"
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()


def _handler(api: ScriptedApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would wait 40 ms for each other

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            api.asked.append(
                Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            say = api.next()
            if say.drop:
                self.close_connection = True
                return
            sent = say.body if isinstance(say.body, bytes) else json.dumps(say.body).encode()
            self.send_response(say.status)
            for name, value in {"Content-Length": str(len(sent)), **say.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = do_POST = do_DELETE = _answer

    return Handler


def problem(status: int, code: str, *, retry_after: str | None = None, **more: Any) -> Say:
    body = {"type": "about:blank", "title": "", "status": status, "code": code, "detail": "Not so."}
    headers = {"Retry-After": retry_after} if retry_after else {}
    return Say(status, body | {"request_id": "r-1"} | more, headers)


def turn(status: str = "open", **fields: Any) -> Say:
    """The answer that shows a turn of the agent `support`."""
    nulls = ("number", "reason", "session_id", "workflow_id", "user_id", "invocation_id", "ended_at")
    nulls += ("retry_of", "replay_of")
    shown = dict.fromkeys(nulls) | {"turn_id": TURN_ID, "agent_id": "support", "attempt": 1, "status": status}
    shown |= {"agent_version": 1, "execution_id": TURN_ID, "time_zone": "UTC", "started_at": "", "committed_at": None}
    review = {"status": "none", "added": 0, "replaced": 0, "deleted": 0, "skipped": 0, "error": None}
    shown |= {"memories": [], "review": review, "lessons": 0, "conflicts": [], "history_events": 0}
    return Say(200, shown | fields)
