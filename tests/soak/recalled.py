"""What a recall must show of the records that a turn sees: which record of a key applies, constraints, the list of pins
(RL-1, RL-2, PN-1, PN-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .records import BREADTH, Rec

IsBroader = Callable[[Rec], bool]


@dataclass(frozen=True)
class Pins:
    listed: list[str]
    omitted: list[str]
    tokens: int


def losers(records: Iterable[Rec], is_broader: IsBroader) -> dict[str, str]:
    """By the id of each record that does not apply, the one that does."""
    by_key: dict[str, list[Rec]] = {}
    for record in records:
        if record.said.key is not None:
            by_key.setdefault(record.said.key, []).append(record)
    settled: dict[str, str] = {}
    for rivals in by_key.values():
        winner = _winner(rivals, is_broader)
        settled |= {record.id: winner.id for record in rivals if record is not winner}
    return settled


def _winner(rivals: Sequence[Rec], is_broader: IsBroader) -> Rec:
    broader = [record for record in rivals if is_broader(record)]
    if broader:
        return max(broader, key=lambda record: (BREADTH[record.where.scope], record.id))
    return max(rivals, key=lambda record: (-BREADTH[record.where.scope], record.id))


def pins(records: Iterable[Rec], max_tokens: int | None) -> Pins:
    """records: those that a turn sees and that apply. Line by line while it fits."""
    pinned = [record for record in records if record.said.pinned] if max_tokens is not None else []
    pinned.sort(key=lambda record: (-BREADTH[record.where.scope], -record.said.priority, record.id))
    listed = list(pinned)
    while listed and tokens(listed) > (max_tokens or 0):
        listed.pop()
    return Pins([r.id for r in listed], [r.id for r in pinned[len(listed) :]], tokens(listed))


def tokens(records: Sequence[Rec]) -> int:
    """Of all lines joined by line feeds: characters ÷ 4, rounded up."""
    return -(-len("\n".join(f"- {record.said.summary} [{record.id}]" for record in records)) // 4)
