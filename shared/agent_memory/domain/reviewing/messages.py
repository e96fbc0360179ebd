"""What a review is shown of a conversation, and how a long one is cut into windows (EX-2, EX-4).

Knows which messages count and what of them is left out. Leaves to others which turns' messages these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..block import strip_blocks
from ..budget import CHARACTERS_A_TOKEN
from ..cutting import cut
from ..folding import is_invisible
from ..messages import AGENT

MAX_WINDOW_TOKENS = 24_000

Shown = dict[str, Any]


def is_reviewed(event: Mapping[str, Any]) -> bool:
    """Whether a message is what user and agent said to each other: what `every` counts and what a review reads. A
    helper's thread is the agent's own words to its helper."""
    return (
        event.get("role") in ("user", "agent")
        and event.get("purpose") == "message"
        and event.get("conversation") == AGENT
    )


def messages_shown(events: Iterable[Mapping[str, Any]], most: int | None = None) -> list[Shown]:
    """Messages as `{"role", "text", "at"}`, in order, without what a recall rendered, which is not learned again.

    events: messages of one or more turns as the transcript keeps them, tools' too. A reply that called tools ends in a
    line with their names and whether each failed. What is blank after all that is not shown. most: characters behind
    which no more events are read. Of what is not shown no text is held: results of tools may be long."""
    outcomes = _Outcomes()
    said: list[tuple[Shown, list[tuple[str, int]]]] = []
    length = 0
    for event in events:
        called = outcomes.note(event)
        if is_reviewed(event):
            text = strip_blocks(event["text"])
            said.append(({"role": event["role"], "text": text, "at": event["said_at"]}, called))
            length += 0 if is_invisible(text) else len(text)
        if most is not None and length > most:
            break
    shown = [{**message, "text": _text(message["text"], outcomes.told(called))} for message, called in said]
    return [message for message in shown if not is_invisible(message["text"])]


def windows(shown: Sequence[Shown], limit_tokens: int = MAX_WINDOW_TOKENS) -> list[list[Shown]]:
    """The messages in order, in windows whose texts are at most so many tokens long together. A message that is longer
    than a window is cut into pieces, at sentences where it can be; together they are its text to the character."""
    most = limit_tokens * CHARACTERS_A_TOKEN
    filled: list[list[Shown]] = []
    room = 0
    for piece in (piece for message in shown for piece in _pieces(message, most)):
        if not filled or len(piece["text"]) > room:
            filled.append([])
            room = most
        filled[-1].append(piece)
        room -= len(piece["text"])
    return filled


class _Outcomes:
    """What came of each call. Harnesses number calls anew in every turn, so an answer belongs to the last call of its
    id before it."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._open: dict[tuple[str, str], int] = {}

    def note(self, event: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The tools that it called, and where the outcome of each will stand."""
        conversation, called = event["conversation"], event.get("calls") or ()
        for id in dict.fromkeys(call["call_id"] for call in called):
            self._open[conversation, id] = len(self._found)
            self._found.append("no answer")
        if event["role"] == "tool" and (asked := self._open.get((conversation, event["call_id"]))) is not None:
            self._found[asked] = "failed" if event["is_error"] else "succeeded"
        return [(call["tool"], self._open[conversation, call["call_id"]]) for call in called]

    def told(self, called: Iterable[tuple[str, int]]) -> list[str]:
        return [f"{tool} ({self._found[at]})" for tool, at in called]


def _text(said: str, called: Sequence[str]) -> str:
    if not called:
        return said
    line = f"[Tools called: {', '.join(called)}]"
    return line if is_invisible(said) else f"{said}\n{line}"


def _pieces(message: Shown, most: int) -> Iterator[Shown]:
    text = message["text"]
    while len(text) > most:
        end = len(cut(text, most)) or most
        yield {**message, "text": text[:end]}
        text = text[end:]
    yield {**message, "text": text}
