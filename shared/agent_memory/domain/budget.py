"""What a recall shows within its budget: which records, in which order, how much of each (RL-1, RL-3).

Tokens are characters ÷ 4, rounded up, of an item as it stands in the block. Constraints are counted first and never
left out; the others fill what is left. Leaves to the caller which records are which: those that a turn sees, settled by
their keys (`precedence.py`), no record among both.

**What more room does.** Filling takes each item, in order, that still fits. So a greater `max_tokens` may show a long
item that had no room, and leave out a shorter one behind it for which none is left. What holds instead: where the
answers of two budgets part, the greater one shows the item that stands first; it never shows fewer tokens; and an item
gives way only to one that stands before it. (At that item the smaller budget had less left than the item is long, and
all that it shows from there on is shorter than the item.) Constraints do not change it: they take as much of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .block import head, item_text, standing
from .cutting import cut
from .ranking import Ranked
from .records import Record

CHARACTERS_A_TOKEN = 4
_MARK = " … [cut]"
_MARK_FROM_TOKENS = 60  # from here on the mark repeats the id: 45 characters, a fifth of such an item

Found = tuple[Record, Ranked]


@dataclass(frozen=True, slots=True)
class Shown:
    """text: the item as it stands in the block; content: what of the record's content stands there, with the mark."""

    record: Record
    text: str
    content: str | None
    cut: bool

    @property
    def tokens(self) -> int:
        return tokens(self.text)


@dataclass(frozen=True, slots=True)
class Filled:
    """All in the order in which they were filled in. shown, omitted: of the records that are not constraints."""

    constraints: list[Shown]
    shown: list[Shown]
    omitted: list[Shown]

    @property
    def items(self) -> list[Shown]:
        """What stands in the block, in its order."""
        return [*self.constraints, *self.shown]

    @property
    def omission(self) -> dict[str, object]:
        """What had no room, as the answer of a recall says it."""
        return {
            "count": len(self.omitted),
            "tokens": sum(item.tokens for item in self.omitted),
            "ids": [item.record.id for item in self.omitted],
        }


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


def best(found: Iterable[Found], count: int) -> list[Found]:
    """The `count` best by score; equal ones by higher priority, then narrower scope, then newer (RL-1)."""
    return sorted(_newest_first(found), key=lambda f: (-_score(f), -f[0].priority, f[0].place.scope.breadth))[:count]


def order(found: Iterable[Found]) -> list[Found]:
    """The order in which the budget is filled: highest priority, then score, then narrower scope, then newer (RL-1)."""
    return sorted(_newest_first(found), key=lambda f: (-f[0].priority, -_score(f), f[0].place.scope.breadth))


def broadest_first(records: Iterable[Record]) -> list[Record]:
    """The order of what is shown whether it matches or not, constraints (RL-1) and pins (PN-1): broadest scope, then
    higher priority, then oldest."""
    return sorted(records, key=lambda r: (-r.place.scope.breadth, -r.priority, r.created_at, r.id))


def fill(
    records: Iterable[Record], *, constraints: Sequence[Record] = (), max_tokens: int, max_item_tokens: int
) -> Filled:
    """What a recall shows. No item is longer than `max_item_tokens` (20 or more: a head and the mark of a cut take up
    to 72 characters).

    constraints: in any order; all are shown, broadest first, also where they take more than `max_tokens`. records: the
    others, taken as whole items, in the order given, while they fit what is left; one that does not is left out, the
    next tried."""
    first = [fitted(record, max_item_tokens) for record in broadest_first(constraints)]
    filled, left = Filled(first, [], []), max_tokens - sum(item.tokens for item in first)
    for item in (fitted(record, max_item_tokens) for record in records):
        if item.tokens <= left:
            filled.shown.append(item)
            left -= item.tokens
        else:
            filled.omitted.append(item)
    return filled


def fitted(record: Record, max_tokens: int) -> Shown:
    """The item of a record in at most so many tokens. What does not fit is cut, from the end: content first, then the
    summary, of which nothing may be left at the least limit; the id always stands."""
    most = max_tokens * CHARACTERS_A_TOKEN
    body = record.summary if record.content is None else f"{record.summary}\n{record.content}"
    if len(body) < most and len(text := item_text(head(record), body)) <= most:
        return Shown(record, text, record.content, cut=False)
    body = body[:most]  # what lies behind has no room, and would only be looked at for line breaks
    mark = f" … [cut, read on: {record.id}]" if max_tokens >= _MARK_FROM_TOKENS else _MARK
    first = head(record, most=most - len(item_text("", "", mark)))
    left = cut(body, standing(body, most - len(first) - len(mark)))
    content = None if record.content is None else (left[len(record.summary) + 1 :] + mark).lstrip()
    return Shown(record, item_text(first, left, mark if left else mark.lstrip()), content, cut=True)


def _newest_first(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda f: (f[0].created_at, f[0].id), reverse=True)


def _score(found: Found) -> float:
    return round(found[1].score, 6)  # scores that are equal to six decimals are equal (RK-2)
