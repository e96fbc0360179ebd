"""The form of an id of ours: a ULID, 26 characters, upper case (IF-4)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_ULID = re.compile(f"[0-7][{_ALPHABET}]{{25}}")  # 128 bits: the first character carries three
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_ulid(text: str) -> bool:
    return _ULID.fullmatch(text) is not None


def made_at(ulid: str) -> datetime:
    """The instant that the id was made from: its first ten characters are milliseconds since 1970."""
    ms = 0
    for character in ulid[:10]:
        ms = ms * 32 + _ALPHABET.index(character)
    return _EPOCH + timedelta(milliseconds=ms)
