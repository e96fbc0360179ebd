"""JSON text as values, strictly: what two readers could take for different things is refused.

Refuses text that is no UTF-8 or no JSON (RFC 8259), NaN and infinite numbers, a name twice in one object, and nesting
beyond what the store holds. A lone surrogate written as an escape is JSON; it stays for the models to refuse, who can
name its place.
"""

from __future__ import annotations

import json
import math
from typing import Any

from agent_memory.domain.errors import Fault, InvalidRequest

MAX_DEPTH = 72  # a message's call input of 64 levels (domain.messages), and what stands around it


def json_value(text: str | bytes) -> Any:
    """Raises `InvalidRequest`, never naming what was sent."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_object)
    except _Repeated as error:
        raise _refusal("JSON in which no object has a name twice") from error
    except RecursionError as error:
        raise _refusal(f"JSON nested at most {MAX_DEPTH} deep") from error
    except ValueError as error:  # no UTF-8, no JSON, NaN, an integer of more than 4,300 digits
        raise _refusal("JSON in UTF-8, whose numbers are finite") from error
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise _refusal(f"JSON nested at most {MAX_DEPTH} deep")
    return value


class _Repeated(Exception):
    pass


def _refusal(what: str) -> InvalidRequest:
    message = f"takes {what}"
    return InvalidRequest(f"The body {message}.", faults=[Fault("", "invalid_request", message)])


def _no_number(_: str) -> float:
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def _is_deeper(value: Any, depth: int) -> bool:
    """Level by level, without recursion."""
    level = [value]
    for _ in range(depth):
        level = [below for above in level for below in _below(above) if isinstance(below, dict | list)]
        if not level:
            return False
    return True


def _below(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
