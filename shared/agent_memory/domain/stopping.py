"""Which words say nothing about what a text is about: lists by language, in `stop_words/`, of our own choosing.

A word with `?` behind it means something in another language (German *die*, French *son*, Italian *dove*): records keep
it, and a query leaves it out only when the query's other words show that it is written in that language. All other
words are left out everywhere, so no language needs to be known to index a text. Lists are folded as texts are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .folding import fold, widen

_DOUBT = re.compile(r".*\?")


def always_stops(word: str) -> bool:
    """Whether the folded word is a stop word in every text."""
    return word in _unconditional()


def is_stop_in(language: str | None, word: str) -> bool:
    """Whether the folded word is a stop word in a text of the language, though it means something in others."""
    return language is not None and word in _conditional()[language]


def language_of(words: Sequence[str]) -> str | None:
    """The language with most stop words among the folded words; None unless one of them is such in every text.

    English wins a tie: names in English questions look like stop words of other languages (*Dan*, *Ella*).
    """
    counts = {
        language: certain + sum(word in _conditional()[language] for word in words)
        for language, certain in _evidence(words).items()
        if certain
    }
    return max(counts, key=lambda language: (counts[language], language == "en"), default=None)


def _evidence(words: Sequence[str]) -> dict[str, int]:
    return {language: sum(word in listed for word in words) for language, listed in _by_language().items()}


@cache
def _files() -> dict[str, list[str]]:
    folder = Path(__file__).with_name("stop_words")
    return {file.stem: fold(widen(file.read_text("utf-8"))).split() for file in sorted(folder.glob("*.txt"))}


@cache
def _conditional() -> dict[str, frozenset[str]]:
    return {
        language: frozenset(word[:-1] for word in words if word.endswith("?")) for language, words in _files().items()
    }


@cache
def _by_language() -> dict[str, frozenset[str]]:
    """The unconditional words of each language."""
    doubtful = frozenset[str]().union(*_conditional().values()) - frozenset(_files().get("en", ()))
    return {
        language: frozenset(word for word in words if not word.endswith("?")) - doubtful
        for language, words in _files().items()
    }


@cache
def _unconditional() -> frozenset[str]:
    return frozenset[str]().union(*_by_language().values())
