"""What a review is shown of a conversation, and how a long one is cut into windows (EX-2, EX-4).

Knows which messages count and what of them is left out. Leaves to others which turns' messages these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def messages_shown(events: Sequence[Mapping[str, Any]]) -> list[Shown]:
    """Messages as `{"role", "text", "at"}`, in order, without what a recall rendered, which is not learned again.

    events: messages of one or more turns as the transcript keeps them, tools' too. A reply that called tools ends in a
    line with their names and whether each failed. What is blank after all that is not shown."""
    outcomes = _outcomes(events)
    shown = [(event, _text(event, outcomes)) for event in events if is_reviewed(event)]
    return [
        {"role": event["role"], "text": text, "at": event["said_at"]} for event, text in shown if not is_invisible(text)
    ]


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


def _text(event: Mapping[str, Any], outcomes: Mapping[tuple[int, str], str]) -> str:
    text = strip_blocks(event["text"])
    called = [f"{call['tool']} ({outcomes[id(event), call['call_id']]})" for call in event.get("calls") or ()]
    if not called:
        return text
    line = f"[Tools called: {', '.join(called)}]"
    return line if is_invisible(text) else f"{text}\n{line}"


def _outcomes(events: Sequence[Mapping[str, Any]]) -> dict[tuple[int, str], str]:
    """What came of each call, by its reply and its id. Harnesses number calls anew in every turn, so an answer belongs
    to the last call of its id before it."""
    found: dict[tuple[int, str], str] = {}
    open_calls: dict[tuple[str, str], tuple[int, str]] = {}
    for event in events:
        for call in event.get("calls") or ():
            key = id(event), call["call_id"]
            found[key] = "no answer"
            open_calls[event["conversation"], call["call_id"]] = key
        if event["role"] == "tool" and (asked := open_calls.get((event["conversation"], event["call_id"]))):
            found[asked] = "failed" if event["is_error"] else "succeeded"
    return found


def _pieces(message: Shown, most: int) -> Iterator[Shown]:
    text = message["text"]
    while len(text) > most:
        end = len(cut(text, most)) or most
        yield {**message, "text": text[:end]}
        text = text[end:]
    yield {**message, "text": text}
