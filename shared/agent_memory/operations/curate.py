"""What people do with a record that is there: delete it, restore it, decide on a proposal (GR-4, GR-8, SC-4).

Each is one transaction over what the record stands among, settled by the same rules as a turn's commit. Of two at once
one wins; the other is told what stands now (RC-7). `agent_id` None: platform memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.errors import ConditionFailed, Conflict, IfMatchRequired, StoreUnavailable, VersionMismatch
from agent_memory.domain.precedence import is_broader_kind
from agent_memory.domain.records import Record, Status
from agent_memory.domain.settling import Rules, settle
from agent_memory.domain.staging import MAX_CONSTRAINTS, Approve, Change, Reject, Remove, Restore, Settled, Standing
from agent_memory.store.commits import commit_writes

from .also import Also, nothing
from .configure import Expected
from .memories import find_record
from .services import Services
from .staged import standing_for

_TRIES = 16  # each lost try is another writer that changed what stands around the record, and not the record itself


def discard(
    services: Services,
    agent_id: str | None,
    id: str,
    expected: Expected,
    *,
    by: Mapping[str, Any],
) -> Record:
    """Delete a record, whatever its status; one that is deleted is given as it stands (RC-6). Raises `NotFound`,
    `VersionMismatch`, `Conflict`."""

    def remove(record: Record) -> Change:
        return Remove(record.id, record.place, record.status, by)

    return _changed(services, agent_id, id, expected, remove, done=Status.DELETED)


def restore(
    services: Services,
    agent_id: str,
    id: str,
    expected: Expected,
    *,
    by: Mapping[str, Any],
    also: Also[Record] = nothing,
) -> Record:
    """Make a superseded or deleted record active again, superseding the active end of what replaced it (GR-8). Raises
    `NotFound`, `VersionMismatch`, `Conflict` (not_restorable, key_held, too_many_constraints)."""

    def revive(record: Record) -> Change:
        has_ended = record.status in (Status.SUPERSEDED, Status.DELETED) and not record.hides
        if not has_ended or record.is_expired(services.clock.now()):
            message = "Only a superseded or deleted record that has not expired is restored."
            raise Conflict(message, code="not_restorable", current=current_of(record))
        return Restore(record.id, record.place, by)

    return _changed(services, agent_id, id, expected, revive, also=also)


def decide(
    services: Services,
    id: str,
    expected: Expected,
    *,
    approve: bool,
    by: Mapping[str, Any],
    also: Also[Record] = nothing,
) -> Record:
    """Approve or reject what an agent proposed for platform memory (SC-4). Raises `NotFound`, `IfMatchRequired`,
    `VersionMismatch`, `Conflict` (not_pending, target_changed, key_held, too_many_constraints)."""
    if expected.version is None and not expected.unreadable:
        raise IfMatchRequired("If-Match takes the version of the proposal that was read.")

    def decided(record: Record) -> Change:
        if record.status is not Status.PENDING:
            message = "Only a proposal that is pending is decided on."
            raise Conflict(message, code="not_pending", current=current_of(record))
        places = services.records.locate(record.newest.written_by.get("agent_id"), record.replaces)
        return Approve(record.id, record.place, places, by) if approve else Reject(record.id, record.place, by)

    return _changed(services, None, id, expected, decided, also=also)


def current_of(record: Record) -> dict[str, Any]:
    return {"id": record.id, "version": record.version, "status": record.status.value}


def rules_for(config: AgentConfig | None) -> Rules:
    """For changes beside turns: nobody's view bounds them, and no pin is counted. config: None for platform, where no
    agent's matters."""
    return Rules(is_broader=lambda record: is_broader_kind(record.kind, config, record.place.scope))


def _changed(
    services: Services,
    agent_id: str | None,
    id: str,
    expected: Expected,
    change_of: Callable[[Record], Change],
    *,
    done: Status | None = None,
    also: Also[Record] = nothing,
) -> Record:
    """Carry the change out in one transaction, and give the record as it is then. done: the status in which there is
    nothing left to do."""
    read: Record | None = None
    for _ in range(_TRIES):
        record = find_record(services, agent_id, id)
        _check(record, expected)
        if record.status is done:
            return record
        if read and read.version != record.version:
            raise Conflict("The record was changed at the same time.", current=current_of(record))
        read = record
        settled = _settled(services, agent_id, record, change_of(record))
        changed = settled.after[id]
        writes = commit_writes(settled, {}, services.ids.new(services.clock.now()))
        try:
            services.turns.transact([*writes, *also(changed)])
        except ConditionFailed:
            continue
        return changed
    raise StoreUnavailable("Others kept changing what this record stands among; send it again.")


def _settled(services: Services, agent_id: str | None, record: Record, change: Change) -> Settled:
    """record: as it was read and decided on. It is not read again: were it changed in between, the transaction would be
    conditional on what nobody has looked at."""
    newest = services.agents.newest(agent_id) if agent_id else None
    rules = rules_for(newest.config if newest else None)
    standing = standing_for(services, agent_id, [change], _known(services, record), rules)
    settled = settle([change], standing, rules, services.clock.now())
    for conflict in settled.conflicts:
        raise _refusal(conflict)
    return settled


def _known(services: Services, record: Record) -> Standing:
    """What an approved proposal of a preview turn replaces it hides, beside what is hidden there already (PV-3)."""
    if record.status is not Status.PENDING or not record.preview:
        return Standing(records={record.id: record})
    changes, hidden = services.records.hidden(record.place)
    return Standing(records={record.id: record}, hidden=hidden, hiding={record.place: changes})


def _refusal(conflict: Mapping[str, Any]) -> Conflict:
    match conflict["change"]:
        case "key":
            return Conflict("Another record holds its memory_key.", code="key_held", current=conflict["current"])
        case "save":
            return too_many_constraints()
        case _:
            message = "A record that it is to replace has changed since it was proposed."
            return Conflict(message, code="target_changed", current=conflict["current"])


def too_many_constraints() -> Conflict:
    return Conflict(f"This scope holds {MAX_CONSTRAINTS} constraints already.", code="too_many_constraints")


def _check(record: Record, expected: Expected) -> None:
    differs = expected.version is not None and expected.version != record.version
    if differs or expected.unreadable or expected.absent:
        raise VersionMismatch("Another version stands than the one named.", current=current_of(record))
