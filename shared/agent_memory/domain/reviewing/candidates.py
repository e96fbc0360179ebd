"""What a review proposes to keep or to take back, and how the model's list of it is read (EX-1, EX-5, EX-6).

A field of a candidate takes what `add_memory` takes, so what is wrong is said in the same words. Leaves to `decisions`
what becomes of a candidate, and to the gate what no memory may say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from ..configuration import AgentConfig
from ..faults import tool_faults_of
from ..text import has_refused
from ..tool_inputs import AddMemory
from ..tools import savable_scopes, undeclared
from .reading import Read, Wrong, faults_text, length_of, listed

__all__ = ["CANDIDATES", "MAX_CANDIDATES", "Candidate", "Read", "Wrong", "faults_text", "read_candidates"]

CANDIDATES = "candidates"
MAX_CANDIDATES = 1000  # a turn makes 25 changes (TU-5): what is more than that is skipped, this is out of all measure

_ABSENT = (None, "")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fact, or with `retracts` the word that something known is wrong. None, and no labels: not stated. lesson:
    made of a rejection, not by a model."""

    retracts: bool
    summary: str
    kind: str
    content: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    scope: str | None = None
    memory_key: str | None = None
    priority: int | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    lesson: bool = False

    def as_json(self) -> dict[str, Any]:
        """As the model gives it, and as the transcript keeps it (its event says itself what is a lesson)."""
        return {name: dict(self.labels) if name == "labels" else getattr(self, name) for name in ("retracts", *GIVEN)}


GIVEN = tuple(each.name for each in fields(Candidate) if each.name not in ("retracts", "lesson"))
"""What a candidate shares with the arguments of `add_memory`."""


def read_candidates(text: str, config: AgentConfig, *, now: datetime) -> Read[Candidate]:
    """The candidates of an answer: each for itself right or wrong. Never raises, whatever the text."""
    values = listed(text, CANDIDATES)
    if values is None:
        return Read(CANDIDATES, whole=False)
    right, wrong = [], []
    for position, value in enumerate(values[:MAX_CANDIDATES]):
        candidate, faults = _read(value, config, now)
        if candidate is None:
            wrong.append(Wrong(position, faults, length_of(value)))
        else:
            right.append((position, candidate))
    if rest := values[MAX_CANDIDATES:]:
        too_many = f"the list takes at most {MAX_CANDIDATES} candidates, this one and all behind it are too many"
        wrong.append(Wrong(MAX_CANDIDATES, (too_many,), length_of(rest)))
    return Read(CANDIDATES, True, right, wrong)


def _read(value: object, config: AgentConfig, now: datetime) -> tuple[Candidate | None, list[str]]:
    if not isinstance(value, Mapping):
        return None, ["a candidate is an object"]
    faults = [] if isinstance(value.get("retracts"), bool) else ["retracts takes true or false (required)"]
    try:
        fact = AddMemory.model_validate(_arguments(value, config), context={"now": now})
    except ValidationError as error:
        told = tool_faults_of(error, AddMemory)
        faults += [f"{_place(fault['argument'], config)} takes {fault['takes']}" for fault in told]
        return None, list(dict.fromkeys(faults))
    faults += [refusal.message.removesuffix(".") for refusal in undeclared(fact, config)]
    faults += [f"{name} takes text without control and hidden characters" for name in _refused(fact)]
    return (None, list(dict.fromkeys(faults))) if faults else (_candidate(value["retracts"], fact), [])


def _arguments(value: Mapping[str, Any], config: AgentConfig) -> dict[str, Any]:
    """What is stated of it, as `add_memory` would be called. A scope that is not written gives way to the default one
    (EX-5); what a candidate does not have, such as a pin, is ignored."""
    stated = {name: value[name] for name in GIVEN if name in value}
    if stated.get("scope") not in list(savable_scopes(config)):
        stated.pop("scope", None)
    if isinstance(labels := stated.get("labels"), Mapping):
        stated["labels"] = {name: label for name, label in labels.items() if label not in _ABSENT}
    return stated


def _place(argument: str, config: AgentConfig) -> str:
    """The field, without a label's name that the model made up."""
    name, _, label = argument.partition(".")
    return argument if label in config.memory.labels else name


def _refused(fact: AddMemory) -> Iterator[str]:
    texts = {name: (getattr(fact, name),) for name in ("summary", "content", "memory_key")}
    for name, values in {**texts, "labels": tuple(fact.labels.values())}.items():
        if any(value and has_refused(value) for value in values):
            yield name


def _candidate(retracts: bool, fact: AddMemory) -> Candidate:
    stated = fact.model_fields_set
    return Candidate(retracts, **{name: getattr(fact, name) for name in GIVEN if name in stated})
