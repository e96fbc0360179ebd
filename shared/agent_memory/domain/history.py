"""What of a turn's messages stays searchable, and how it stands before a model (HI-1 to HI-3, HI-7).

All of it is worked out of the message as the transcript keeps it, so history has no copy of its own. Leaves to others
what a search finds (`history_parts.py`, the search), and to the transcript to have taken out secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

from .block import DEFUSED, alike, defused, one_line, strip_blocks
from .configuration import NATIVE_TOOLS
from .cutting import cut, is_border
from .folding import is_invisible
from .messages import AGENT
from .text import LINE_BREAKS
from .times import instant

MAX_PART_CHARACTERS = 2000  # HI-3
MAX_INPUT_CHARACTERS = 500  # of a call's input, as JSON (HI-1)

Keeps = Literal["messages", "messages_and_tools"]
Event = Mapping[str, Any]
"""A message as the transcript keeps it, with its sequence number."""


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """Whose history it is: a session's, and apart from it what its preview turns kept (HI-5)."""

    agent_id: str
    session_id: str
    preview: bool = False

    @classmethod
    def both(cls, agent_id: str, session_id: str) -> tuple[HistoryPlace, HistoryPlace]:
        return cls(agent_id, session_id), cls(agent_id, session_id, preview=True)

    @property
    def mode(self) -> str:
        return "preview" if self.preview else "live"


@dataclass(frozen=True, slots=True)
class Before:
    """What a turn sees of it: turns of a lower number, and where `commits` is given only those that had committed when
    so many had."""

    number: int
    commits: int | None = None

    def shows(self, turn: KeptTurn, now: datetime) -> bool:
        is_past = turn.number < self.number and (self.commits is None or turn.commits <= self.commits)
        return is_past and (turn.ends_at is None or now < instant(turn.ends_at))


class KeptMessage(NamedTuple):
    """Which message of a turn is kept, and in how many parts."""

    sequence: int
    id: str
    parts: int


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """Which messages of a committed turn are kept. commits: how many turns of the session had kept something, this one
    included; ends_at: from then on it is not found (None: it stays as long as its session)."""

    place: HistoryPlace
    number: int
    turn_id: str
    execution_id: str
    keeps: Keeps
    commits: int
    messages: Sequence[KeptMessage]
    ends_at: str | None = None


@dataclass(frozen=True)
class KeptEvent:
    """A message that is kept. body: what was said, without its mark."""

    event: Event
    body: str

    @property
    def sequence(self) -> int:
        number: int = self.event["sequence"]
        return number

    @property
    def id(self) -> str:
        return str(self.event["event_id"])

    @cached_property
    def parts(self) -> list[str]:
        return parts_of(self.body)

    def text(self, turn: int, part: int | None = None) -> str:
        """With its mark, as a search shows it: one part, counted from 1, or the whole."""
        shown = self.body if part is None else self.parts[part - 1]
        return f"{mark(turn, self.event)}\n{without_marks(shown)}"


def kept_events(events: Iterable[Event], keeps: Keeps) -> list[KeptEvent]:
    """Those of a turn's messages that history keeps, in their order."""
    return [KeptEvent(event, body) for event in events if is_kept(event, keeps) and (body := body_of(event))]


def is_kept(event: Event, keeps: Keeps) -> bool:
    """Whether it is the agent's own conversation, and no more than the configuration keeps."""
    if event["conversation"] != AGENT or event["purpose"] != "message":
        return False
    match event["role"]:
        case "user" | "agent":
            return True
        case "tool":
            return keeps == "messages_and_tools" and event["tool"] not in NATIVE_TOOLS
        case _:
            return False


def body_of(event: Event) -> str:
    """What was said, and which tools were called, without blocks that a recall rendered; "" where nothing is left."""
    said = strip_blocks(event["text"])
    pieces = ([] if is_invisible(said) else [said]) + list(_calls(event.get("calls") or ()))
    return defused("\n".join(pieces))


def _calls(calls: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for call in calls:
        tool = one_line(call["tool"])
        yield f"calls {tool}" if call["tool"] in NATIVE_TOOLS else f"calls {tool} {_input(call['input'])}"


def _input(given: object) -> str:
    text = strip_blocks(json.dumps(given, ensure_ascii=False))
    end = min(len(text), MAX_INPUT_CHARACTERS)
    while not is_border(text, end):
        end -= 1
    return text[:end]


# ---------------------------------------------------------------- marks


def mark(turn: int, event: Event) -> str:
    """The line that says who an event is from."""
    if event["role"] != "tool":
        return f"turn {turn}, {event['role']}"
    return f"turn {turn}, tool {one_line(event['tool'])}{', error' if event['is_error'] else ''}"


_GAP = rf"[^0-9a-z,{LINE_BREAKS}]*"
_ROLES = "|".join(_GAP.join(role) for role in ("user", "agent", "tool", "system"))
_IMITATION = re.compile(rf"(?:\A|[{LINE_BREAKS}]){_GAP}{_GAP.join('turn')}{_GAP}\d+{_GAP}(,){_GAP}(?:{_ROLES})")


def without_marks(text: str) -> str:
    """The text with lines that imitate a mark made harmless: their comma becomes ‹. In any case, width or spacing. Its
    length stays; linear in the text."""
    characters = None
    for imitation in _IMITATION.finditer(alike(text)):
        characters = characters or list(text)
        characters[imitation.start(1)] = DEFUSED
    return "".join(characters) if characters else text


# ---------------------------------------------------------------- parts


def parts_of(text: str) -> list[str]:
    """The text in pieces of at most 2,000 characters, which together are the text: cut behind a sentence or a word, and
    never inside what people see as one character, unless that alone is longer."""
    parts, start = [], 0
    while len(text) - start > MAX_PART_CHARACTERS:
        end = _end(text, start)
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


def _end(text: str, start: int) -> int:
    """White space behind a piece belongs to it while there is room."""
    latest = start + MAX_PART_CHARACTERS
    piece = cut(text[start : latest + _BEHIND], MAX_PART_CHARACTERS)
    end = start + len(piece) if piece else latest
    while end < latest and text[end].isspace() and is_border(text, end + 1):
        end += 1
    return end


_BEHIND = 8  # characters that tell whether a sentence or a character ends before them
