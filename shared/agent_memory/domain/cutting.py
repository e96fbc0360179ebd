"""Where a text may be cut: behind a sentence, else behind a word, and never inside what people see as one character.

Knows the borders of UAX #29 that occur in practice. Leaves to others how long a piece may be, how a cut is marked, and
which scripts write without spaces (`unspaced.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import chain

from .unspaced import CLUSTERED, HAN_AND_KANA

SENTENCE_ENDS = ".!?…؟۔।॥։።"  # where white space follows
FULL_WIDTH_ENDS = "。！？．｡"  # after which none need follow
CLOSERS = "\"'”’»)]}」』）】》"  # may stand between the mark and the end

_CLOSED = f"[{re.escape(CLOSERS)}]{{0,3}}"  # bounded, so that a long run of them costs nothing
_SENTENCE_END = re.compile(rf"[{SENTENCE_ENDS}]{_CLOSED}(?=\s)|[{FULL_WIDTH_ENDS}]{_CLOSED}|(?=\n)")
# Without spaces a word may end between any two characters; so it does beside full-width punctuation.
_UNSPACED = re.compile(f"[{HAN_AND_KANA}{CLUSTERED}\u3000-\u303f\uff00-\uffef]")

_JOINER = "\u200d"
# Marks by use and not by category: joiners, vowels am of Thai and Lao, half-width voicing marks, skin tones, flag tags.
_EXTENDING = re.compile("[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_VOWEL_OR_FINAL = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")  # of Hangul syllables that are spelt out
_INITIAL = re.compile("[\u1100-\u115f\ua960-\ua97c]")
_INITIAL_OR_SYLLABLE = re.compile("[\u1100-\u115f\ua960-\ua97c\uac00-\ud7a3]")
_PREPENDED = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e]")  # signs that reach over what follows
_FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")
_VIRAMA = 9  # its combining class


def cut(text: str, most: int, *, sentences: bool = True) -> str:
    """The beginning of a text in at most `most` characters; a text that is longer ends well, without white space.

    Behind a sentence if one ends in the last third, else behind a word, else between two characters; "" where not even
    the first one has room. Without `sentences` the last word that has room ends it. Linear in `most`.
    """
    if len(text) <= most:
        return text
    if most < 1:
        return ""
    late = max(1, 2 * most // 3)
    ends = chain(
        _sentence_ends(text, late, most) if sentences else (),
        _spaces(text, late, most),
        _unspaced(text, late, most),
        _spaces(text, 1, late),
        range(most, 0, -1),
    )
    end = next((end for end in ends if is_border(text, end)), 0)
    return text[:end].rstrip()


def is_border(text: str, at: int) -> bool:
    """Whether no character that people see as one spans the position: no accent, flag, family or syllable is parted."""
    if not 0 < at < len(text):
        return True
    before, behind = text[at - 1], text[at]
    if before < "\u0300" and behind < "\u0300":  # below the first combining mark
        return (before, behind) != ("\r", "\n")
    return not (_is_joined(before, behind) or _is_inside_flag(text, at))


def _is_joined(before: str, behind: str) -> bool:
    if (
        before == _JOINER
        or _PREPENDED.match(before)
        or unicodedata.category(behind).startswith("M")
        or _EXTENDING.match(behind)
    ):
        return True
    if unicodedata.combining(before) == _VIRAMA and behind.isalpha():  # a conjunct of an Indic script
        return True
    return bool(_VOWEL_OR_FINAL.match(behind) or (_INITIAL.match(before) and _INITIAL_OR_SYLLABLE.match(behind)))


def _is_inside_flag(text: str, at: int) -> bool:
    """A flag is two letters of its own; they pair up from the first of a run."""
    if not _FLAG_LETTER.match(text[at]):
        return False
    first = at
    while first > 0 and _FLAG_LETTER.match(text[first - 1]):
        first -= 1
    return (at - first) % 2 == 1


def _sentence_ends(text: str, earliest: int, most: int) -> Iterator[int]:
    """Last first. One character more is read, since white space behind a sentence need not have room."""
    found = [match.end() for match in _SENTENCE_END.finditer(text, earliest, most + 1)]
    return (end for end in reversed(found) if end <= most)


def _spaces(text: str, earliest: int, most: int) -> Iterator[int]:
    return (at for at in range(most, earliest - 1, -1) if text[at].isspace())


def _unspaced(text: str, earliest: int, most: int) -> Iterator[int]:
    return (at for at in range(most, earliest - 1, -1) if _UNSPACED.match(text[at]) or _UNSPACED.match(text[at - 1]))
