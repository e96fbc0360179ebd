"""What becomes of candidates beside what is known already: by the words they share, since nothing here knows meaning.

Knows the shape of the question and the answer (API.md, section 6) and EX-1; leaves words to the analyser. Two texts say
the same when all their words agree in their order. They are about the same when they share at least half of their
words: then a correction replaces, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_memory.domain.words import tokens

from .phrases import is_correction, is_subject, negations_in

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
    own = set(tokens(_text(candidate)))
    for neighbour in _writable(neighbours):
        if own and len(own & set(tokens(_text(neighbour)))) > _MOST * len(own):
            return "delete", neighbour, "to be forgotten, and shares most of its words"
    return "skip", None, "nothing that may be deleted shares most of its words"


def _writable(neighbours: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (neighbour for neighbour in neighbours if neighbour.get("writable"))


def _is_about_the_same(candidate: Mapping[str, Any], neighbour: Mapping[str, Any]) -> bool:
    key = candidate.get("memory_key")
    if key and key == neighbour.get("memory_key"):
        return True
    own, other = set(tokens(_text(candidate))), set(tokens(_text(neighbour)))
    return bool(own & other) and 2 * len(own & other) >= _ABOUT_THE_SAME * (len(own) + len(other))


def _says_the_same(candidate: Mapping[str, Any], neighbour: Mapping[str, Any]) -> bool:
    """Whoever is spoken of, and as often denied."""
    one, other = _text(candidate), _text(neighbour)
    words = _without_subjects(one)
    return bool(words) and words == _without_subjects(other) and negations_in(one) == negations_in(other)


def _without_subjects(text: str) -> list[str]:
    return [token for token in tokens(text) if not is_subject(token)]


def _text(told: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (told.get("summary"), told.get("content"))))


def _cosine(neighbour: Mapping[str, Any]) -> float:
    cosine = neighbour.get("cosine")
    return float(cosine) if isinstance(cosine, (int, float)) else -1.0
