"""The memory tools within a turn: as a model called them, and for a program that calls them itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from agent_memory.domain.errors import ToolRefused, Unavailable

from .answers import TurnState
from .connection import Call, Connection, given
from .fields import MemoryFields, Scope
from .reading import shaped
from .records import Added, HistoryResult, SearchResult, ToolResult, View

TURN = "/v1/agents/{agent}/turns/{turn}"

_ASKING = ("search_memory", "read_memory", "search_history")  # tools that change nothing
_HELD_S = 25  # the longest that the server holds an answer back; its gateway ends a call after 29 s


class TurnTools:
    """state: the turn as the server last told it."""

    def __init__(self, connection: Connection, state: TurnState) -> None:
        self._connection = connection
        self.state = state

    @property
    def id(self) -> str:
        return self.state.turn_id

    def call_tool(
        self,
        name: str,
        input: Mapping[str, Any] | None = None,
        *,
        call_id: str | None = None,
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> ToolResult:
        """Carry out a memory tool that the model called, with the input as the model gave it. What is wrong with the
        call raises nothing: the model reads `error`. call_id: the model's own id of the call. Raises `Conflict`,
        `NotFound` for a tool that there is not."""
        body = given(input=input, call_id=call_id, conversation=conversation)
        answer = self._call(
            "POST",
            "/tools/{tool}",
            {"tool": name},
            body=body,
            idempotency_key=idempotency_key,
            only_asks=name in _ASKING,
        )
        return shaped(ToolResult, answer)

    # -- for a program

    def add(
        self,
        summary: str,
        *,
        kind: str,
        scope: Scope | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[MemoryFields],
    ) -> Added:
        """Save one fact, which becomes real when the turn completes (`add_memory`); `MemoryFields` says what it may
        bring. scope: the narrowest that the agent writes where it is not given. Called again with the same words it
        gives the same record. Raises `ToolRefused`, `Conflict`."""
        input = given(summary=summary, kind=kind, scope=scope, **fields)
        output = self._output("add_memory", input, idempotency_key=idempotency_key)
        return Added(memory=shaped(View, output["memories"][0]), duplicate=output["duplicate"])

    def search(
        self,
        query: str | None = None,
        *,
        kind: str | None = None,
        labels: Mapping[str, str] | None = None,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> SearchResult:
        """Records that the turn sees: ranked for a query, else newest first, or those of the ids (`search_memory`).
        Raises `ToolRefused`, `Conflict`."""
        input = given(query=query, kind=kind, labels=labels, ids=ids, limit=limit, after=after)
        return shaped(SearchResult, self._output("search_memory", input, conversation, idempotency_key))

    def read(self, id: str, *, conversation: str | None = None, idempotency_key: str | None = None) -> View:
        """One record that the turn sees, superseded and deleted ones as well (`read_memory`). Raises `ToolRefused`."""
        output = self._output("read_memory", {"id": id}, conversation, idempotency_key)
        return shaped(View, output["sources"][0])

    def delete(self, id: str, *, idempotency_key: str | None = None) -> View:
        """Delete one record, when the turn completes (`delete_memory`). Raises `ToolRefused`, `Conflict`."""
        output = self._output("delete_memory", {"id": id}, idempotency_key=idempotency_key)
        return shaped(View, output["memories"][0])

    def search_history(
        self,
        query: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> HistoryResult:
        """What earlier turns of the session said, ranked for the query, or the events of these ids, each whole
        (`search_history`). limit: 1 to 50, 5 by the server's default. Raises `ToolRefused`, `Conflict`."""
        input = given(query=query, ids=ids, limit=limit)
        return shaped(HistoryResult, self._output("search_history", input, conversation, idempotency_key))

    # -- one call

    def _output(
        self,
        tool: str,
        input: Mapping[str, Any],
        conversation: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        result = self.call_tool(tool, input, conversation=conversation, idempotency_key=idempotency_key)
        if result.error is None:
            return result.output or {}
        if result.error.code == Unavailable.code:
            raise Unavailable(result.error.message)
        raise ToolRefused(result.error.code, result.error.message, result.error.argument, result.error.details)

    def _call(
        self,
        method: str,
        below: str,
        named: Mapping[str, object] | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        wait: float = 0.0,
        idempotency_key: str | None = None,
        only_asks: bool = False,
    ) -> dict[str, Any]:
        held_s = max(0, min(_HELD_S, math.ceil(wait)))
        return self._connection.send(
            Call(
                method=method,
                resource=TURN + below,
                path={**self._path(), **(named or {})},
                query={"wait": held_s or None},
                body=body,
                idempotency_key=idempotency_key,
                only_asks=only_asks,
                held_s=held_s,
            )
        )

    def _path(self) -> dict[str, object]:
        return {"agent": self.state.agent_id, "turn": self.id}
