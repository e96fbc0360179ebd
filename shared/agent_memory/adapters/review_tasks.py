"""The two tasks of a review as a model is given them: what it is told, what it is asked, and the schema of its answer.

Knows the texts (`prompts/*.md`, whose comments give the reasons and are not sent) and the order of messages; leaves
the schemas to `domain.reviewing`, and how a service spells all this to its adapter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agent_memory.domain.ports import Correction
from agent_memory.domain.reviewing.instructions import instructions_in
from agent_memory.domain.reviewing.schemas import (
    MEMORY_CANDIDATES,
    MEMORY_DECISIONS,
    candidates_schema,
    decisions_schema,
)

TIMEOUT_S = 60.0  # 24,000 tokens to read, and some thousand to write at 50 to 100 a second

_NOTHING = "(empty)"  # services refuse a message without text


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    text: str


class Task(NamedTuple):
    """name: of the schema; system: what the model is told; messages: the last is of the user."""

    name: str
    system: str
    schema: dict[str, Any]
    messages: list[Message]


def proposing(asked: Mapping[str, Any], correction: Correction | None) -> Task:
    return Task(MEMORY_CANDIDATES, _told("candidates"), candidates_schema(asked), _messages(asked, correction))


def deciding(asked: Mapping[str, Any], correction: Correction | None) -> Task:
    return Task(MEMORY_DECISIONS, _told("decisions"), decisions_schema(asked), _messages(asked, correction))


def _messages(asked: Mapping[str, Any], correction: Correction | None) -> list[Message]:
    """The question is one JSON object, so that nothing in it can pass for a message of its own."""
    question = Message("user", json.dumps(asked, ensure_ascii=False))
    if correction is None:
        return [question]
    return [question, Message("assistant", correction.answer.strip() or _NOTHING), Message("user", correction.faults)]


def _told(name: str) -> str:
    return instructions_in(Path(__file__).with_name("prompts") / f"{name}.md")
