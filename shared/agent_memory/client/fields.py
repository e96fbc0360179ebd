"""What several calls take: filters of lists, and what a record may bring. Keyword arguments, all of them optional; None
says the same as absence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

Scope = Literal["session", "workflow", "user", "agent", "platform"]
AgentScope = Literal["session", "workflow", "user", "agent"]
Status = Literal["ACTIVE", "PENDING", "SUPERSEDED", "REJECTED", "DELETED", "all"]
Source = Literal["tool", "review", "lesson", "person", "import", "merge"]
TurnStatus = Literal["open", "ending", "committed", "rolled_back"]


class MemoryFields(TypedDict, total=False):
    """Of a record, beside summary and kind. replaces: an id, or up to 10. memory_key: what it is about; who had the key
    is replaced. pinned: show it before every model call. Times take an offset."""

    content: str | None
    labels: Mapping[str, str] | None
    replaces: str | Sequence[str] | None
    memory_key: str | None
    pinned: bool | None
    priority: int | None
    confidence: float | None
    occurred_at: str | datetime | None
    expires_at: str | datetime | None


class Owner(TypedDict, total=False):
    """Whose record it is: the id that its scope needs. user_id with another scope: whom it is about."""

    session_id: str | None
    workflow_id: str | None
    user_id: str | None


class NewMemory(MemoryFields, Owner, total=False):
    """Of a record that a person or a program saves for an agent."""


class PlatformFilters(TypedDict, total=False):
    """All that are given hold. status: active ones, and deletions that preview turns see, where it is not given.
    expired: the expired alone. since, until: of `created_at`, until excluded, with an offset."""

    kind: str | None
    labels: Mapping[str, str] | None
    status: Status | Sequence[Status] | None
    memory_key: str | None
    pinned: bool | None
    preview: bool | None
    source: Source | None
    expired: bool
    since: str | datetime | None
    until: str | datetime | None


class MemoryFilters(PlatformFilters, total=False):
    """As of the platform, and whose records. An id that is missing is no filter: all of them are shown."""

    scope: Scope | None
    session_id: str | None
    workflow_id: str | None
    user_id: str | None


class TurnFilters(TypedDict, total=False):
    """All that are given hold. preview: only preview turns, or only live ones. review: only turns whose review has
    failed. since, until: of when a turn was begun, until excluded, with an offset."""

    session_id: str | None
    workflow_id: str | None
    user_id: str | None
    execution_id: str | None
    invocation_id: str | None
    status: TurnStatus | None
    preview: bool | None
    review: Literal["failed"] | None
    since: str | datetime | None
    until: str | datetime | None


def record_query(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters of records as the query string has them: a parameter for each label."""
    labels: Mapping[str, str] = filters.get("labels") or {}
    plain = {name: value for name, value in filters.items() if name != "labels"}
    return {**plain, "expired": filters.get("expired") or None, **{f"label.{name}": v for name, v in labels.items()}}
