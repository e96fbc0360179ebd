"""The conversations by which reviewers are judged, read from `conversations/*.toml`.

Each has what was said (`messages`: role, text), what is `known` before (id, summary, kind; `writable` unless false),
and the `changes` that any good review makes of it, in whatever words: to `add`, `replace` or `delete` (`target`: the id
of a known record), in a text that holds all of `says`. No changes: nothing is to be kept, or it is known already.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).with_name("conversations")


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "agent"]
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    id: str
    summary: str
    kind: str
    writable: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    action: Literal["add", "replace", "delete"]
    target: str | None = None
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    language: str  # the file's name
    name: str
    messages: Sequence[Message]
    known: Sequence[Known]
    changes: Sequence[Change]


def conversations() -> list[Conversation]:
    files = sorted(FOLDER.glob("*.toml"))
    return [_conversation(file.stem, one) for file in files for one in _told(file)]


def _told(file: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))["conversations"]
    return told


def _conversation(language: str, told: dict[str, Any]) -> Conversation:
    return Conversation(
        language=language,
        name=told["name"],
        messages=[Message(**message) for message in told["messages"]],
        known=[Known(**known) for known in told["known"]],
        changes=[Change(**{**change, "says": tuple(change.get("says", ()))}) for change in told["changes"]],
    )
