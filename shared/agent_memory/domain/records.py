"""A record: one memory, its text fixed for ever, and the versions that say what became of it (RC-1 to RC-6).

Instants are kept as text: given ones as they were given (IF-4), our own in UTC with milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from .scopes import Place
from .times import instant, written

CONFIRMED_FREELY = 50  # versions; with more of them a record is confirmed once a day: all lie in its item of 400 KB


class Status(StrEnum):
    ACTIVE = "ACTIVE"
    PENDING = "PENDING"
    SUPERSEDED = "SUPERSEDED"
    REJECTED = "REJECTED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Version:
    """What one version changed. Numbers run 1, 2, 3 …; version 1 brought the record."""

    number: int
    status: Status
    written_at: str
    written_by: Mapping[str, Any]
    replaced_by: str | None = None
    confirmed_at: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    id: str
    place: Place
    summary: str
    kind: str
    created_at: str
    source: str
    versions: tuple[Version, ...]
    content: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    memory_key: str | None = None
    pinned: bool = False
    priority: int = 50
    confidence: float = 1.0
    occurred_at: str | None = None
    expires_at: str | None = None
    replaces: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    stamp: int = 0  # grows with every version; the search index keeps the greatest

    @property
    def newest(self) -> Version:
        return self.versions[-1]

    @property
    def version(self) -> int:
        return self.newest.number

    @property
    def status(self) -> Status:
        return self.newest.status

    @property
    def replaced_by(self) -> str | None:
        return self.newest.replaced_by

    @property
    def preview(self) -> bool:
        return self.place.preview

    @property
    def hides(self) -> bool:
        """Whether it is a preview deletion: it was never more than the word that a live record is gone (PV-3)."""
        return self.preview and self.versions[0].status is Status.DELETED

    def is_expired(self, now: datetime) -> bool:
        """From that instant on nothing recalls, searches, lists or reads it (LC-1)."""
        return self.expires_at is not None and instant(self.expires_at) <= now

    def is_active(self, now: datetime) -> bool:
        return self.status is Status.ACTIVE and not self.is_expired(now)

    def at(self, number: int) -> Record | None:
        """The record as it stood at that version."""
        return replace(self, versions=self.versions[:number]) if 1 <= number <= self.version else None

    def changed(self, status: Status, *, at: datetime, by: Mapping[str, Any], replaced_by: str | None = None) -> Record:
        """The record with one more version."""
        version = Version(self.version + 1, status, written(at), dict(by), replaced_by, self.newest.confirmed_at)
        return replace(self, versions=(*self.versions, version), stamp=next_stamp(self.stamp, at))

    def is_to_confirm(self, now: datetime) -> bool:
        """Whether it is worth a version that it was told again, which somebody may do in every turn."""
        last = instant(self.newest.confirmed_at or self.created_at)
        return self.version < CONFIRMED_FREELY or now - last >= timedelta(days=1)

    def confirmed(self, *, at: datetime, by: Mapping[str, Any]) -> Record:
        """The record with one more version, which says that it was told again."""
        version = replace(self.newest, number=self.version + 1, written_at=written(at), written_by=dict(by))
        versions = (*self.versions, replace(version, confirmed_at=written(at)))
        return replace(self, versions=versions, stamp=next_stamp(self.stamp, at))


def next_stamp(previous: int, now: datetime) -> int:
    """A number that only grows per record, also when the clock goes back."""
    return max(previous + 1, int(now.timestamp() * 1000))


def fingerprint_of(record: Record, expires_at: str | None) -> str:
    """Equal for records equal in every field, by code points (TL-2). expires_at: as it was given, before retention."""
    labels = dict(sorted(record.labels.items()))
    given: list[object] = [record.summary, record.kind, record.content, labels, record.priority]
    given += [record.confidence, record.occurred_at, expires_at, record.memory_key, record.pinned]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:32]


def searchable_text(record: Record) -> str:
    """What words are looked for in: summary, content and label values (RK-1)."""
    return "\n".join([record.summary, record.content or "", *record.labels.values()])


def view(record: Record) -> dict[str, Any]:
    """What a tool gives the model (API.md, "view")."""
    return {
        "id": record.id,
        "version": record.version,
        "status": record.status.value,
        "scope": record.place.scope.value,
        "kind": record.kind,
        "labels": dict(record.labels),
        "summary": record.summary,
        "content": record.content,
        "memory_key": record.memory_key,
        "priority": record.priority,
        "pinned": record.pinned,
        "preview": record.preview,
        "replaces": list(record.replaces),
        "replaced_by": record.replaced_by,
        "source": record.source,
        "occurred_at": record.occurred_at,
        "created_at": record.created_at,
    }


def answer(record: Record, now: datetime) -> dict[str, Any]:
    """The record for people and programs (SPEC section 4)."""
    return {
        **view(record),
        "agent_id": record.place.agent_id,
        **record.place.ids,
        "confidence": record.confidence,
        "expires_at": record.expires_at,
        "expired": record.is_expired(now),
        "confirmed_at": record.newest.confirmed_at,
        "about": list(record.about),
        "written_at": record.newest.written_at,
        "written_by": _with_links(record.newest.written_by, record.place.agent_id),
    }


def _with_links(written_by: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
    """Where what wrote a version is read. Of a platform record the turn belongs to the agent that proposed it."""
    turn_id, agent_id = written_by.get("turn_id"), owner or written_by.get("agent_id")
    links = {}
    if agent_id and turn_id:
        turn = f"/v1/agents/{agent_id}/turns/{turn_id}"
        links = {"turn": turn, "transcript": f"{turn}/transcript"}
        links["agent_version"] = f"/v1/agents/{agent_id}/config?version={written_by.get('agent_version')}"
        if execution_id := written_by.get("tool_execution_id"):
            links["tool_execution"] = f"/v1/agents/{agent_id}/executions/{execution_id}"
    return {**{name: written_by.get(name) for name in WRITER_FIELDS}, "links": links}


WRITER_FIELDS = (
    "execution_id",
    "invocation_id",
    "agent_version",
    "session_id",
    "workflow_id",
    "user_id",
    "turn_id",
    "conversation",
    "tool_execution_id",
    "caller",
)
"""Who wrote a version; empty ones are not stored."""
