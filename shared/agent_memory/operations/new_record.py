"""A record as it is to be saved, whoever saves it, and one that says the same already (TL-2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.retention import ends_at
from agent_memory.domain.scopes import Place
from agent_memory.domain.times import written
from agent_memory.domain.tool_inputs import AddMemory

from .services import Services


def new_record(
    services: Services,
    request: AddMemory,
    place: Place,
    config: AgentConfig | None,
    *,
    status: Status,
    source: str,
    by: Mapping[str, Any],
    about: Iterable[str],
    now: datetime,
) -> Record:
    """config: what says how long it lives, None: nothing does. about: the users that it rests on."""
    created_at = written(now)
    given = request.expires_at
    return Record(
        id=services.ids.new(now),
        place=place,
        summary=request.summary,
        content=request.content,
        kind=request.kind,
        labels=request.labels,
        memory_key=request.memory_key,
        pinned=request.pinned,
        priority=request.priority,
        confidence=request.confidence,
        occurred_at=request.occurred_at,
        expires_at=ends_at(config, place, request.kind, now=now, given=given) if config else given,
        replaces=request.replaces,
        about=tuple(about),
        source=source,
        created_at=created_at,
        versions=(Version(1, status, created_at, by),),
    )


def equal_record(
    services: Services, new: Record, fingerprint: str, now: datetime, *, without: Collection[str] = ()
) -> Record | None:
    """A committed one of the same place, active, that is equal in every field; those of `without` do not count."""
    ids = [id for id in services.records.twins(new.place, fingerprint) if id not in without]
    live = services.records.live(dict.fromkeys(ids, new.place)) if ids else {}
    return next((live[id] for id in ids if id in live and live[id].is_active(now)), None)
