"""The one door by which a turn's memory comes in or goes (DESIGN, invariant 3): staged, and real with the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agent_memory.domain.errors import ConditionFailed, StoreUnavailable, ToolRefused
from agent_memory.domain.ports import Write
from agent_memory.domain.records import Record, Status, Version, fingerprint_of
from agent_memory.domain.scopes import Place, Scope, place_for_new
from agent_memory.domain.staging import MAX_CONSTRAINTS, Hide, Remove, Save, Staged
from agent_memory.domain.times import written
from agent_memory.domain.tools import AddMemory, savable_scopes
from agent_memory.domain.turns import MAX_TOOL_CHANGES, not_open

from .embed import Usage, embed_record
from .enter import Entered, find_turn
from .new_record import equal_record, new_record
from .services import Services
from .staged import View, staged_view, view_of

_TRIES = MAX_TOOL_CHANGES + 1  # each lost try is another call that staged first, and the turn is full after so many
_READABLE = (Status.ACTIVE, Status.SUPERSEDED, Status.DELETED)  # a proposal is nobody's to see (SC-4)


@dataclass(frozen=True, slots=True)
class Added:
    record: Record
    duplicate: bool
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Removed:
    """record: as it will be, of a live record in a preview turn the deletion that hides it; is_new: whether this call
    staged it, or found it deleted already."""

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
    record = new_record(
        services,
        request,
        place,
        entered.config,
        status=Status.PENDING if place.scope is Scope.PLATFORM else Status.ACTIVE,
        source="tool",
        by=by,
        about=entered.turn.about,
        now=now,
    )
    fingerprint = fingerprint_of(record, request.expires_at)
    view, (vectors, usage) = services.together(
        lambda: staged_view(services, entered), lambda: embed_record(services, record)
    )
    for _ in range(_TRIES):
        places = _check_targets(services, entered, view, record)
        if not record.replaces and (twin := _twin(services, view, record, fingerprint, now)):
            return Added(twin, True, usage)
        save, will_be = meeting(services, entered, view, Save(record, places, request.expires_at))
        added = Added(will_be, False, usage)
        puts = services.records.stage(record, vectors, services.embedder.model, fingerprint)
        staged = [*puts, *also(added)]
        if _stage(services, entered, view, save, staged):
            return added
        view = staged_view(services, entered)
    raise StoreUnavailable("Other calls of this turn kept staging at once; send it again.")


def remove(
    services: Services, entered: Entered, id: str, *, by: Mapping[str, Any], also: Callable[[Record], Sequence[Write]]
) -> Removed:
    """Stage a deletion, in one transaction with what `also` makes of it. Deleting twice gives the same answer."""
    for _ in range(_TRIES):
        view = staged_view(services, entered)
        if deletion := _hiding(services, entered, view, id):
            return Removed(deletion, False)
        record = visible_record(services, entered, view, [id]).get(id)
        if record is None:
            raise _not_found("id")
        if record.place.scope is Scope.PLATFORM:
            raise ToolRefused("needs_person", "Platform memory is deleted by people alone.", "id")
        _check_written(entered, record, "id")
        if record.status is Status.DELETED:
            return Removed(record, False)
        change, gone = removal(services, entered, record, by)
        pointer = services.records.stage(gone, [], services.embedder.model) if isinstance(change, Hide) else []
        if _stage(services, entered, view, change, [*pointer, *also(gone)]):
            return Removed(gone, True)
    raise StoreUnavailable("Other calls of this turn kept staging at once; send it again.")


def visible_record(services: Services, entered: Entered, view: View, ids: Iterable[str]) -> dict[str, Record]:
    """Records as the turn sees them now, active, superseded or deleted: staged ones and its own changes included;
    expired ones, those of places that it does not read, and what preview hides left out."""
    wanted = list(ids)
    own = {id: view.settled.after[id] for id in wanted if id in view.settled.after}
    elsewhere = services.records.locate(entered.turn.agent_id, [id for id in wanted if id not in own])
    looked_at = {*entered.visible, *entered.binding}
    seen = {id: place for id, place in elsewhere.items() if place in looked_at}
    found = own | (services.records.read(seen) if seen else {})
    now = services.clock.now()
    return {
        id: r
        for id, r in found.items()
        if r.status in _READABLE and entered.sees(r) and not r.is_expired(now) and not view.hides(id, now)
    }


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
    fingerprints = view.fingerprints
    for record in view.settled.new:
        is_equal = record.place == new.place and fingerprints.get(record.id) == fingerprint
        if is_equal and (record.is_active(now) or record.status is Status.PENDING):
            return record
    return equal_record(services, new, fingerprint, now, without=view.settled.gone)


def meeting(services: Services, entered: Entered, view: View, draft: Save) -> tuple[Save, Record]:
    """The save as it is staged, having met what stands, and its record as it will be. What at the commit would be a
    conflict is refused here, since the model can still choose (RC-3, PN-2, RL-1)."""
    settled = view_of(services, entered, [*view.log, draft], view.settled.standing).settled
    id = draft.record.id
    met = [(c["change"], c["outcome"], c["target"]) for c in settled.conflicts if c["id"] == id]
    for change, outcome, target in met:
        if (change, outcome) == ("key", "nothing"):
            message = "A record of a binding kind holds this memory_key: name it in replaces, or choose another key."
            raise ToolRefused("key_held", message, "memory_key", {"id": target})
        if change == "save":
            message = f"This scope holds {MAX_CONSTRAINTS} constraints already: replace or delete one first."
            raise ToolRefused("too_many_constraints", message, "kind", {"max": MAX_CONSTRAINTS})
        if change == "pin":
            raise _pin_over_budget(settled.over_budget[id], entered)
    will_be = settled.after[id]
    holders = tuple(target for change, _, target in met if change == "key")
    superseded = [one for one in will_be.replaces if one in settled.after] if will_be.status is Status.ACTIVE else []
    return replace(draft, holders=holders, supersedes=len(superseded)), will_be


def _pin_over_budget(tokens: int, entered: Entered) -> ToolRefused:
    pinned = entered.config.memory.pinned
    assert pinned is not None, "a pin without a budget was refused before"
    message = (
        f"With this pin the list would have {tokens} tokens of at most {pinned.max_tokens}: replace several pins with"
        " one, naming them in replaces, or leave pinned out."
    )
    return ToolRefused("pin_over_budget", message, "pinned", {"tokens": tokens, "max_tokens": pinned.max_tokens})


def removal(
    services: Services, entered: Entered, record: Record, by: Mapping[str, Any], source: str = "tool"
) -> tuple[Remove | Hide, Record]:
    """The deletion as it is staged, and its record as it will be. A preview turn never changes a live record: it says
    that it is gone (PV-3)."""
    now = services.clock.now()
    if not entered.turn.preview or record.preview:
        gone = record.changed(Status.DELETED, at=now, by=by, replaced_by=record.replaced_by)
        return Remove(record.id, record.place, record.status, by), gone
    created_at, preview = written(now), entered.config.memory.retention.preview
    deletion = Record(
        id=services.ids.new(now),
        place=record.place.trial,
        summary=record.summary,
        kind=record.kind,
        labels=record.labels,
        expires_at=written(now + preview),
        replaces=(record.id,),
        about=record.about,
        source=source,
        created_at=created_at,
        versions=(Version(1, Status.DELETED, created_at, by),),
    )
    return Hide(deletion, record.place, record.status), deletion


def _hiding(services: Services, entered: Entered, view: View, id: str) -> Record | None:
    """The preview deletion that hides the live record already; None where nothing does, or a replacement."""
    now = services.clock.now()
    hidden = view.settled.hidden.get(id) or view.settled.standing.hider(id, now)
    if hidden is None:
        return None
    record = view.settled.after.get(hidden.by) or services.records.read({hidden.by: hidden.place}).get(hidden.by)
    return record if record and record.hides and record.place in entered.visible else None


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
        scopes = ", ".join(dict.fromkeys(place.scope.value for place in entered.writable)) or "none"
        message = f"{argument} takes records in scopes that this agent writes: {scopes}."
        raise ToolRefused("scope_not_allowed", message, argument)


def _not_found(argument: str) -> ToolRefused:
    return ToolRefused("not_found", f"{argument} takes the id of a record that this turn sees.", argument)
