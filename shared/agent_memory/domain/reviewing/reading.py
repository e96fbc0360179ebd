"""How an answer of the review's model is read: its outer JSON object, wherever it stands, and what in it fits (EX-6).

Leaves to `candidates` and `decisions` what a single one takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .. import json_values

T = TypeVar("T")

_TOLD = 20  # wrong ones in a correction: what is wrong with the others will be of the same kind
_READ_OVER = 32  # times the text's length that reading may cost: prose full of braces would take quadratic time
_FAILS_AT = 32  # characters before a failure that cost as much as one read: Python's error counts the lines above it
_DEEP = 5000  # characters that a try counts as which met more levels than Python reads
_MAX_DIGITS = 20  # of a whole number; Python refuses to read thousands of them


@dataclass(frozen=True, slots=True)
class Wrong:
    """What does not fit. position: where it stands, of a decision its candidate's number; faults: sentences that name
    the field and what it takes, never what was given; length: of what was given, in characters of JSON."""

    position: int
    faults: Sequence[str]
    length: int = 0


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """An answer as it was read. whole: whether it holds the object with the list at all; where it does not, it is a
    failed answer, never an empty one. right: what fits, each with its position as `Wrong` has it."""

    list_name: str
    whole: bool
    right: Sequence[tuple[int, T]] = ()
    wrong: Sequence[Wrong] = field(default=())

    @property
    def fits(self) -> bool:
        """Whether nothing has to be asked again."""
        return self.whole and not self.wrong


def listed(text: str, list_name: str) -> list[Any] | None:
    """The list in the answer's outer JSON object; of several such objects the last one, which is what a model arrives
    at. Prose and code fences around it may hold braces of their own. None without such an object."""
    found = None
    for value in _objects(text, list_name):
        found = value
    return found


def faults_text(read: Read[Any]) -> str:
    """What is wrong with an answer, for the model that gave it."""
    if not read.whole:
        return f'The answer takes one JSON object with the list "{read.list_name}", and nothing around it.'
    lines = [f"- {read.list_name} {wrong.position}: {'; '.join(wrong.faults)}" for wrong in read.wrong[:_TOLD]]
    more = len(read.wrong) - _TOLD
    lines += [f"- and {more} more"] if more > 0 else []
    return "\n".join(["Not all of it fits:", *lines, "Give the whole object again, with what was right as it was."])


def length_of(value: object) -> int:
    """How long it is, as JSON."""
    return len(json.dumps(json_values.keepable(value), ensure_ascii=False))


def _objects(text: str, list_name: str) -> Iterator[list[Any]]:
    opening, left = _OPENING.search(text), _READ_OVER * len(text)
    while opening and left > 0:
        value, end, cost = _object_at(text, opening.start())
        left -= cost
        behind = opening.start() + 1  # an object without the list may hold the one that has it
        if isinstance(value, Mapping) and isinstance(inner := value.get(list_name), list):
            yield inner
            behind = end
        opening = _OPENING.search(text, behind)


def _object_at(text: str, at: int) -> tuple[Any, int, int]:
    """The value that begins there, where it ends, and what that cost, in characters read."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return None, at, error.pos - at + error.pos // _FAILS_AT
    except RecursionError:
        return None, at, _DEEP
    return value, end, end - at


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_OPENING = re.compile(r'\{(?=\s*")')
_DECODER = json.JSONDecoder(parse_int=_whole_number, strict=False)  # models break lines within texts
