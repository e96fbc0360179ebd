"""Records for people and programs: listed, searched, read, saved, deleted, restored; of an agent or of the platform.

Beside turns, under the caller's own grants: SELECT to read, INSERT or UPDATE to change; on the platform APPROVE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Unpack

from .connection import Call, Connection, given, if_match
from .fields import AgentScope, MemoryFields, MemoryFilters, NewMemory, PlatformFilters, record_query
from .pages import pages
from .reading import shaped
from .records import FoundRecords, Record

PLATFORM = "/v1/platform/memories"
OF_AGENT = "/v1/agents/{agent}/memories"


class Memories:
    """Those of one owner. resource: the list's; path: the names in it, filled in."""

    def __init__(self, connection: Connection, resource: str, path: Mapping[str, object]) -> None:
        self._connection = connection
        self._resource = resource
        self._path = dict(path)

    def memory(self, id: str) -> Record:
        """A record of any status. Raises `NotFound`."""
        return self._read("/{id}", {"id": id})

    def memory_versions(self, id: str, *, page_size: int | None = None) -> Iterator[Record]:
        """The record at each of its versions, newest first. Raises `NotFound`."""
        resource, query = f"{self._resource}/{{id}}/versions", {"limit": page_size}
        return pages(self._connection, resource, {**self._path, "id": id}, query, items="versions", shape=Record)

    def delete_memory(self, id: str, *, version: int | None = None) -> Record:
        """Delete a record, or find it deleted; what it had replaced does not come back. version: only if this one
        stands. Raises `VersionMismatch` (with what stands in `current`, which may be the deletion itself, where an
        answer was lost and the call sent again), `Conflict`, `NotFound`."""
        return self._change("DELETE", "/{id}", {"id": id}, version=version)

    # -- one call

    def _list(self, filters: Mapping[str, Any], page_size: int | None) -> Iterator[Record]:
        query = {**record_query(filters), "limit": page_size}
        return pages(self._connection, self._resource, self._path, query, items="memories", shape=Record)

    def _search(self, query: str, filters: Mapping[str, Any], limit: int | None, explain: bool) -> FoundRecords:
        asked = {**record_query(filters), "query": query, "explain": explain or None, "limit": limit}
        call = Call(method="GET", resource=self._resource, path=self._path, query=asked)
        return shaped(FoundRecords, self._connection.send(call))

    def _read(self, below: str, named: Mapping[str, object]) -> Record:
        call = Call(method="GET", resource=self._resource + below, path={**self._path, **named})
        return shaped(Record, self._connection.send(call))

    def _change(
        self,
        method: str,
        below: str,
        named: Mapping[str, object],
        *,
        body: Mapping[str, Any] | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Record:
        call = Call(
            method=method,
            resource=self._resource + below,
            path={**self._path, **named},
            body=body,
            headers=if_match(version),
            idempotency_key=idempotency_key,
        )
        return shaped(Record, self._connection.send(call))


class AgentMemories(Memories):
    """Those of an agent, of every scope and session."""

    def __init__(self, connection: Connection, agent_id: str) -> None:
        super().__init__(connection, OF_AGENT, {"agent": agent_id})

    def memories(self, *, page_size: int | None = None, **filters: Unpack[MemoryFilters]) -> Iterator[Record]:
        """Newest first, over all pages; `MemoryFilters` says what can be filtered by. page_size: 1 to 200, 50 by the
        server's default. Raises `NotFound`, `InvalidRequest`."""
        return self._list(filters, page_size)

    def search_memories(
        self, query: str, *, explain: bool = False, limit: int | None = None, **filters: Unpack[MemoryFilters]
    ) -> FoundRecords:
        """Active records, the best for the query first, as recall ranks them. explain: adds the cosine and both ranks.
        limit: 1 to 200, 50 by the server's default. Raises `NotFound`, `InvalidRequest`."""
        return self._search(query, filters, limit, explain)

    def memory_version(self, id: str, version: int) -> Record:
        """The record as it was at a version. Raises `NotFound`."""
        return self._read("/{id}/versions/{n}", {"id": id, "n": version})

    def insert_memory(
        self,
        summary: str,
        *,
        kind: str,
        scope: AgentScope,
        idempotency_key: str | None = None,
        **fields: Unpack[NewMemory],
    ) -> Record:
        """Save a record, active at once; `NewMemory` says what it may bring, and the id that its scope needs. One that
        is equal in every field to an active one is not saved: that one is given back.

        Raises `NotAllowed` (`kind_not_declared`, `label_not_declared`, `broader_target`, `pin_not_configured`,
        `pin_over_budget`), `Conflict` (`not_active`, `key_held`, `too_many_constraints`), `InvalidRequest` (also
        `id_required`), `NotFound`."""
        body = given(summary=summary, kind=kind, scope=scope, **fields)
        return self._change("POST", "", {}, body=body, idempotency_key=idempotency_key)

    def restore_memory(self, id: str, *, version: int | None = None, idempotency_key: str | None = None) -> Record:
        """Make a superseded or deleted record active again; what had replaced it is superseded. version: only if this
        one stands. Raises `Conflict` (`not_restorable`, `key_held`, `too_many_constraints`), `VersionMismatch`,
        `NotFound`."""
        return self._change("POST", "/{id}/restore", {"id": id}, version=version, idempotency_key=idempotency_key)


class Platform(Memories):
    """Those of the whole deployment: proposed by agents, decided on and written by people."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, PLATFORM, {})

    def memories(self, *, page_size: int | None = None, **filters: Unpack[PlatformFilters]) -> Iterator[Record]:
        """Newest first, over all pages; what agents propose has the status PENDING. Raises `InvalidRequest`."""
        return self._list(filters, page_size)

    def search_memories(
        self, query: str, *, explain: bool = False, limit: int | None = None, **filters: Unpack[PlatformFilters]
    ) -> FoundRecords:
        """As of an agent's."""
        return self._search(query, filters, limit, explain)

    def insert_memory(
        self, summary: str, *, kind: str, idempotency_key: str | None = None, **fields: Unpack[MemoryFields]
    ) -> Record:
        """Save a record, active at once for every agent that reads the platform. Raises as for an agent's."""
        body = given(summary=summary, kind=kind, scope="platform", **fields)
        return self._change("POST", "", {}, body=body, idempotency_key=idempotency_key)

    def decide(
        self,
        id: str,
        decision: Literal["approve", "reject"],
        *,
        version: int,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Record:
        """Approve or reject what an agent proposed. version: the one that was read. Approved it is active, has its key,
        and supersedes what its `replaces` names. Raises `Conflict` (`not_pending`; `target_changed`, `key_held` with
        what stands in `current`; `too_many_constraints`), `VersionMismatch`, `NotFound`."""
        body = given(decision=decision, reason=reason)
        return self._change(
            "POST", "/{id}/approval", {"id": id}, body=body, version=version, idempotency_key=idempotency_key
        )
