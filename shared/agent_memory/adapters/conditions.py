"""Conditions and counters of the `Table` port, where the adapter decides them itself: as DynamoDB's expressions do."""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.ports import Absent, AllOf, Condition, Item


def holds(condition: Condition, item: Item | None) -> bool:
    """Whether the condition holds of what lies at a key, None where nothing does."""
    if isinstance(condition, Absent):
        return item is None
    if item is None:
        return False
    equals = condition.conditions if isinstance(condition, AllOf) else (condition,)
    return all(_equal(item.get(each.attribute), each.value) for each in equals)


def _equal(value: object, wanted: str | int | bool | None) -> bool:
    # In Python True == 1; in DynamoDB a truth value equals no number.
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def with_counters(item: Item | None, counters: Mapping[str, int]) -> Item:
    """The item with numbers added to its attributes; those that are missing count from 0."""
    sums = {}
    for name, number in counters.items():
        present = item.get(name, 0) if item else 0
        if isinstance(present, bool) or not isinstance(present, int | float):
            raise ValueError(f"attribute {name} is no number")
        sums[name] = present + number
    return {**(item or {}), **sums}
