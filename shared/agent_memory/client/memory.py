"""The client's first object: a server, the agents on it, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import httpx

from .activity import AgentSummary
from .agent import Agent
from .answers import Status
from .connection import Call, Connection
from .memories import Platform
from .pages import pages
from .reading import shaped
from .resending import Resending


class AgentMemory:
    """A deployment, or a server on this machine. Threads may share it; close it, or use it in a `with`.

    url: the stage's address (`https://….execute-api.eu-central-1.amazonaws.com/prod`) or the server's
    (`http://127.0.0.1:8080`). auth: `SigV4()` for a deployment, `Bearer("…")` for a server that takes tokens.
    timeout_s: for an answer, beside what the server is asked to wait. resending: how often calls are sent again.
    transport: httpx's, for certificates and proxies of one's own.

    Every method raises errors of `agent_memory.domain.errors`: `Refused` and what is under it where the server refuses,
    `Unavailable` where it cannot answer now, `Unreachable` (an `Unavailable`) where nobody answers.

    A call whose answer was lost is sent again by itself: each POST has a key by which the server knows it, and gives
    the first answer again. Every method that sends a POST takes an `idempotency_key`, 1 to 128 visible ASCII
    characters, for who wants to repeat the call of an earlier process; it belongs to the caller and the path, for 24
    hours. Another body with the same key is `NotAllowed` (`idempotency_mismatch`)."""

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

    def agents(self, *, page_size: int | None = None) -> Iterator[AgentSummary]:
        """Every agent that is configured, in the order of their ids. Raises `Forbidden`."""
        query = {"limit": page_size}
        return pages(self._connection, "/v1/agents", {}, query, items="agents", shape=AgentSummary)

    @property
    def platform(self) -> Platform:
        """The records of the whole deployment; nothing is asked of the server."""
        return Platform(self._connection)

    def status(self) -> Status:
        """What is built in, what is wired, and how the index stands. Raises `Forbidden`."""
        return shaped(Status, self._connection.send(Call(method="GET", resource="/v1/status")))

    def openapi(self) -> dict[str, Any]:
        """The API's OpenAPI 3.1 document."""
        return self._connection.send(Call(method="GET", resource="/v1/openapi.json"))
