"""What becomes of candidates: which decisions there are, and which of them may be taken on what (EX-1, EX-9).

Leaves to the operation to carry them out, and to say what changed meanwhile (TU-8).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cutting import cut
from ..text import without_lone_surrogates
from .compared import Compared
from .reading import Read, Wrong, length_of, listed
from .same import says_the_same

DECISIONS = "decisions"
MAX_REASON_CHARACTERS = 500

SAME = "same_text"
NO_NEIGHBOUR = "no_neighbour"
PROTECTED = "protected"
NOT_WRITABLE = "not_writable"
UNREADABLE = "unreadable"
TURN_FULL = "turn_full"
TOO_MANY = "too_many"  # of one step: it was compared with nothing
TARGET_CHANGED = "target_changed"
NO_ID = "no_id"  # the turn has none for the candidate's scope
GATE = "gate"

_NOT_TOLD_AGAIN = {NO_NEIGHBOUR, PROTECTED, NOT_WRITABLE, UNREADABLE, TURN_FULL, TOO_MANY, TARGET_CHANGED, NO_ID, GATE}


@dataclass(frozen=True, slots=True)
class Add:
    reason: str


@dataclass(frozen=True, slots=True)
class Replace:
    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Delete:
    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """memory_id: the record for whose sake, where there is one."""

    reason: str
    memory_id: str | None = None


Decision = Add | Replace | Delete | Skip


def restated(decision: Skip, compared: Compared) -> str | None:
    """The record that says already what is skipped: the one that was named, else the nearest (EX-1). None where it is
    skipped for another reason."""
    if compared.candidate.retracts or decision.reason in _NOT_TOLD_AGAIN:
        return None
    return decision.memory_id or next((near.id for near in compared.neighbours), None)


def decided_without_call(compared: Compared) -> Decision | None:
    """What is clear without a model; None where it has to decide."""
    candidate, neighbours = compared.candidate, compared.neighbours
    if not neighbours:
        return Skip(NO_NEIGHBOUR) if candidate.retracts else Add(NO_NEIGHBOUR)
    if candidate.retracts:
        return None  # the record that it takes back may well say the same
    same = (each for each in neighbours if says_the_same(candidate, each.summary, each.content))
    return next((Skip(SAME, each.id) for each in same), None)


def read_decisions(text: str, compared: Sequence[Compared]) -> Read[Decision]:
    """The decisions of an answer, by their candidates' numbers: each candidate is among the right or the wrong once.
    What names no candidate is nobody's. Never raises, whatever the text."""
    values = listed(text, DECISIONS)
    if values is None:
        return Read(DECISIONS, whole=False)
    given = _by_candidate(values)
    right, wrong = [], []
    for each in compared:
        decision = _read(given[each.number], each)
        if isinstance(decision, str):
            wrong.append(Wrong(each.number, (decision,), length_of(given[each.number])))
        else:
            right.append((each.number, decision))
    return Read(DECISIONS, True, right, wrong)


def _by_candidate(values: Sequence[object]) -> Mapping[int, list[Mapping[str, Any]]]:
    given: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for value in values:
        if isinstance(value, Mapping) and type(number := value.get("candidate")) is int:
            given[number].append(value)
    return given


def _read(given: Sequence[Mapping[str, Any]], compared: Compared) -> Decision | str:
    """The one decision, or what the candidate takes instead."""
    if not given:
        return "this candidate takes a decision"
    decisions = [_decision(value, compared) for value in given]
    return decisions[0] if len(set(map(_gist, decisions))) == 1 else "this candidate takes one decision"


def _gist(decision: Decision | str) -> object:
    """What it comes to, whatever the reason: a decision that is said twice is one."""
    return decision if isinstance(decision, str) else (type(decision), getattr(decision, "memory_id", None))


def _decision(value: Mapping[str, Any], compared: Compared) -> Decision | str:
    reason, id = _reason(value.get("reason")), value.get("memory_id")
    match value.get("action"), compared.candidate.retracts:
        case "skip", _:
            return Skip(reason, id if isinstance(id, str) and compared.neighbour(id) else None)
        case "add", False:
            return Add(reason)
        case "replace", False:
            return _on_target(Replace, id, reason, compared)
        case "delete", True:
            return _on_target(Delete, id, reason, compared)
        case _:
            allowed = "delete or skip" if compared.candidate.retracts else "add, replace or skip"
            return f"action takes {allowed} here"


def _on_target(action: type[Replace] | type[Delete], id: object, reason: str, compared: Compared) -> Decision | str:
    target = compared.neighbour(id) if isinstance(id, str) else None
    if target is None:
        return "memory_id takes the id of one of this candidate's neighbours"
    if target.protected:
        return Skip(PROTECTED, target.id)
    return action(target.id, reason) if target.writable else Skip(NOT_WRITABLE, target.id)


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]+")


def _reason(given: object) -> str:
    """The model's words, in bounds: they are kept for people to read."""
    text = without_lone_surrogates(given) if isinstance(given, str) else ""
    return cut(_CONTROLS.sub(" ", text).strip(), MAX_REASON_CHARACTERS, sentences=False)
