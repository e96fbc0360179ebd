"""What is embedded of a record, and how a text longer than a model's window is cut into parts that overlap.

Knows where a part that overlaps its neighbours begins and ends; leaves to `cutting.py` what ends a sentence and what
people see as one character. Knows no model: the window is an argument, in characters.
"""

from __future__ import annotations

from .cutting import CLOSERS, FULL_WIDTH_ENDS, SENTENCE_ENDS, is_border

_SPACED_ENDS, _UNSPACED_ENDS = frozenset(SENTENCE_ENDS), frozenset(FULL_WIDTH_ENDS)


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
    for may_end in (_ends_sentence, _ends_word, is_border):
        for end in range(latest, earliest - 1, -1):
            if may_end(text, end):
                return end
    return latest


def _next_start(text: str, start: int, end: int, window: int) -> int:
    """Where the part behind begins: 10 to 15 % of the window before `end`, at a word where one begins there."""
    earliest = max(start + 1, end - 3 * window // 20)
    latest = max(earliest, end - window // 10)
    for may_begin in (_ends_word, is_border):
        for begin in range(earliest, latest + 1):
            if may_begin(text, begin):
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
    mark = bare.rstrip(CLOSERS)[-1:]
    return mark in _UNSPACED_ENDS or (spaced and mark in _SPACED_ENDS)


def _ends_word(text: str, at: int) -> bool:
    """Whether `at` lies behind white space and before none, or behind a full-width end of a sentence."""
    if at <= 0 or at >= len(text) or text[at].isspace():
        return False
    return text[at - 1].isspace() or (text[at - 1] in _UNSPACED_ENDS and text[at] not in CLOSERS)
