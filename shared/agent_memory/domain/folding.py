"""Makes texts that a reader takes for the same one text: width, compatibility forms, case and accents fold.

Knows which marks are accents and which are letters, script by script. Leaves cutting into words to `words.py`.
"""

from __future__ import annotations

import re
import unicodedata

# What is neither word nor space nor ASCII comes in long runs only in hostile or decorative text. Normalising sorts a
# run of combining marks in quadratic time (16,000 of them: 1.4 s), so a run is cut first; no script stacks 32 marks.
_DECORATION = re.compile(r"([^\w\s!-~]{32})[^\w\s!-~]+")

# Joiners, directional marks, soft hyphen, variation selectors, fillers, BOM: invisible, inside words. ZERO WIDTH SPACE
# and the line separators part words and are no letters, so they need no mention.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)

# Accents, after decomposition. Cyrillic keeps its marks (й and ї are letters) but for stress marks and the dots of ё;
# kana keep their voicing marks and Brahmic scripts their vowels, which are not in these ranges at all.
_ACCENTS = re.compile("([^\u0400-\u052f])[\u0300-\u036f]+")
_CYRILLIC_STRESS = re.compile("(?<=[\u0400-\u052f])[\u0300\u0301]|(?<=\u0435)\u0308")
# Arabic vowel signs, hamza above and below, tatweel; Hebrew points; Devanagari nukta.
_POINTS = re.compile(
    "[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0591-\u05bd\u05bf-\u05c7\u093c]"
)
# Hindi writes a nasal before a consonant as a letter or as a dot: हिन्दी, हिंदी.
_NASAL = re.compile("[ङञणनम]\u094d(?=[क-ह])")

# Letters that no decomposition takes apart, and letters of one sound that keyboards exchange.
_LETTERS = str.maketrans(
    {
        **dict(zip("øłđħŧıŋðþ", ("o", "l", "d", "h", "t", "i", "n", "d", "th"), strict=True)),
        "æ": "ae",
        "œ": "oe",
        "ى": "ي",
        "ی": "ي",
        "ې": "ي",
        "ک": "ك",
        "ة": "ه",
        "ہ": "ه",
        "ھ": "ه",
        "ۀ": "ه",
        "ٱ": "ا",
        "ँ": "ं",
        **dict.fromkeys("’‘ʼ`´′‛", "'"),
        **dict.fromkeys("‐‑‒−", "-"),
    }
)
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")


def widen(text: str) -> str:
    """Compatibility forms (NFKC): full and half width, ligatures, presentation forms; without invisible characters.

    Keeps case. Takes lone surrogates as they are; linear in the text.
    """
    if text.isascii():
        return text
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", _DECORATION.sub(r"\1", text)))


def fold(widened: str) -> str:
    """Fold case, accents, points and digits of a text from `widen`."""
    if widened.isascii():
        return widened.lower()
    parts = unicodedata.normalize("NFD", widened.casefold())
    bare = _CYRILLIC_STRESS.sub("", _ACCENTS.sub(r"\1", _NASAL.sub("ं", _POINTS.sub("", parts))))
    whole = unicodedata.normalize("NFC", bare).translate(_LETTERS)
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), whole)


def is_invisible(text: str) -> bool:
    """Whether a reader sees nothing: white space, controls, joiners, fillers, or what normalises to such."""
    return all(map(_is_unseen, set(unicodedata.normalize("NFKC", _DECORATION.sub(r"\1", text)))))


# Characters that are drawn empty though their category says letter, mark or symbol.
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))
)


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in {"Zs", "Zl", "Zp", "Cc", "Cf"} or character in _FILLERS
