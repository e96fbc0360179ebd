"""Cursors: where a list goes on, bound to what was asked (IF-4).

A cursor is a position and a checksum over position and binding (route, agent, filters, visible places). It is no
secret and opens nothing: the next page is read under the caller's own rights. The checksum refuses one that was altered
or belongs to another list.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence

_CHECK_BYTES = 12


def cursor(position: str, binding: Sequence[object]) -> str:
    return base64.urlsafe_b64encode(_check(position, binding) + position.encode()).decode().rstrip("=")


def position(text: str, binding: Sequence[object]) -> str | None:
    """The position behind which the list goes on; None for a cursor that is not of this list."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = raw[_CHECK_BYTES:].decode()
    except (ValueError, binascii.Error):
        return None
    return found if found and cursor(found, binding) == text else None


def _check(position: str, binding: Sequence[object]) -> bytes:
    bound = json.dumps([position, list(binding)], sort_keys=True)
    return hashlib.sha256(bound.encode("utf-8", "surrogatepass")).digest()[:_CHECK_BYTES]
