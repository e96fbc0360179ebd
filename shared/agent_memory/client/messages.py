"""What a turn received, said and got back, as it is sent (`Message` of the API)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict


class ToolCall(TypedDict):
    """A call that a reply of the agent makes."""

    call_id: str
    tool: str
    input: NotRequired[Mapping[str, Any]]


class Message(TypedDict):
    """text: kept to the character up to 200,000, then cut and marked. conversation: `agent` where it is not given.
    at: when it was said, with an offset; now where it is not given. calls: of role `agent`. call_id, tool: required of
    role `tool`, with is_error where it failed."""

    role: Literal["user", "agent", "tool", "system"]
    text: str
    conversation: NotRequired[str]
    purpose: NotRequired[Literal["message", "skill", "retrieval"]]
    at: NotRequired[str | datetime]
    calls: NotRequired[Sequence[ToolCall]]
    call_id: NotRequired[str]
    tool: NotRequired[str]
    is_error: NotRequired[bool]


Messages = Sequence[Message]
