"""Which of several records applies where they speak of one subject (CF-3, RL-2).

Knows what a kind and a scope say of precedence. Leaves to the caller which records stand against each other: those that
a turn sees, active, unexpired and not decayed, of every scope, live and preview.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from .configuration import AgentConfig
from .records import Record
from .scopes import Scope

CONSTRAINT = "constraint"
"""The kind that is broader by itself (CF-3)."""

PLATFORM_KINDS = ("guidance", "fact", "event", "reference", CONSTRAINT, "preference", "lesson", "decision")
"""The kinds that a platform record may have (SC-6)."""


def is_broader_kind(kind: str, config: AgentConfig | None, scope: Scope) -> bool:
    """Whether of contradicting records of this kind the broadest applies. What an agent declares says nothing of
    platform records: all agents share them (SC-6). config: None where no agent's is known."""
    if scope is Scope.PLATFORM or config is None:
        return kind == CONSTRAINT
    return config.precedence(kind) == "broader"


def winners(records: Iterable[Record], is_broader: Callable[[Record], bool]) -> dict[str, Record]:
    """By the id of each record that does not apply, the one that does. Records contradict each other by having the same
    `memory_key`; those without a key never lose. The order in which they are given does not matter.

    Of those of one key the broadest of a broader kind applies; where none is of such a kind, the narrowest; in one
    scope the newer, by `created_at`, then id."""
    by_id: dict[str, Record] = {}
    for rivals in _by_key(records):
        winner = max(rivals, key=lambda record: _claim(record, broader=is_broader(record)))
        by_id |= {record.id: winner for record in rivals if record.id != winner.id}
    return by_id


def _by_key(records: Iterable[Record]) -> Iterable[list[Record]]:
    rivals: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.memory_key is not None:
            rivals[record.memory_key].append(record)
    return rivals.values()


def _claim(record: Record, *, broader: bool) -> tuple[bool, int, str, str]:
    """The greatest one wins."""
    breadth = record.place.scope.breadth
    return broader, breadth if broader else -breadth, record.created_at, record.id
