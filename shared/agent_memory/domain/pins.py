"""The pin list: what every recall shows beside what was found, one line each, within a budget of its own (PN-1, PN-2).

Leaves to the caller which pinned records those are: visible, active, and settled by their keys (`precedence.py`); and
what becomes of a pin that has no room when it is saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from .block import PINS_OPENING, one_line, render
from .budget import CHARACTERS_A_TOKEN, broadest_first, tokens
from .records import Record

_LINE_FEED = "\n"


@dataclass(frozen=True, slots=True)
class PinList:
    """What is listed and what has no room, both in the order of the list. tokens: of what is listed."""

    listed: list[Record]
    omitted: list[Record]
    tokens: int

    @property
    def instructions(self) -> str:
        """The list as it stands before a model; "" when it is empty."""
        return render_pins(self.listed)

    @property
    def omitted_ids(self) -> list[str]:
        return [record.id for record in self.omitted]


def pin_list(records: Iterable[Record], max_tokens: int) -> PinList:
    """As much of the list as fits `max_tokens`, line by line. The first line that does not fit ends it: nothing that
    stands behind, narrower or less important, is shown in the place of what had to go."""
    listed = ordered(records)
    fits = _how_many_fit(listed, max_tokens)
    return PinList(listed[:fits], listed[fits:], tokens_of(listed[:fits]))


def ordered(records: Iterable[Record]) -> list[Record]:
    """Broadest scope first, then higher priority, then oldest (PN-1)."""
    return broadest_first(records)


def line(record: Record) -> str:
    """`- <summary> [<id>]`: one line, whatever the summary; what imitates the frame of a block is defused."""
    return f"- {one_line(record.summary)} [{record.id}]"


def tokens_of(records: Iterable[Record]) -> int:
    """Characters ÷ 4, rounded up, of all lines and the line feeds between them (PN-2); 0 of none."""
    return tokens(_LINE_FEED.join(line(record) for record in records))


def render_pins(records: Iterable[Record]) -> str:
    """The lines of these records, in the order given, in the frame that marks them as data; "" of none."""
    return render([line(record) for record in records], PINS_OPENING)


def _how_many_fit(records: Iterable[Record], max_tokens: int) -> int:
    """Lengths only grow along the list, so those that fit are the first ones."""
    ends = accumulate(len(line(record)) + len(_LINE_FEED) for record in records)
    return sum(end - len(_LINE_FEED) <= max_tokens * CHARACTERS_A_TOKEN for end in ends)
