"""When a text says what another says to the letter: what needs no model to be skipped (EX-2)."""

from __future__ import annotations

from ..folding import widen
from ..parts import record_text
from .candidates import Candidate


def folded(text: str) -> str:
    """The text without what nobody hears: case, width and other compatibility forms (NFKC), how much white space."""
    return " ".join(widen(widen(text).casefold()).split())


def says_the_same(candidate: Candidate, summary: str, content: str | None) -> bool:
    """Summary and content are one text: where it is parted says nothing."""
    return folded(record_text(candidate.summary, candidate.content)) == folded(record_text(summary, content))
