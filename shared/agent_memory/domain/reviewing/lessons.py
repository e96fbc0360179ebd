"""What a rejection teaches: its feedback as a candidate (JD-1)."""

from __future__ import annotations

from ..configuration import AgentConfig
from ..cutting import is_border
from ..folding import is_invisible
from ..tools import savable_kinds
from .candidates import Candidate

MAX_SUMMARY_CHARACTERS = 300  # RC-1


def lesson_of(feedback: str, config: AgentConfig) -> Candidate:
    """feedback: not blank; it is the content to the character. Scope and priority are the default ones."""
    return Candidate(False, _summary(feedback), _kind(config), content=feedback, lesson=True)


def _summary(feedback: str) -> str:
    """Its first line that says something. Cut where its room ends, between two characters that people see: a sentence
    that goes on behind it stands whole in the content."""
    line = next((line.strip() for line in feedback.splitlines() if not is_invisible(line)), "")
    if len(line) <= MAX_SUMMARY_CHARACTERS:
        return line
    ends = (end for end in range(MAX_SUMMARY_CHARACTERS, 0, -1) if is_border(line, end))
    return line[: next(ends, MAX_SUMMARY_CHARACTERS)]


def _kind(config: AgentConfig) -> str:
    kinds = savable_kinds(config, None)
    return next((kind for kind in ("lesson", "guidance") if kind in kinds), kinds[0])
