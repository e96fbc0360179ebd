"""Candidates, of what users said: their own words, so that nothing is put into their mouth.

Knows the shape of the question and the answer (API.md, section 6); leaves to `phrases.py` which sentences count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .phrases import Found, found_in, is_framed
from .sentences import statements

_MOST_SUMMARY = 300  # RC-1
_FALLBACK = "fact"
_BINDING = "constraint"  # what binds the agent is for people to say


def candidates(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each once, in the order in which it was said last."""
    kinds = _names(asked.get("kinds"))
    found: dict[str, Found] = {}
    for one in _all_found(asked.get("messages", ())):
        found.pop(one.what.casefold(), None)
        found[one.what.casefold()] = one
    return [_candidate(one, kinds) for one in found.values()]


def _all_found(messages: Sequence[Mapping[str, Any]]) -> Iterator[Found]:
    """What the agent says is nothing to learn from."""
    for message in messages:
        if message.get("role") == "user":
            yield from _found_in_message(str(message.get("text", "")))


def _found_in_message(text: str) -> Iterator[Found]:
    for sentence in statements(text):
        if is_framed(sentence):
            return
        if (found := found_in(sentence)) and found.what:
            yield found


def _candidate(found: Found, kinds: Sequence[str]) -> dict[str, Any]:
    summary = _shortened(found.what)
    return {
        "retracts": found.rule.retracts,
        "summary": summary,
        "content": found.what if summary != found.what else None,
        "kind": _kind(found.rule.kind, kinds),
        "labels": None,
        "scope": None,
        "memory_key": None,
        "priority": None,
        "occurred_at": None,
        "expires_at": None,
    }


def _shortened(text: str) -> str:
    """At most 300 characters, cut behind a word where there is one."""
    if len(text) <= _MOST_SUMMARY:
        return text
    cut = text[: _MOST_SUMMARY - 1]
    return (cut.rpartition(" ")[0] or cut) + "…"


def _kind(wanted: str, kinds: Sequence[str]) -> str:
    free = [kind for kind in kinds if kind != _BINDING] or list(kinds)
    return next((kind for kind in (wanted, _FALLBACK) if kind in free), free[0] if free else _FALLBACK)


def _names(kinds: Any) -> list[str]:
    """Kinds come as a map from name to description, or as a list of names or of objects that have one."""
    return [kind["name"] if isinstance(kind, Mapping) else kind for kind in kinds or ()]
