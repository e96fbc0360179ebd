"""A turn: what is recalled, saved and said in it, and its end.

In a `with` a turn commits when the block is left, and is rolled back when an exception leaves it:

    with agent.begin(session_id="s-1") as turn:
        turn.add("Wants invoices by post.", kind="fact")
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self, Unpack

from agent_memory.domain.errors import AgentMemoryError, ToolRefused, Unavailable

from .activity import Judgement
from .answers import AddedMessage, TurnState
from .connection import Call, Connection, given
from .fields import MemoryFields, Scope
from .messages import Messages
from .pages import pages
from .reading import shaped
from .records import Added, Recall, SearchResult, ToolResult, View

TURN = "/v1/agents/{agent}/turns/{turn}"

WAIT_S = 120.0  # for a commit: a review of two model calls, each with its retries, takes less
_ASKING = ("search_memory", "read_memory")  # tools that change nothing
_HELD_S = 25  # the longest that the server holds an answer back; its gateway ends a call after 29 s
_BETWEEN_POLLS_S = 0.5  # should a server answer at once instead of holding

EventType = Literal[
    "message",
    "execution",
    "output_use",
    "usage",
    "memory.pinned",
    "recall.omitted",
    "judgement",
    "conflict",
    "pin.unpinned",
    "turn.committed",
    "turn.rolled_back",
]


class Turn:
    """state: as the server last told it. still_ending: of a turn just begun, earlier turns of its session that are
    ended and not yet committed.

    All methods but `refresh`, `end` and `transcript` raise `Conflict` (`turn_not_open`) once the turn has ended."""

    def __init__(self, connection: Connection, state: TurnState, *, still_ending: Sequence[str] = ()) -> None:
        self._connection = connection
        self.state = state
        self.still_ending = list(still_ending)

    @property
    def id(self) -> str:
        return self.state.turn_id

    # -- its end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.state.status != "open":
            return
        if error is None:
            self.end("completed")
            return
        try:
            self.end("failed", error=type(error).__name__)
        except AgentMemoryError as failure:  # what left the block is what its caller has to see
            error.add_note(f"The turn {self.id} could not be rolled back ({failure}); it is open and shows nothing.")

    def end(
        self,
        outcome: Literal["completed", "failed"] = "completed",
        *,
        error: str | None = None,
        messages: Messages = (),
        wait: float = WAIT_S,
        idempotency_key: str | None = None,
    ) -> TurnState:
        """Commit the turn, or roll it back, and wait until it is done; gives the turn as it stands then.

        error: why it failed. messages: what was said at the end. wait: seconds at most; a turn that takes longer is
        `ending`, and commits by itself. Called again it gives the turn as it stands: the first outcome stands, and the
        messages that came with it.
        Raises `Conflict` (`outcome_differs`, `turn_not_open`, `turn_full`), `InvalidRequest`."""
        give_up = monotonic() + wait
        body = given(outcome=outcome, error=error, messages=list(messages) or None)
        self._told(self._call("POST", "/end", body=body, wait=wait, idempotency_key=idempotency_key))
        while self.state.status == "ending" and (left := give_up - monotonic()) > 0:
            self._connection.resending.sleep(min(left, _BETWEEN_POLLS_S))
            self.refresh(wait=left)
        return self.state

    def refresh(self, *, wait: float = 0.0) -> TurnState:
        """The turn as it stands now. wait: seconds, up to 25, that the server may wait while it is ending."""
        return self._told(self._call("GET", "", wait=wait))

    # -- what happens in it

    def add_messages(self, messages: Messages, *, idempotency_key: str | None = None) -> list[AddedMessage]:
        """Add, in order, what was received, said and got back; 1 to 100. Raises `Conflict` (also `turn_full`),
        `InvalidRequest`."""
        body = {"messages": list(messages)}
        answer = self._call("POST", "/messages", body=body, idempotency_key=idempotency_key)
        return [shaped(AddedMessage, message) for message in answer["messages"]]

    def recall(
        self,
        query: str | None = None,
        *,
        messages: Messages | None = None,
        conversation: str | None = None,
        explain: bool = False,
        idempotency_key: str | None = None,
    ) -> Recall:
        """What the agent knows of the query, or of the newest messages, exactly one of which is given: before each
        model call. conversation: whose call it is, `agent`, `helper:<id>` or `program:<id>`. explain: adds the cosine
        and both ranks to each item. Sent again after its answer was lost, without a key, it says of records that they
        were `seen`, and is not recorded twice. Raises `Conflict`, `InvalidRequest`."""
        said = None if messages is None else list(messages)
        body = given(query=query, messages=said, conversation=conversation, explain=explain or None)
        return shaped(Recall, self._call("POST", "/recall", body=body, idempotency_key=idempotency_key, only_asks=True))

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

    def judge(
        self,
        verdict: Literal["accepted", "rejected"],
        feedback: str | None = None,
        *,
        judge: str | None = None,
        idempotency_key: str | None = None,
    ) -> Judgement:
        """Say what the work was worth, any number of times while the turn is open. feedback: required with a rejection,
        which is to be learned from; 1 to 4,000 characters. judge: who judged. Raises `Conflict`, `InvalidRequest`."""
        body = given(verdict=verdict, feedback=feedback, judge=judge)
        return shaped(Judgement, self._call("POST", "/judgements", body=body, idempotency_key=idempotency_key))

    def transcript(
        self, *, types: EventType | Sequence[EventType] = (), page_size: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The attempt's events in order, each with `sequence`, `at`, `type` and the fields of its type. types: only
        these. page_size: 1 to 200, 50 by the server's default. Raises `Forbidden`."""
        query = {"type": types, "limit": page_size}
        resource = f"{TURN}/transcript"
        return pages(self._connection, resource, self._path(), query, items="events", shape=dict[str, Any])

    # -- the tools, for a program that calls them itself

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

    def _told(self, answer: Mapping[str, Any]) -> TurnState:
        self.state = shaped(TurnState, answer)
        return self.state
