"""The one door by which a memory comes in or goes (DESIGN, invariant 3): staged in a turn, real with its commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain.errors import ConditionFailed, StoreUnavailable, ToolRefused
from agent_memory.domain.ports import Write
from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.retention import ends_at
from agent_memory.domain.scopes import Place, place_for_new
from agent_memory.domain.staging import Remove, Save, Staged
from agent_memory.domain.times import written
from agent_memory.domain.tools import AddMemory, savable_scopes
from agent_memory.domain.turns import MAX_TOOL_CHANGES, not_open

from .embed import Usage, embed_record
from .enter import Entered, find_turn
from .services import Services
from .staged import View, staged_view

_TRIES = MAX_TOOL_CHANGES + 1  # each lost try is another call that staged first, and the turn is full after so many


@dataclass(frozen=True, slots=True)
class Added:
    record: Record
    duplicate: bool
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Removed:
    """record: as it will be; is_new: whether this call staged the deletion, or found it deleted already."""

    record: Record
    is_new: bool


def add(
    services: Services,
    entered: Entered,
    request: AddMemory,
    *,
    by: Mapping[str, Any],
    also: Callable[[Added], Sequence[Write]],
) -> Added:
    """Stage a new record, in one transaction with what `also` makes of it. Raises `ToolRefused`: nothing is staged.

    by: who writes, as `written_by` says it."""
    now = services.clock.now()
    place = place_for_new(entered.turn.ids, savable_scopes(entered.config), request.scope)
    record = _record(services, entered, request, place, by, now)
    fingerprint = fingerprint_of(record, request.expires_at)
    view, (vectors, usage) = services.together(
        lambda: staged_view(services, entered), lambda: embed_record(services, record)
    )
    added = Added(record, False, usage)
    for _ in range(_TRIES):
        places = _check_targets(services, entered, view, record)
        if not record.replaces and (twin := _twin(services, view, record, fingerprint, now)):
            return Added(twin, True, usage)
        staged = [*services.records.stage(record, vectors, services.embedder.model), *also(added)]
        if _stage(services, entered, view, Save(record, places, fingerprint), staged):
            return added
        view = staged_view(services, entered)
    raise StoreUnavailable("Other calls of this turn kept staging at once; send it again.")


def remove(
    services: Services, entered: Entered, id: str, *, by: Mapping[str, Any], also: Callable[[Record], Sequence[Write]]
) -> Removed:
    """Stage a deletion, in one transaction with what `also` makes of it. Deleting twice gives the same answer."""
    for _ in range(_TRIES):
        view = staged_view(services, entered)
        record = visible_record(services, entered, view, [id]).get(id)
        if record is None:
            raise _not_found("id")
        _check_written(entered, record, "id")
        if record.status is Status.DELETED:
            return Removed(record, False)
        gone = record.changed(Status.DELETED, at=services.clock.now(), by=by, replaced_by=record.replaced_by)
        if _stage(services, entered, view, Remove(id, record.place, record.status, by), also(gone)):
            return Removed(gone, True)
    raise StoreUnavailable("Other calls of this turn kept staging at once; send it again.")


def visible_record(services: Services, entered: Entered, view: View, ids: Iterable[str]) -> dict[str, Record]:
    """Records as the turn sees them now, whatever their status: staged ones and its own changes included, expired ones
    and those of places that it does not read left out."""
    wanted = list(ids)
    own = {id: view.settled.after[id] for id in wanted if id in view.settled.after}
    elsewhere = services.records.locate(entered.turn.agent_id, [id for id in wanted if id not in own])
    seen = {id: place for id, place in elsewhere.items() if place in entered.visible}
    found = own | (services.records.read(seen) if seen else {})
    now = services.clock.now()
    return {id: r for id, r in found.items() if r.place in entered.visible and not r.is_expired(now)}


def fingerprint_of(record: Record, expires_at: str | None) -> str:
    """Equal for records equal in every field, by code points (TL-2); `expires_at` as given, before retention."""
    labels = dict(sorted(record.labels.items()))
    given: list[object] = [record.summary, record.kind, record.content, labels, record.priority]
    given += [record.confidence, record.occurred_at, expires_at]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:32]


def _record(
    services: Services, entered: Entered, request: AddMemory, place: Place, by: Mapping[str, Any], now: datetime
) -> Record:
    created_at = written(now)
    return Record(
        id=services.ids.new(now),
        place=place,
        summary=request.summary,
        content=request.content,
        kind=request.kind,
        labels=request.labels,
        priority=request.priority,
        confidence=request.confidence,
        occurred_at=request.occurred_at,
        expires_at=ends_at(entered.config, place.scope, request.kind, now=now, given=request.expires_at),
        replaces=request.replaces,
        about=(entered.turn.user_id,) if entered.turn.user_id is not None else (),
        source="tool",
        created_at=created_at,
        versions=(Version(1, Status.ACTIVE, created_at, by),),
    )


def _check_targets(services: Services, entered: Entered, view: View, new: Record) -> dict[str, Place]:
    """Where the records lie that the new one replaces; every one active, in a scope that is written, none broader."""
    if not new.replaces:
        return {}
    found = visible_record(services, entered, view, new.replaces)
    for id in new.replaces:
        record = found.get(id)
        if record is None:
            raise _not_found("replaces")
        _check_written(entered, record, "replaces")
        if record.status is not Status.ACTIVE:
            details = {"status": record.status.value, "replaced_by": record.replaced_by}
            message = "replaces takes active records; this one is not: see details."
            raise ToolRefused("not_active", message, "replaces", details)
        if record.place.scope.breadth > new.place.scope.breadth:
            scope = record.place.scope.value
            message = f"A record cannot replace one of a broader scope: save it with scope {scope}."
            raise ToolRefused("broader_target", message, "scope", {"scope": scope})
    return {id: found[id].place for id in new.replaces}


def _twin(services: Services, view: View, new: Record, fingerprint: str, now: datetime) -> Record | None:
    """An active record of the same place that is equal in every field: staged by this turn, or committed."""
    for record in view.settled.saved:
        if record.place == new.place and view.fingerprints.get(record.id) == fingerprint:
            return record if record.is_active(now) else None
    ids = [id for id in services.records.twins(new.place, fingerprint) if id not in view.settled.gone]
    live = services.records.live(dict.fromkeys(ids, new.place)) if ids else {}
    return next((live[id] for id in ids if id in live and live[id].is_active(now)), None)


def _stage(services: Services, entered: Entered, view: View, change: Staged, also: Sequence[Write]) -> bool:
    """Append to the turn's log; False where another call of the turn staged first."""
    if view.changes + change.changes > MAX_TOOL_CHANGES:
        raise ToolRefused("turn_full", f"A turn takes at most {MAX_TOOL_CHANGES} changes by tools.")
    turns = services.turns
    entry = turns.stage(entered.turn, len(view.log) + 1, change)
    try:
        turns.transact([entry, turns.still_open(entered.turn), *also])
    except ConditionFailed as failed:
        if 1 in failed.positions:
            raise not_open(find_turn(services, entered.turn.agent_id, entered.turn.turn_id)) from failed
        return False
    return True


def _check_written(entered: Entered, record: Record, argument: str) -> None:
    """Raises `ToolRefused` for a record that the turn sees and may not change."""
    if record.place not in entered.reachable:
        scopes = ", ".join(place.scope.value for place in entered.writable) or "none"
        message = f"{argument} takes records in scopes that this agent writes: {scopes}."
        raise ToolRefused("scope_not_allowed", message, argument)


def _not_found(argument: str) -> ToolRefused:
    return ToolRefused("not_found", f"{argument} takes the id of a record that this turn sees.", argument)
