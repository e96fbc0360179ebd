"""What speakers of each language say, read from one file a language beside this one; `en.toml` explains the form.

Knows patterns; leaves the cutting of messages to `sentences.py`, and what becomes of a match to `proposing.py`. A
sentence is tried in every language: a message may hold several, and no phrase of one is said in another.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agent_memory.domain.words import query_words

# All of one width, so that a place in the folded text is the same place in what was said.
_MARKS = str.maketrans("’‘ʼ´`，：；！", "''''',:;!")
_BETWEEN = r"[\s,.!;:–—-]*"


class Found(NamedTuple):
    """A rule and the part of the sentence that it keeps, as it was said."""

    rule: Rule
    what: str


@dataclass(frozen=True, slots=True)
class Rule:
    """kind: the one it would like best; retracts: whether what it finds is to go."""

    name: str
    kind: str
    retracts: bool
    pattern: re.Pattern[str]
    unless: tuple[re.Pattern[str], ...]

    def fits(self, folded: str, start: int) -> re.Match[str] | None:
        match = self.pattern.match(folded, start)
        return match if match and not any(no.search(folded, start) for no in self.unless) else None


@dataclass(frozen=True, slots=True)
class Language:
    openers: re.Pattern[str]
    frames: re.Pattern[str]
    corrects: re.Pattern[str]
    negations: re.Pattern[str]
    fillers: tuple[str, ...]
    rules: tuple[Rule, ...]


def found_in(sentence: str) -> Found | None:
    """The first rule that fits, languages in the order of their names; None: nothing is to be kept."""
    folded = _folded(sentence)
    for language in languages():
        start = _behind_openers(language, folded)
        for rule in language.rules:
            if match := rule.fits(folded, start):
                first, last = match.span("what" if "what" in match.groupdict() else 0)
                return Found(rule, sentence[first:last].strip())
    return None


def is_framed(sentence: str) -> bool:
    """Whether what follows it is a story, a text to work on, or a case supposed."""
    folded = _folded(sentence)
    return any(one.frames.match(folded, _behind_openers(one, folded)) for one in languages())


def is_correction(text: str) -> bool:
    return any(one.corrects.search(_folded(text)) for one in languages())


def negations_in(text: str) -> int:
    """How often the text denies; of two that otherwise say the same, one may say the opposite."""
    return sum(len(one.negations.findall(_folded(text))) for one in languages())


def without_corrections(text: str) -> str:
    """Without what says that it corrects something: that is no part of what it is about."""
    folded = _folded(text)
    for language in languages():
        folded = language.corrects.sub(" ", folded)
    return folded


@cache
def fillers() -> frozenset[str]:
    """Words that say nothing of what a statement is about, as the analyser finds them."""
    return frozenset(word for one in languages() for filler in one.fillers for word in query_words(filler))


@cache
def languages() -> tuple[Language, ...]:
    files = sorted(Path(__file__).parent.glob("*.toml"))
    return tuple(_language(tomllib.loads(file.read_text("utf-8"))) for file in files)


def _language(told: dict[str, Any]) -> Language:
    return Language(
        openers=_compiled(rf"(?:(?:{_any(map(_whole_word, told['openers']))}){_BETWEEN})"),
        frames=_compiled(_any(told["frames"])),
        corrects=_compiled(_any(told["corrects"])),
        negations=_compiled(_any(told["negations"])),
        fillers=tuple(told["fillers"]),
        rules=tuple(map(_rule, told["rules"])),
    )


def _rule(told: dict[str, Any]) -> Rule:
    return Rule(
        name=told["name"],
        kind=told.get("kind", "fact"),
        retracts=told.get("retracts", False),
        pattern=_compiled(told["pattern"]),
        unless=tuple(map(_compiled, told.get("unless", ()))),
    )


def _behind_openers(language: Language, folded: str) -> int:
    """Where the phrase may begin: behind "Oh, and please"."""
    place = 0
    while opener := language.openers.match(folded, place):
        place = opener.end()
    return place


def _folded(text: str) -> str:
    return text.translate(_MARKS)


def _whole_word(opener: str) -> str:
    """Chinese writes no spaces: there an opener ends where it ends."""
    return re.escape(opener) + ("" if opener[-1] >= "\u4e00" else r"(?!\w)")


def _any(patterns: Iterable[str]) -> str:
    return "|".join(f"(?:{one})" for one in patterns)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
