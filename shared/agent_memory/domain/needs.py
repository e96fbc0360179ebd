"""What must be read of the table before a log of changes can be settled (`settling`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .records import Record, Status
from .scopes import Place
from .settling import Rules
from .staging import Approve, Change, Confirm, Hide, Keyed, Reject, Remove, Restore, Save, Standing


@dataclass(frozen=True, slots=True)
class Needs:
    """records: by id where each lies, None where its pointer must be asked."""

    records: dict[str, Place | None]
    holders: set[Keyed]
    boards: set[Place]


def needs(log: Sequence[Change], standing: Standing, rules: Rules) -> Needs:
    """What `settle` must know of the table, as far as `standing` tells yet: asked again until nothing more is needed,
    since a record leads to the one that replaced it, and a key to its holder."""
    saves = [change.record for change in log if isinstance(change, Save) and change.record.status is Status.ACTIVE]
    counts_pins = any(record.pinned for record in saves)
    known = [*saves, *standing.records.values()]
    records: dict[str, Place | None] = {}
    holders: set[Keyed] = set()
    named = _named(log)
    boards = _boards(log, standing, saves, rules)
    if counts_pins:
        boards |= set(rules.places)
        holders |= {(place, r.memory_key) for r in saves if r.memory_key for place in rules.places}
    for place, board in standing.boards.items():
        if counts_pins and place in rules.places:
            records |= dict.fromkeys(board.pinned, place)
            keys = {noted.memory_key for noted in board.pinned.values() if noted.memory_key}
            holders |= {(one, key) for key in keys for one in rules.places}
    for record in known:
        if record.memory_key:
            holders |= {(place, record.memory_key) for place in {record.place, record.place.live}}
        if record.replaced_by:
            records.setdefault(record.replaced_by)
        for hidden in standing.hidden.get(record.id, ()):
            records[hidden.by] = hidden.place
    records |= {id: place for (place, _), id in standing.holders.items() if id}
    own = {change.record.id for change in log if isinstance(change, Save | Hide)}
    return Needs({id: p for id, p in {**records, **named}.items() if id not in own}, holders, boards)


def _boards(log: Sequence[Change], standing: Standing, saves: Sequence[Record], rules: Rules) -> set[Place]:
    """Of places where something comes that every recall must show, and of those where something may end: what ends is
    asked of the board and not of the configuration, since its kind may have been a binding one when it came."""
    come_back = {change.id for change in log if isinstance(change, Restore | Approve | Reject)}
    coming = [*saves, *(standing.records[id] for id in come_back & standing.records.keys())]
    boards = {record.place for record in coming if record.pinned or rules.is_broader(record)}
    boards |= {r.place for r in coming if r.memory_key or r.replaced_by}  # who holds its key, or replaced it, ends
    boards |= {record.place for id, record in standing.records.items() if id not in come_back}
    for change in log:
        match change:
            case Save() | Approve():
                boards |= set(change.places.values())
            case Remove():
                boards.add(change.place)
    return boards


def _named(log: Sequence[Change]) -> dict[str, Place]:
    """Where the records lie that the log names."""
    found: dict[str, Place] = {}
    for change in log:
        match change:
            case Save():
                found |= change.places
            case Remove():
                found[change.id] = change.place
            case Hide():
                (target,) = change.record.replaces
                found[target] = change.target
            case Confirm() | Restore() | Reject():
                found[change.id] = change.place
            case Approve():
                found |= {change.id: change.place, **change.places}
    return found
