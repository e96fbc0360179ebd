"""Builders of records and messages as a recall finds them; a test says only what matters to it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from agent_memory.domain.messages import Message
from agent_memory.domain.ranking import Ranked
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.scopes import Place, Scope

LEARNED = "2026-05-12T08:00:00.000Z"

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def ulid(number: int) -> str:
    return f"01JD{number:022d}"


def a_record(
    number: int = 0, summary: str = "The depot closes at noon.", content: str | None = None, **fields: Any
) -> Record:
    """A fact of the session, found by a tool; `scope` and any other field of a record may be given."""
    scope = Scope(fields.pop("scope", "session"))
    owner = None if scope in (Scope.AGENT, Scope.PLATFORM) else "owner-1"
    place = Place(scope, None if scope is Scope.PLATFORM else "support", owner)
    created_at = fields.pop("created_at", LEARNED)
    first = Version(1, Status.ACTIVE, created_at, {})
    given = {"kind": "fact", "source": "tool", **fields}
    return Record(ulid(number), place, summary, created_at=created_at, versions=(first,), content=content, **given)


def scored(record: Record, score: float = 0.5) -> tuple[Record, Ranked]:
    return record, Ranked(record.id, score, None, None, None)


def said(text: str, role: str = "user", **fields: Any) -> Message:
    return _MESSAGE.validate_python({"role": role, "text": text, **fields})
