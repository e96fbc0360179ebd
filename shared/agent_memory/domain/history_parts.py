"""What the index knows of a part of an event: its words, what is embedded of it, and its id (HI-3, HI-8).

A short event says little without what was said before and after it: a question stands beside its answer. So the index
has of it its own words and those of it with its neighbours, and the mean of both vectors (measured on LoCoMo: recall@10
.75 against .65 without). Results never show a neighbour.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .block import one_line
from .history import KeptEvent
from .parts import parts
from .vectors import packed
from .words import tokens

SHORT = 600  # characters of an event that is found by its context too, and of a neighbour that are looked at
EMBEDDED_PARTS = 20  # of one event: a result of a tool may have a hundred, and is found by its words alone behind these
PART_ID = 12  # digits of an id that say which part of its turn it is


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


def parts_of_turn(number: int, events: Sequence[KeptEvent]) -> list[Part]:
    """Of all events of a turn, in order."""
    return [part for at in range(len(events)) for part in _parts(number, events, at)]


def part_id(turn: int, sequence: int, part: int) -> str:
    """26 characters at most, as ids of the index are; greater ones are newer."""
    return f"{turn:010}{sequence:08}{part:04}"


def place_of_part(id: str) -> tuple[int, int, int]:
    """The turn's number, the event's sequence number, the part."""
    return int(id[:-PART_ID]), int(id[-PART_ID:-4]), int(id[-4:])


def _parts(number: int, events: Sequence[KeptEvent], at: int) -> Iterator[Part]:
    event = events[at]
    before, after = (_end_of(events[at - 1]) if at else ""), _beginning_of(events[at + 1 : at + 2])
    is_short = len(event.body) <= SHORT
    for part, text in enumerate(event.parts, 1):
        context = (before, after) if is_short else ("", "")
        yield Part(part_id(number, event.sequence, part), event, part, _named(event, text), *context)


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
