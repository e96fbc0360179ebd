"""What is embedded of a record, and how a text longer than a model's window is cut into parts that overlap.

Knows sentences, words and graphemes, from Unicode's own properties; knows no model: the window is an argument, in
characters.
"""

from __future__ import annotations

import unicodedata

_SENTENCE_ENDS = frozenset(".!?…؟۔।॥።։")
_FULL_WIDTH_ENDS = frozenset("。！？．｡")  # no space follows these
_CLOSERS = "\"'”’»)]}」』）】》"
_JOINER = "\u200d"


def record_text(summary: str, content: str | None) -> str:
    """The text of a record that is embedded: its summary alone, or summary, line feed, content."""
    return f"{summary}\n{content}" if content else summary


def parts(text: str, window: int) -> list[str]:
    """Cut a text into parts of at most `window` characters, in order; a text that fits is one part.

    Every character lies in at least one part, and neighbours share about an eighth of a window, so that a sentence at
    a border is whole in one of them. A part ends behind a sentence where one ends in its last third, else behind a
    word, else between two graphemes; only where there is none of these, anywhere.
    """
    if window < 1:
        raise ValueError("a window has at least one character")
    cut: list[str] = []
    start = 0
    while len(text) - start > window:
        end = _end(text, start, window)
        cut.append(text[start:end])
        start = _next_start(text, start, end, window)
    cut.append(text[start:])
    return cut


def _end(text: str, start: int, window: int) -> int:
    """Where the part ends that begins at `start`: late, but the last two parts of a text share it evenly."""
    left, overlap = len(text) - start, window // 8
    most = window if left > 3 * window // 2 else min(window, (left + overlap + 1) // 2)
    latest = start + max(1, most)
    earliest = start + max(1, 2 * most // 3)
    for is_border in (_ends_sentence, _ends_word, _is_between_graphemes):
        for end in range(latest, earliest - 1, -1):
            if is_border(text, end):
                return end
    return latest


def _next_start(text: str, start: int, end: int, window: int) -> int:
    """Where the part behind begins: 10 to 15 % of the window before `end`, at a word where one begins there."""
    earliest = max(start + 1, end - 3 * window // 20)
    latest = max(earliest, end - window // 10)
    for is_border in (_ends_word, _is_between_graphemes):
        for begin in range(earliest, latest + 1):
            if is_border(text, begin):
                return begin
    return latest


def _ends_sentence(text: str, at: int) -> bool:
    """Whether a sentence, with the space behind it, ends before position `at`."""
    if not _ends_word(text, at):
        return False
    before = text[max(0, at - 8) : at]
    if "\n" in before[len(before.rstrip()) :]:
        return True
    bare = before.rstrip()
    spaced = len(bare) < len(before)
    mark = bare.rstrip(_CLOSERS)[-1:]
    return mark in _FULL_WIDTH_ENDS or (spaced and mark in _SENTENCE_ENDS)


def _ends_word(text: str, at: int) -> bool:
    """Whether `at` lies behind white space and before none, or behind a full-width end of a sentence."""
    if at <= 0 or at >= len(text) or text[at].isspace():
        return False
    return text[at - 1].isspace() or (text[at - 1] in _FULL_WIDTH_ENDS and text[at] not in _CLOSERS)


def _is_between_graphemes(text: str, at: int) -> bool:
    """Whether no grapheme that people see as one character spans `at` (the rules of UAX #29 that occur in practice)."""
    before, behind = text[at - 1], text[at]
    if _JOINER in (before, behind) or (before, behind) == ("\r", "\n"):
        return False
    if unicodedata.category(behind) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= behind <= "\U0001f3ff":
        return False
    if "\u1160" <= behind <= "\u11ff":  # vowels and finals of Hangul syllables that are spelt out
        return False
    return not (_is_flag_letter(behind) and _flag_letters_before(text, at) % 2)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    first = at
    while first > 0 and _is_flag_letter(text[first - 1]):
        first -= 1
    return at - first
