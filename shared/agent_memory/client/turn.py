"""A turn: what is recalled, saved and said in it, and its end.

In a `with` a turn commits when the block is left, and is rolled back when an exception leaves it:

    with agent.begin(session_id="s-1") as turn:
        turn.add("Wants invoices by post.", kind="fact")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self

from agent_memory.domain.errors import AgentMemoryError

from .activity import Judgement
from .answers import AddedMessage, TurnState
from .connection import Connection, given
from .messages import Messages
from .pages import pages
from .reading import shaped
from .records import Recall
from .turn_tools import TURN, TurnTools

WAIT_S = 120.0  # for a commit: a review of two model calls, each with its retries, takes less
_BETWEEN_POLLS_S = 0.5  # should a server answer at once instead of holding

EventType = Literal[
    "message",
    "execution",
    "output_use",
    "usage",
    "memory.pinned",
    "recall.omitted",
    "judgement",
    "review",
    "conflict",
    "pin.unpinned",
    "turn.committed",
    "turn.rolled_back",
]


class Turn(TurnTools):
    """state: as the server last told it. still_ending: of a turn just begun, earlier turns of its session that are
    ended and not yet committed.

    All methods raise `Conflict` (`turn_not_open`) once the turn has ended, but for those that end it, read it or review
    it: `end`, `wait`, `refresh`, `transcript`, `review_again`."""

    def __init__(self, connection: Connection, state: TurnState, *, still_ending: Sequence[str] = ()) -> None:
        super().__init__(connection, state)
        self.still_ending = list(still_ending)

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
        """Commit the turn, or roll it back, and wait until it is done, its review included; gives the turn as it stands
        then.

        error: why it failed. messages: what was said at the end. wait: seconds at most; a turn that takes longer is
        `ending`, and commits by itself. Called again it gives the turn as it stands: the first outcome stands, and the
        messages that came with it.
        Raises `Conflict` (`outcome_differs`, `turn_not_open`, `turn_full`), `InvalidRequest`."""
        give_up = monotonic() + wait
        body = given(outcome=outcome, error=error, messages=list(messages) or None)
        self._told(self._call("POST", "/end", body=body, wait=wait, idempotency_key=idempotency_key))
        return self._settled(give_up)

    def wait(self, seconds: float = WAIT_S) -> TurnState:
        """Wait until nothing of the turn goes on any more, neither its end nor a review, or for so many seconds; gives
        the turn as it stands then. One that is open is not waited for."""
        give_up = monotonic() + seconds
        self.refresh(wait=seconds)
        return self._settled(give_up)

    def refresh(self, *, wait: float = 0.0) -> TurnState:
        """The turn as it stands now. wait: seconds, up to 25, that the server may wait while it is ending, or being
        reviewed again."""
        return self._told(self._call("GET", "", wait=wait))

    def review_again(self, *, wait: float = WAIT_S, idempotency_key: str | None = None) -> TurnState:
        """Do a review that has failed again, and wait until it is done, as `end` does: `state.review` says what came of
        it. Raises `Conflict` (`no_failed_review`), also where a later review has read what this one was to read."""
        self._told(self._call("POST", "/review", idempotency_key=idempotency_key))
        return self.wait(wait) if wait > 0 else self.state

    def _settled(self, give_up: float) -> TurnState:
        while self.state.is_settling and (left := give_up - monotonic()) > 0:
            self._connection.resending.sleep(min(left, _BETWEEN_POLLS_S))
            self.refresh(wait=left)
        return self.state

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

    def _told(self, answer: Mapping[str, Any]) -> TurnState:
        self.state = shaped(TurnState, answer)
        return self.state
