"""Builders of records, of staged changes and of what they meet; a test says only what matters to it.

There are four places, of one agent: a session's, a user's and the agent's, live, and that session's of preview. Kind
`constraint` binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_memory.domain.records import Record, Status, Version
from agent_memory.domain.scopes import Place, Scope
from agent_memory.domain.settling import Rules, settle
from agent_memory.domain.staging import Board, Change, Hidden, Hide, Noted, Remove, Save, Settled, Standing
from agent_memory.domain.times import written

NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)
LATER = written(NOW + timedelta(days=1))
SESSION = Place(Scope.SESSION, "support", "s-1")
USER = Place(Scope.USER, "support", "u-1")
AGENT = Place(Scope.AGENT, "support")
TRIAL = SESSION.trial
LIVE = (SESSION, USER, AGENT)
BY = {"turn_id": "other"}


def record(
    id: str,
    *,
    place: Place = SESSION,
    status: Status = Status.ACTIVE,
    replaced_by: str | None = None,
    kind: str = "fact",
    summary: str | None = None,
    **fields: Any,
) -> Record:
    first = Version(1, Status.ACTIVE, written(NOW), BY)
    later = () if status is Status.ACTIVE else (Version(2, status, written(NOW), BY, replaced_by),)
    return Record(
        id, place, summary or f"Summary of {id}.", kind, written(NOW), "tool", versions=(first, *later), **fields
    )


def save(id: str, *replaces: str, holders: Iterable[str] = (), places: Mapping[str, Place] = {}, **fields: Any) -> Save:
    new = record(id, replaces=replaces, **fields)
    return Save(new, {one: places.get(one, SESSION) for one in replaces}, holders=tuple(holders))


def pending(proposed: Save) -> Save:
    """The same as a proposal for people to decide on."""
    first = replace(proposed.record.newest, status=Status.PENDING)
    return replace(proposed, record=replace(proposed.record, versions=(first,)))


def remove(id: str, *, place: Place = SESSION, seen: Status = Status.ACTIVE) -> Remove:
    return Remove(id, place, seen, BY)


def hide(id: str, target: str, **fields: Any) -> Hide:
    """A preview deletion of a record that lies in the session."""
    first = Version(1, Status.DELETED, written(NOW), BY)
    fields = {"expires_at": LATER, **fields}
    gone = Record(
        id, TRIAL, f"Summary of {target}.", "fact", written(NOW), "tool", (first,), replaces=(target,), **fields
    )
    return Hide(gone, SESSION)


def standing(
    *present: Record,
    hidden: Mapping[str, Hidden] = {},
    boards: Sequence[Place] = (),
) -> Standing:
    """What stands in the table: these records, who of them holds which key, and the boards of these places."""
    holders = {(r.place, r.memory_key): r.id for r in present if r.memory_key and r.status is Status.ACTIVE}
    return Standing(
        records={r.id: r for r in present},
        holders=holders,
        hidden={id: [one] for id, one in hidden.items()},
        boards={place: _board([r for r in present if r.place == place]) for place in boards},
    )


def _board(present: Iterable[Record]) -> Board:
    noted = {r.id: Noted(r.memory_key, r.expires_at) for r in present}
    pinned = {r.id: noted[r.id] for r in present if r.pinned}
    return Board(1, pinned, {r.id: noted[r.id] for r in present if is_broader(r)})


def rules(
    places: Sequence[Place] = LIVE, *, reachable: Sequence[Place] | None = None, pin_tokens: float | None = None
) -> Rules:
    return Rules(
        is_broader=is_broader,
        places=places,
        reachable=places if reachable is None else reachable,
        sees=lambda record: record.place in places,
        pin_tokens=pin_tokens,
    )


def is_broader(record: Record) -> bool:
    return record.kind == "constraint"


def settled(log: Sequence[Change], *present: Record, **given: Any) -> Settled:
    """The log played over these records alone."""
    return settle(log, standing(*present), rules(**given), NOW)


def told(result: Settled) -> list[tuple[str, str, str, str]]:
    """Every conflict: what was changed, the record, its target, the outcome."""
    return [(c["change"], c["id"], c["target"], c["outcome"]) for c in result.conflicts]
