"""An agent: its configuration, its tools, its turns, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from .answers import BegunTurn, Configuration, ConfigVersion, Tools, TurnState
from .connection import Call, Connection, given
from .messages import Messages
from .pages import pages
from .reading import shaped
from .records import Record
from .turn import TURN, Turn

_AGENT = "/v1/agents/{agent}"
_CONFIG = f"{_AGENT}/config"
_MEMORY = f"{_AGENT}/memories/{{id}}"

Scope = Literal["session", "workflow", "user", "agent", "platform"]
Status = Literal["ACTIVE", "PENDING", "SUPERSEDED", "REJECTED", "DELETED", "all"]
Source = Literal["tool", "review", "lesson", "person", "import", "merge"]


class Agent:
    """id: as it was given; the server says `NotFound` of one that is not configured."""

    def __init__(self, connection: Connection, agent_id: str) -> None:
        self._connection = connection
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
        headers = {"If-Match": f'"{if_match}"'} if if_match is not None else {}
        headers |= {"If-None-Match": "*"} if if_absent else {}
        call = Call(method="PUT", resource=_CONFIG, path=self._path(), body=config, headers=headers, repeatable=True)
        return shaped(Configuration, self._connection.send(call))

    def config(self, version: int | None = None) -> Configuration:
        """A version of the configuration, the newest where none is named. Raises `NotFound`."""
        return shaped(Configuration, self._get(_CONFIG, query={"version": version}))

    def config_versions(self, *, page_size: int | None = None) -> Iterator[ConfigVersion]:
        """All versions, newest first. page_size: 1 to 200, 50 by the server's default. Raises `NotFound`."""
        resource = f"{_CONFIG}/versions"
        query = {"limit": page_size}
        return pages(self._connection, resource, self._path(), query, items="versions", shape=ConfigVersion)

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
        retry_of: str | None = None,
        started_at: str | datetime | None = None,
        time_zone: str | None = None,
        messages: Messages = (),
    ) -> Turn:
        """Begin a turn, or with `retry_of` another attempt of one. In a `with` it commits at the end (`Turn`).

        Raises `NotFound`, `NotAllowed` (`session_required`, `session_not_allowed`, `retry_mismatch`,
        `unknown_version`), `Conflict` (`not_retryable`), `InvalidRequest`. Not sent again where an answer was lost
        (`Unreachable` with `was_sent`): a turn begun without an answer stays open and shows nothing to anyone."""
        body = given(
            session_id=session_id,
            user_id=user_id,
            workflow_id=workflow_id,
            execution_id=execution_id,
            invocation_id=invocation_id,
            agent_version=agent_version,
            preview=preview,
            retry_of=retry_of,
            started_at=started_at,
            time_zone=time_zone,
            messages=list(messages) or None,
        )
        call = Call(method="POST", resource=f"{_AGENT}/turns", path=self._path(), body=body)
        begun = shaped(BegunTurn, self._connection.send(call))
        return Turn(self._connection, begun, still_ending=begun.still_ending)

    def turn(self, turn_id: str) -> Turn:
        """A turn that was begun elsewhere, as it stands now. Raises `NotFound`."""
        return Turn(self._connection, shaped(TurnState, self._get(TURN, {"turn": turn_id})))

    # -- records

    def memories(
        self,
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        workflow_id: str | None = None,
        user_id: str | None = None,
        kind: str | None = None,
        labels: Mapping[str, str] | None = None,
        status: Status | Sequence[Status] | None = None,
        source: Source | None = None,
        expired: bool = False,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        page_size: int | None = None,
    ) -> Iterator[Record]:
        """Records for people and programs, newest first; all filters hold. None means no filter: an id that is missing
        shows all of them.

        status: ACTIVE where it is not given. expired: the expired alone. since, until: of `created_at`, until excluded,
        with an offset. page_size: 1 to 200, 50 by the server's default. Raises `NotFound`, `InvalidRequest`."""
        query = {
            "scope": scope,
            "session_id": session_id,
            "workflow_id": workflow_id,
            "user_id": user_id,
            "kind": kind,
            "status": status,
            "source": source,
            "expired": expired or None,
            "since": since,
            "until": until,
            "limit": page_size,
            **{f"label.{name}": value for name, value in (labels or {}).items()},
        }
        return self._records(f"{_AGENT}/memories", {}, query, items="memories")

    def memory(self, id: str) -> Record:
        """A record of any status. Raises `NotFound`."""
        return shaped(Record, self._get(_MEMORY, {"id": id}))

    def memory_versions(self, id: str, *, page_size: int | None = None) -> Iterator[Record]:
        """The record at each of its versions, newest first. Raises `NotFound`."""
        return self._records(f"{_MEMORY}/versions", {"id": id}, {"limit": page_size}, items="versions")

    def memory_version(self, id: str, version: int) -> Record:
        """The record as it was at a version. Raises `NotFound`."""
        return shaped(Record, self._get(f"{_MEMORY}/versions/{{n}}", {"id": id, "n": version}))

    # -- one call

    def _path(self, named: Mapping[str, object] | None = None) -> dict[str, object]:
        return {"agent": self.id, **(named or {})}

    def _get(
        self, resource: str, named: Mapping[str, object] | None = None, query: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        call = Call(method="GET", resource=resource, path=self._path(named), query=query or {}, repeatable=True)
        return self._connection.send(call)

    def _records(
        self, resource: str, named: Mapping[str, object], query: Mapping[str, Any], *, items: str
    ) -> Iterator[Record]:
        return pages(self._connection, resource, self._path(named), query, items=items, shape=Record)
