"""Which script a text is mainly written in, by the names that Unicode gives its letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

_READ = 2_000  # characters that decide; a longer text begins as it goes on
_SAME = {"HIRAGANA": "KANA", "KATAKANA": "KANA", "IDEOGRAPHIC": "CJK", "FULLWIDTH": "LATIN", "HALFWIDTH": "KANA"}


def dominant_script(text: str) -> str | None:
    """The script of most of the text's letters (`LATIN`, `CYRILLIC`, `CJK`, `KANA`, `HANGUL`, …; a tie goes to the one
    that comes first); None without letters. Marks count with the letters, since Thai and Hindi write vowels so."""
    counts = Counter(script for character in text[:_READ] if (script := _script(character)))
    return counts.most_common(1)[0][0] if counts else None


@lru_cache(maxsize=4096)
def _script(character: str) -> str | None:
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo", "Mc", "Mn"):
        return None
    first = unicodedata.name(character, "").partition(" ")[0]
    return None if first in ("", "COMBINING", "VARIATION", "MODIFIER") else _SAME.get(first, first)
