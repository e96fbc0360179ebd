"""What the index knows of a part of an event: its words, what is embedded of it, and its id (HI-3, HI-8).

A short event says little without what was said before and after it: a question stands beside its answer. So the index
has of it its own words and those of it with its neighbours, and the mean of both vectors (measured on LoCoMo: recall@10
.75 against .65 without). Results never show a neighbour.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from .block import one_line
from .history import HistoryPlace, KeptEvent
from .parts import parts
from .vectors import packed
from .words import tokens

SHORT = 600  # characters of an event that is found by its context too, and of a neighbour that are looked at
EMBEDDED_PARTS = 20  # of one event: a result of a tool may have a hundred, and is found by its words alone behind these


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a kept event. before, after: of its neighbours what belongs to its context; "" of a long one."""

    id: str
    event: KeptEvent
    number: int
    text: str
    before: str = ""
    after: str = ""

    @property
    def words(self) -> list[str]:
        """Its own count twice: alone, and within the context."""
        own = tokens(self.text)
        context = tokens(self.before) + tokens(self.after)
        return [*own, *own, *context] if context else own

    @property
    def counted(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(self.words)

    @property
    def is_embedded(self) -> bool:
        return self.number <= EMBEDDED_PARTS

    def texts(self, window: int) -> list[str]:
        """What is embedded: the text, in pieces where it is longer than the model's window, and the context."""
        own = parts(self.text, window)
        side = (window - len(self.text)) // 2
        if len(own) > 1 or side < 1 or not (self.before or self.after):
            return own
        return [*own, "\n".join(filter(None, (self.before[-side:], self.text, self.after[:side])))]

    def vectors(self, embedded: Sequence[Sequence[float] | None], window: int) -> tuple[bytes, ...]:
        """The vectors of the part, of those of its texts (None: the model refused that one)."""
        known = [vector for vector in embedded if vector is not None]
        is_mean = len(known) == 2 and len(self.text) <= window
        return (packed(_mean(*known)),) if is_mean else tuple(map(packed, known))


def parts_of_turn(place: HistoryPlace, number: int, events: Sequence[KeptEvent]) -> list[Part]:
    """Of all events of a turn, in order."""
    return [part for at in range(len(events)) for part in _parts(place, number, events, at)]


def part_id(place: HistoryPlace, turn: int, sequence: int, part: int) -> str:
    """26 characters, as ids of an index are; of one history the greater ones are newer. The last 65 bits tell histories
    apart, whose turns and events have the same numbers."""
    return f"{_digits(turn, 6)}{_digits(sequence, 4)}{_digits(part, 3)}{_digest(place)}"


def within_turn(id: str) -> str:
    """What of an id tells a turn's parts apart, in their order."""
    return id[6:13]


def place_of_part(id: str) -> tuple[int, int, int]:
    """The turn's number, the event's sequence number, the part."""
    return int(id[:6], 32), int(id[6:10], 32), int(id[10:13], 32)


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUV"  # as Python reads base 32; their order is that of their values


def _digits(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        digits = _DIGITS[digit] + digits
    return digits


@lru_cache(1024)
def _digest(place: HistoryPlace) -> str:
    told = json.dumps([place.agent_id, place.session_id, place.preview])
    return _digits(int.from_bytes(sha256(told.encode()).digest()), 13)


def _parts(place: HistoryPlace, number: int, events: Sequence[KeptEvent], at: int) -> Iterator[Part]:
    event = events[at]
    before, after = (_end_of(events[at - 1]) if at else ""), _beginning_of(events[at + 1 : at + 2])
    context = (before, after) if len(event.body) <= SHORT else ("", "")
    for part, text in enumerate(event.parts, 1):
        yield Part(part_id(place, number, event.sequence, part), event, part, _named(event, text), *context)


def _named(event: KeptEvent, text: str) -> str:
    """A result is found by its tool's name too."""
    tool = event.event.get("tool")
    return f"{one_line(tool)}\n{text}" if tool else text


def _end_of(event: KeptEvent) -> str:
    return event.body[-SHORT:]


def _beginning_of(events: Sequence[KeptEvent]) -> str:
    return events[0].body[:SHORT] if events else ""


def _mean(one: Sequence[float], other: Sequence[float]) -> list[float]:
    summed = [a + b for a, b in zip(one, other, strict=True)]
    length = math.sqrt(math.fsum(value * value for value in summed))
    return [value / length for value in summed] if length else list(one)
