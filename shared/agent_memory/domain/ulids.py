"""The form of an id of ours: a ULID, 26 characters, upper case (IF-4)."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_ULID = re.compile(f"[0-7][{_ALPHABET}]{{25}}")  # 128 bits: the first character carries three
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_TIME, _RANDOM = 10, 16  # characters of an id


def is_ulid(text: str) -> bool:
    return _ULID.fullmatch(text) is not None


def made_at(ulid: str) -> datetime:
    """The instant that the id was made from: its first ten characters are milliseconds since 1970."""
    ms = 0
    for character in ulid[:_TIME]:
        ms = ms * 32 + _ALPHABET.index(character)
    return _EPOCH + timedelta(milliseconds=ms)


def time_prefix(moment: datetime) -> str:
    """What all ids of this millisecond begin with: it sorts before these, and behind every earlier id."""
    return _spelled(max(0, (moment - _EPOCH) // _MILLISECOND), _TIME)


def derived(moment: datetime, seed: str) -> str:
    """An id of that millisecond, the same for the same seed: for what has to be written twice under one id."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return time_prefix(moment) + _spelled(int.from_bytes(digest[:10], "big"), _RANDOM)


def _spelled(number: int, characters: int) -> str:
    """The lowest five bits of each character's share, the highest first."""
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(characters)))
