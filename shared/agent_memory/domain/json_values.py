"""JSON values of any shape that callers send along: what can be written as JSON again, and how to keep the rest.

Python's JSON reads lone surrogates, NaN and a thousand levels, which no store can write. Nothing here recurses deeper
than `MAX_DEPTH`.
"""

from __future__ import annotations

import math
from typing import Any

from . import text as characters

MAX_DEPTH = 64

_CUT = "…"  # stands for what lies too deep


def fault_of(given: object) -> str | None:
    """What the place would take instead, or None where the value can be kept as it is."""
    level = [given]
    for _ in range(MAX_DEPTH + 1):
        for value in level:
            if isinstance(value, str) and characters.has_lone_surrogate(value):
                return "JSON whose texts hold no lone surrogates"
            if isinstance(value, float) and not math.isfinite(value):
                return "JSON, which has no NaN and no infinite numbers"
        level = [below for value in level for below in _below(value)]
        if not level:
            return None
    return f"JSON nested at most {MAX_DEPTH} deep"


def keepable(given: Any) -> Any:
    """The value where it can be kept as it is; else a likeness of it: U+FFFD for a lone surrogate, null for what is no
    number, "…" for what lies too deep. For records of calls that were refused for just that."""
    return given if fault_of(given) is None else _likeness(given, MAX_DEPTH)


def _below(value: object) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _likeness(given: Any, depth: int) -> Any:
    match given:
        case str():
            return characters.without_lone_surrogates(given)
        case float() if not math.isfinite(given):
            return None
        case dict() | list() if depth == 0:
            return _CUT
        case dict():
            return {_likeness(name, depth): _likeness(value, depth - 1) for name, value in given.items()}
        case list():
            return [_likeness(value, depth - 1) for value in given]
        case _:
            return given
