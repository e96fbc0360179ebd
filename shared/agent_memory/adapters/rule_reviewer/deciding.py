"""What becomes of candidates beside what is known already: by the words they share, since nothing here knows meaning.

Knows the shape of the question and the answer (API.md, section 6) and EX-1; leaves words to the analyser. Two texts say
the same when all their words agree in their order. They are about the same when they share at least half of their
words: then a correction replaces, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_memory.domain.words import query_words

from .phrases import fillers, is_correction, negations_in, without_corrections

_ABOUT_THE_SAME = 0.5  # Dice: shared words, twice, of the words of both
_MOST = 0.5  # of a retraction's own words, above which it names the record


def decisions(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_decision(candidate) for candidate in asked.get("candidates", ())]


def _decision(candidate: Mapping[str, Any]) -> dict[str, Any]:
    action, memory, reason = _decided(candidate)
    id = memory["id"] if memory else None
    return {"candidate": candidate["candidate"], "action": action, "memory_id": id, "reason": f"rule: {reason}"}


def _decided(candidate: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None, str]:
    neighbours = sorted(candidate.get("neighbours", ()), key=_cosine, reverse=True)
    if candidate.get("retracts"):
        return _retracted(candidate, neighbours)
    for neighbour in neighbours:
        if _says_the_same(candidate, neighbour):
            return "skip", neighbour, "said already"
    if not candidate.get("lesson") and is_correction(_text(candidate)):
        for neighbour in _writable(neighbours):
            if _is_about_the_same(candidate, neighbour):
                return "replace", neighbour, "a correction that shares most of its words"
    return "add", None, "not said before"


def _retracted(
    candidate: Mapping[str, Any], neighbours: Sequence[Mapping[str, Any]]
) -> tuple[str, Mapping[str, Any] | None, str]:
    own = set(_words(candidate))
    for neighbour in _writable(neighbours):
        if own and len(own & set(_words(neighbour))) > _MOST * len(own):
            return "delete", neighbour, "to be forgotten, and shares most of its words"
    return "skip", None, "nothing that may be deleted shares most of its words"


def _writable(neighbours: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (neighbour for neighbour in neighbours if neighbour.get("writable"))


def _is_about_the_same(candidate: Mapping[str, Any], neighbour: Mapping[str, Any]) -> bool:
    key = candidate.get("memory_key")
    if key and key == neighbour.get("memory_key"):
        return True
    own, other = set(_words(candidate)), set(_words(neighbour))
    return bool(own & other) and 2 * len(own & other) >= _ABOUT_THE_SAME * (len(own) + len(other))


def _says_the_same(candidate: Mapping[str, Any], neighbour: Mapping[str, Any]) -> bool:
    """Whoever is spoken of, and as often denied."""
    words = _words(candidate)
    denied = negations_in(_text(candidate)) == negations_in(_text(neighbour))
    return bool(words) and denied and words == _words(neighbour)


def _words(told: Mapping[str, Any]) -> list[str]:
    """What the text is about: without who speaks, and without the words that make it a correction."""
    return [word for word in query_words(without_corrections(_text(told))) if word not in fillers()]


def _text(told: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (told.get("summary"), told.get("content"))))


def _cosine(neighbour: Mapping[str, Any]) -> float:
    cosine = neighbour.get("cosine")
    return float(cosine) if isinstance(cosine, (int, float)) else -1.0
