"""An agent: its configuration, its tools, its turns, what it did; and what it remembers (`memories`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, Unpack

from .activity import Execution, Session, UsageSum
from .answers import BegunTurn, Configuration, ConfigVersion, Tools, TurnState
from .connection import Call, Connection, given
from .connection import if_match as header_of
from .fields import TurnFilters
from .memories import AgentMemories
from .messages import Messages
from .pages import pages
from .reading import shaped
from .turn import WAIT_S, Turn
from .turn_tools import TURN

_AGENT = "/v1/agents/{agent}"
_CONFIG = f"{_AGENT}/config"


class Agent(AgentMemories):
    """id: as it was given; the server says `NotFound` of one that is not configured."""

    def __init__(self, connection: Connection, agent_id: str) -> None:
        super().__init__(connection, agent_id)
        self.id = agent_id

    # -- configuration

    def configure(
        self, config: Mapping[str, Any], if_match: int | None = None, *, if_absent: bool = False
    ) -> Configuration:
        """Store the next version. if_match: the version that it follows, needed once there is one. if_absent: only
        where there is none yet.

        Raises `IfMatchRequired`, `VersionMismatch` (with what stands in `current`), `InvalidRequest` with all faults,
        `NotAllowed`. It is sent again where an answer was lost, and then a version that it stored itself before is what
        these two tell of: `config()` shows it."""
        headers = header_of(if_match) | ({"If-None-Match": "*"} if if_absent else {})
        call = Call(method="PUT", resource=_CONFIG, path=self._path, body=config, headers=headers)
        return shaped(Configuration, self._connection.send(call))

    def config(self, version: int | None = None) -> Configuration:
        """A version of the configuration, the newest where none is named. Raises `NotFound`."""
        return shaped(Configuration, self._get(_CONFIG, query={"version": version}))

    def config_versions(self, *, page_size: int | None = None) -> Iterator[ConfigVersion]:
        """All versions, newest first. page_size: 1 to 200, 50 by the server's default. Raises `NotFound`."""
        resource = f"{_CONFIG}/versions"
        query = {"limit": page_size}
        return pages(self._connection, resource, self._path, query, items="versions", shape=ConfigVersion)

    def tools(
        self,
        format: Literal["anthropic", "openai", "bedrock"] = "anthropic",
        audience: Literal["agent", "helper", "program"] = "agent",
        *,
        version: int | None = None,
    ) -> Tools:
        """The memory tools to offer to the model, in the dialect of its API. Raises `NotFound`."""
        query = {"format": format, "for": audience, "version": version}
        return shaped(Tools, self._get(f"{_AGENT}/tools", query=query))

    # -- turns

    def begin(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        workflow_id: str | None = None,
        execution_id: str | None = None,
        invocation_id: str | None = None,
        agent_version: int | None = None,
        preview: bool | None = None,
        replay_of: str | None = None,
        retry_of: str | None = None,
        started_at: str | datetime | None = None,
        time_zone: str | None = None,
        messages: Messages = (),
        idempotency_key: str | None = None,
    ) -> Turn:
        """Begin a turn, or with `retry_of` another attempt of one. In a `with` it commits at the end (`Turn`). preview:
        try changes; no live turn ever sees what it saves. replay_of: run a turn again, as a preview turn, over what it
        saw when it began.

        Raises `NotFound`, `NotAllowed` (`session_required`, `session_not_allowed`, `retry_mismatch`,
        `replay_is_preview`, `unknown_version`), `Conflict` (`not_retryable`), `InvalidRequest`."""
        body = given(
            session_id=session_id,
            user_id=user_id,
            workflow_id=workflow_id,
            execution_id=execution_id,
            invocation_id=invocation_id,
            agent_version=agent_version,
            preview=preview,
            replay_of=replay_of,
            retry_of=retry_of,
            started_at=started_at,
            time_zone=time_zone,
            messages=list(messages) or None,
        )
        call = Call(
            method="POST",
            resource=f"{_AGENT}/turns",
            path=self._path,
            body=body,
            idempotency_key=idempotency_key,
        )
        begun = shaped(BegunTurn, self._connection.send(call))
        return Turn(self._connection, begun, still_ending=begun.still_ending)

    def turn(self, turn_id: str) -> Turn:
        """A turn that was begun elsewhere, as it stands now. Raises `NotFound`."""
        return Turn(self._connection, shaped(TurnState, self._get(TURN, {"turn": turn_id})))

    def review_again(self, turn_id: str, *, wait: float = WAIT_S, idempotency_key: str | None = None) -> TurnState:
        """Do the failed review of a turn again, and wait until it is done (`Turn.review_again`). wait: 0 for who may
        have it done and may not read turns. Raises `Conflict` (`no_failed_review`), `NotFound`."""
        path = {**self._path, "turn": turn_id}
        call = Call(method="POST", resource=f"{TURN}/review", path=path, idempotency_key=idempotency_key)
        turn = Turn(self._connection, shaped(TurnState, self._connection.send(call)))
        return turn.wait(wait) if wait > 0 else turn.state

    # -- what it did

    def turns(self, *, page_size: int | None = None, **filters: Unpack[TurnFilters]) -> Iterator[TurnState]:
        """Attempts of turns as they stand, newest first, over all pages; `TurnFilters` says what can be filtered by.
        Raises `NotFound`, `InvalidRequest`."""
        query = {**filters, "limit": page_size}
        return pages(self._connection, f"{_AGENT}/turns", self._path, query, items="turns", shape=TurnState)

    def sessions(
        self, *, session_id: str | None = None, user_id: str | None = None, page_size: int | None = None
    ) -> Iterator[Session]:
        """The session that began last first. user_id: only those in which this user had a turn. Raises `NotFound`."""
        query = {"session_id": session_id, "user_id": user_id, "limit": page_size}
        return pages(self._connection, f"{_AGENT}/sessions", self._path, query, items="sessions", shape=Session)

    def execution(self, tool_execution_id: str) -> Execution:
        """A call of a native tool, or a recall, found by its id alone. Raises `NotFound`."""
        return shaped(Execution, self._get(f"{_AGENT}/executions/{{id}}", {"id": tool_execution_id}))

    def usage(
        self,
        *,
        by: Literal["purpose", "session", "user", "day"] = "purpose",
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> list[UsageSum]:
        """What its models cost, summed. since, until: of the calls, until excluded, with an offset; days are UTC's.
        Raises `NotFound`, `InvalidRequest`."""
        answer = self._get(f"{_AGENT}/usage", query={"by": by, "since": since, "until": until})
        return [shaped(UsageSum, one) for one in answer["usage"]]

    # -- one call

    def _get(
        self, resource: str, named: Mapping[str, object] | None = None, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        path = {**self._path, **(named or {})}
        return self._connection.send(Call(method="GET", resource=resource, path=path, query=query or {}))
