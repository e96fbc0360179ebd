"""Where a list goes on: the cursor that a caller sends back (IF-4)."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.domain.cursors import position
from agent_memory.domain.errors import InvalidRequest


def behind(after: str | None, binding: Sequence[object]) -> str | None:
    """The position behind which the list goes on; None: it begins. Raises `InvalidRequest` (invalid_cursor)."""
    if after is None:
        return None
    found = position(after, binding)
    if found is None:
        raise InvalidRequest("after takes the next of this very list.", code="invalid_cursor")
    return found
