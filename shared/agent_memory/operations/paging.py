"""Where a list goes on: the cursor that a caller sends back (IF-4)."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.domain.cursors import number, position
from agent_memory.domain.errors import InvalidRequest


def behind(after: str | None, binding: Sequence[object]) -> str | None:
    """The position behind which the list goes on; None: it begins. Raises `InvalidRequest` (invalid_cursor)."""
    found = position(after, binding) if after is not None else None
    if after is not None and found is None:
        raise _invalid()
    return found


def behind_number(after: str | None, binding: Sequence[object]) -> int | None:
    """The same in a list that goes by numbers."""
    found = number(after, binding) if after is not None else None
    if after is not None and found is None:
        raise _invalid()
    return found


def _invalid() -> InvalidRequest:
    return InvalidRequest("after takes the next of this very list.", code="invalid_cursor")
