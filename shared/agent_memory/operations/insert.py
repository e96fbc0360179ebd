"""A record that a person or a program saves beside turns (GR-9): as `add_memory` would, and active at once, platform
records too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.errors import (
    ConditionFailed,
    Conflict,
    Fault,
    InvalidRequest,
    NotAllowed,
    NotFound,
    StoreUnavailable,
)
from agent_memory.domain.precedence import PLATFORM_KINDS
from agent_memory.domain.records import Record, Status, fingerprint_of
from agent_memory.domain.scopes import Place, Scope, TurnIds, places_of
from agent_memory.domain.settling import Rules, settle
from agent_memory.domain.staging import Save, Settled, Standing
from agent_memory.domain.times import instant
from agent_memory.domain.tool_inputs import AddMemory
from agent_memory.store.commits import commit_writes

from .also import Also, nothing
from .configure import configuration_of
from .curate import current_of, rules_for, too_many_constraints
from .embed import embed_record
from .new_record import equal_record, new_record
from .services import Services
from .staged import standing_for

_TRIES = 16  # each lost try is another writer that changed what the record meets


@dataclass(frozen=True, slots=True)
class Inserted:
    """duplicate: the record was there already, equal in every field."""

    record: Record
    duplicate: bool = False


def insert(
    services: Services,
    agent_id: str | None,
    request: AddMemory,
    ids: Mapping[str, str | None],
    *,
    caller: str,
    also: Also[Inserted] = nothing,
) -> Inserted:
    """Save a record in `request.scope` of the owner that `ids` names (session_id, workflow_id, user_id). agent_id None:
    platform memory. Raises `InvalidRequest` (id_required), `NotAllowed`, `NotFound` for what it is to replace,
    `Conflict` (not_active, key_held, too_many_constraints)."""
    configured = configuration_of(services, agent_id) if agent_id else None
    config = configured.config if configured else None
    turn_ids = TurnIds(agent_id or "", ids.get("session_id"), ids.get("workflow_id"), ids.get("user_id"))
    place, now = _place(turn_ids, request), services.clock.now()
    _check_allowed(request, config, now)
    version = {"agent_version": configured.version} if configured else {}
    by = {"caller": caller, **version, **{name: id for name, id in ids.items() if id is not None}}
    record = new_record(
        services,
        request,
        place,
        config,
        status=Status.ACTIVE,
        source="person",
        by=by,
        about=filter(None, [ids.get("user_id")]),
        now=now,
    )
    fingerprint = fingerprint_of(record, request.expires_at)
    vectors, _ = embed_record(services, record)
    for _ in range(_TRIES):
        if not record.replaces and (twin := equal_record(services, record, fingerprint, now)):
            return Inserted(twin, duplicate=True)
        draft = Save(record, _targets(services, agent_id, record), request.expires_at)
        settled = _settled(services, draft, config, turn_ids)
        inserted = Inserted(settled.after[record.id])
        writes = commit_writes(settled, {record.id: fingerprint}, services.ids.new(now))
        staged = services.records.stage(record, vectors, services.embedder.model, fingerprint)
        try:
            services.turns.transact([*writes, *staged, *also(inserted)])
        except ConditionFailed:
            continue
        return inserted
    raise StoreUnavailable("Others kept changing what this record meets; send it again.")


def _place(ids: TurnIds, request: AddMemory) -> Place:
    place = ids.place(Scope(request.scope or ""))
    if place is None:
        field = f"{request.scope}_id"
        fault = Fault(field, "id_required", f"is required with scope {request.scope}")
        raise InvalidRequest(f"{field} is required with this scope.", code="id_required", faults=[fault])
    return place


def _check_allowed(request: AddMemory, config: AgentConfig | None, now: datetime) -> None:
    """Raises what the configuration does not allow; platform memory has kinds of its own, and no labels."""
    if request.expires_at is not None and instant(request.expires_at) <= now:
        fault = Fault("expires_at", "invalid_request", "takes a date and time later than now, with an offset")
        raise InvalidRequest("The request has faults.", faults=[fault])
    kinds: Sequence[str] = config.kinds if config else PLATFORM_KINDS
    labels = list(config.memory.labels) if config else []
    if request.kind not in kinds:
        raise _not_allowed("kind_not_declared", "kind", f"takes one of {', '.join(kinds)}")
    for name in request.labels:
        if name not in labels:
            declared = f"takes the declared names {', '.join(labels)}" if labels else "no labels are declared here"
            raise _not_allowed("label_not_declared", f"labels.{name}", declared)
    if request.pinned and config and config.memory.pinned is None:
        raise _not_allowed("pin_not_configured", "pinned", "takes true only where the configuration has a pin list")


def _not_allowed(code: str, path: str, takes: str) -> NotAllowed:
    return NotAllowed(f"{path} {takes}.", code=code, faults=[Fault(path, code, takes)])


def _targets(services: Services, agent_id: str | None, new: Record) -> dict[str, Place]:
    """Where the records lie that the new one replaces: live ones of the same agent, active, none of a broader scope."""
    located = services.records.locate(agent_id, new.replaces, platform=False) if new.replaces else {}
    places = {id: place for id, place in located.items() if not place.preview}
    found = services.records.read(places) if places else {}
    for id in new.replaces:
        record = found.get(id)
        if record is None:
            raise NotFound("replaces takes ids of live records here.")
        if not record.is_active(services.clock.now()):
            raise Conflict("replaces takes active records.", code="not_active", current=current_of(record))
        if record.place.scope.breadth > new.place.scope.breadth:
            takes = f"takes {record.place.scope.value} or a broader one: a record cannot replace one of a broader scope"
            raise _not_allowed("broader_target", "scope", takes)
    return {id: found[id].place for id in new.replaces}


def _settled(services: Services, draft: Save, config: AgentConfig | None, ids: TurnIds) -> Settled:
    """Raises what at a turn's commit would be a conflict: whoever asks can still choose."""
    rules, id = _rules(config, ids), draft.record.id
    standing = standing_for(services, draft.record.place.agent_id, [draft], Standing(), rules)
    settled = settle([draft], standing, rules, services.clock.now())
    for conflict in settled.conflicts:
        match conflict["change"], conflict["outcome"]:
            case "key", "nothing":
                message = "A record of a binding kind holds this memory_key: name it in replaces."
                raise Conflict(message, code="key_held", current=conflict["current"])
            case "save", _:
                raise too_many_constraints()
            case "pin", _:
                takes = f"would make a list of {settled.over_budget[id]} tokens, of at most {rules.pin_tokens}"
                raise _not_allowed("pin_over_budget", "pinned", takes)
            case "replace", _:
                raise Conflict("replaces takes active records.", code="not_active", current=conflict["current"])
    return settled


def _rules(config: AgentConfig | None, ids: TurnIds) -> Rules:
    """A pin is counted in the list of a turn with these ids. Platform pins belong to no agent's budget: each agent
    lists as many as its own has room for."""
    beside = rules_for(config)
    if config is None:
        return replace(beside, pin_tokens=inf)
    pinned, places = config.memory.pinned, places_of(ids, config.memory.scope.read)
    return replace(
        beside,
        places=places,
        sees=lambda record: record.place in places,
        pin_tokens=pinned.max_tokens if pinned else None,
    )
