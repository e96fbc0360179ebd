"""Which sentences of a message are the user's own statements: no questions, no quotations, no code.

Knows marks, not words; leaves what a sentence says to `phrases.py`. Linear in the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_CHARACTERS = 1_000  # of a sentence; a longer one is a pasted text

_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BLANKS = re.compile(r"[^\S\n]+")
# From an opening mark to the next closing one; what stays open quotes nothing. The German „ ends with “.
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|《[^《》]*》")
# Not behind an initial or a short title (Dr., z.B.), not behind an ordinal (am 3. Mai), not before a small letter (usw.
# und): there the sentence goes on. A line ends one, unless it ends in a colon.
_END = re.compile(
    r"(?<![\W_][A-ZÄÖÜ])(?<![\W_][^\W\d_])(?<![\W_][A-ZÄÖÜ][a-zäöü])(?<!\d)\.(?=\s(?![a-zäöüß]))"
    r"|[!?…](?=\s)|[。！？]|(?<![::])(?<![::] )\n"
)
_QUESTION = "?？"
_CLOSING = "\"”“»」』)'）"
_ITEM = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+")  # of a list


def statements(text: str) -> Iterator[str]:
    """In order, each on one line, without the mark of a list item."""
    for sentence in _sentences(_BLANKS.sub(" ", _QUOTED_LINE.sub("", _FENCED.sub("\n", text)))):
        stated = " ".join(_ITEM.sub("", sentence).split())
        if 0 < len(stated) <= MAX_CHARACTERS and not _asks(stated):
            yield stated


def _sentences(text: str) -> Iterator[str]:
    """A quotation lies within one sentence, whatever it holds."""
    start = 0
    for end in _END.finditer(_QUOTED.sub(lambda quoted: "x" * len(quoted[0]), text)):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _asks(sentence: str) -> bool:
    return sentence.rstrip(_CLOSING).endswith(tuple(_QUESTION))
