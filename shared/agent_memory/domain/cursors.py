"""Cursors: where a list goes on, bound to what was asked (IF-4).

A cursor is a position and a checksum over position and binding (route, agent, filters, visible places). It is no
secret and opens nothing: the next page is read under the caller's own rights. The checksum refuses one that was altered
or belongs to another list; whoever makes one up, checksum and all, is refused by its form or gets another page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Sequence

_CHECK_BYTES = 12
_MOST_BYTES = 600  # of a position: an id of 128 characters has at most 512, and a sort key takes 1,024
_NUMBER = re.compile("[0-9]{1,9}")


def cursor(position: str, binding: Sequence[object]) -> str:
    return base64.urlsafe_b64encode(_check(position, binding) + position.encode()).decode().rstrip("=")


def position(text: str, binding: Sequence[object]) -> str | None:
    """The position behind which the list goes on; None for a cursor that is not of this list."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = raw[_CHECK_BYTES:].decode()
    except (ValueError, binascii.Error):
        return None
    return found if 0 < len(found.encode()) <= _MOST_BYTES and cursor(found, binding) == text else None


def number(text: str, binding: Sequence[object]) -> int | None:
    """The position in a list that goes by numbers."""
    found = position(text, binding)
    return int(found) if found and _NUMBER.fullmatch(found) else None


def _check(position: str, binding: Sequence[object]) -> bytes:
    bound = json.dumps([position, list(binding)], sort_keys=True)
    return hashlib.sha256(bound.encode("utf-8", "surrogatepass")).digest()[:_CHECK_BYTES]
