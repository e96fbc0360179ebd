"""What is wrong with a body, put into words: where, and what the place takes; never what was given.

The words come from the model's own JSON Schema, so a limit is written once, at its field. Leaves to others: which
status and code the whole refusal has, and rules that relate several fields (their validators say `takes(...)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from . import text
from .bodies import TAKES, UNICODE
from .errors import Fault
from .schema_words import Node, schema_of

MAX_FAULTS = 100  # a body of a megabyte can hold a hundred thousand, and the answer is read by a person
MAX_NAME_CHARACTERS = 64  # of a name that the caller made up

_UNKNOWN = "extra_forbidden"
_NEEDS_EARLIER = "default_factory_not_called"  # a default that waits for a field that has a fault of its own
_MISSING = "missing"
_TOO_SHORT = "too_short"  # pydantic counts the values that passed, so faults within a list make it short besides


@dataclass(frozen=True, slots=True)
class Place:
    """One fault, before it is worded for a body or a tool. `takes` completes "takes …", unless it is `unknown`."""

    path: str
    takes: str
    unknown: bool = False
    missing: bool = False


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """The faults of a body of `model`, one a place, in the order of its fields."""
    return [_fault(place) for place in places(error, model)]


def tool_faults_of(error: ValidationError, model: type[BaseModel]) -> list[dict[str, str]]:
    """The same for a tool's input, as the model reads them: `[{"argument": "labels.customer", "takes": "…"}]`."""
    return [{"argument": place.path or "input", "takes": _sentence(place)} for place in places(error, model)]


def places(error: ValidationError, model: type[BaseModel]) -> list[Place]:
    """At most `MAX_FAULTS`, and one more that says so where there are others."""
    found: dict[str, Place] = {}
    for place in _places(error, schema_of(model)):
        if len(found) == MAX_FAULTS and place.path not in found:
            return [*found.values(), Place("", f"a body with fewer faults: these are the first {MAX_FAULTS}")]
        found.setdefault(place.path, place)
    return list(found.values())


def path_of(location: Sequence[str | int]) -> str:
    """`("memory", "scope", "read", 0)` as `memory.scope.read[0]`."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{_name(step)}" if path else _name(step)
    return path


def _fault(place: Place) -> Fault:
    if place.unknown:
        return Fault(place.path, "unknown_field", f"is not a field here: the object {place.takes}")
    return Fault(place.path, "invalid_request", f"{'is required: ' if place.missing else ''}takes {place.takes}")


def _sentence(place: Place) -> str:
    if place.unknown:
        return f"nothing: it is not an argument, the tool {place.takes}"
    return f"{place.takes} (required)" if place.missing else place.takes


def _places(error: ValidationError, schema: Node) -> Iterator[Place]:
    details = error.errors(include_url=False, include_input=False)
    for detail in details:
        if detail["type"] == _NEEDS_EARLIER or (detail["type"] == _TOO_SHORT and _has_more_below(detail, details)):
            continue
        yield _place(detail, schema)


def _has_more_below(detail: ErrorDetails, details: Sequence[ErrorDetails]) -> bool:
    here = detail["loc"]
    return any(other["loc"][: len(here)] == here and len(other["loc"]) > len(here) for other in details)


def _place(detail: ErrorDetails, schema: Node) -> Place:
    kind = detail["type"]
    location, node, parent = _walk(detail["loc"], schema)
    path = path_of(location)
    if kind == _UNKNOWN:
        return Place(path, _known(parent), unknown=True)
    if kind == TAKES:
        return Place(path, detail["ctx"]["takes"])
    if kind == "string_unicode":
        return Place(path, UNICODE)
    return Place(path, node.words(), missing=kind == _MISSING)


def _walk(location: Sequence[str | int], root: Node) -> tuple[list[str | int], Node, Node]:
    """The steps that a caller can see, the node of the last one, and the node that holds it."""
    seen: list[str | int] = []
    node = holder = root
    for position, step in enumerate(location):
        if step == "[key]":
            node = holder.names()
        elif step in node.tags() and position < len(location) - 1:
            node = node.tags()[str(step)]  # pydantic names the alternative it chose; that is no part of the body
        else:
            seen.append(step)
            holder, node = node, node.child(step)
    return seen, node, holder


def _known(parent: Node) -> str:
    names = ", ".join(parent.fields())
    return f"takes {names}" if names else "takes no names"


def _name(step: object) -> str:
    name = text.without_lone_surrogates(str(step))
    return name if len(name) <= MAX_NAME_CHARACTERS else name[:MAX_NAME_CHARACTERS] + "…"
