"""The client's first object: a server, and the agents on it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx

from .agent import Agent
from .answers import Status
from .connection import Call, Connection
from .reading import shaped
from .resending import Resending


class AgentMemory:
    """A deployment, or a server on this machine. Threads may share it; close it, or use it in a `with`.

    url: the stage's address (`https://….execute-api.eu-central-1.amazonaws.com/prod`) or the server's
    (`http://127.0.0.1:8080`). auth: `SigV4()` for a deployment, `Bearer("…")` for a server that takes tokens.
    timeout_s: for an answer, beside what the server is asked to wait. resending: how often calls are sent again.
    transport: httpx's, for certificates and proxies of one's own.

    Every method raises errors of `agent_memory.domain.errors`: `Refused` and what is under it where the server refuses,
    `Unavailable` where it cannot answer now, `Unreachable` (an `Unavailable`) where nobody answers."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        timeout_s: float = 30.0,
        resending: Resending | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, auth=auth, timeout_s=timeout_s, resending=resending, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections. Turns that are open stay open."""
        self._connection.close()

    def agent(self, agent_id: str) -> Agent:
        """The agent of that id; nothing is asked of the server."""
        return Agent(self._connection, agent_id)

    def status(self) -> Status:
        """What is built in, what is wired, and how the index stands. Raises `Forbidden`."""
        return shaped(Status, self._connection.send(Call(method="GET", resource="/v1/status", repeatable=True)))

    def openapi(self) -> dict[str, Any]:
        """The API's OpenAPI 3.1 document."""
        return self._connection.send(Call(method="GET", resource="/v1/openapi.json", repeatable=True))
