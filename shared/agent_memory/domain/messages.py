"""What a turn received, said and got back, as the harness hands it over (TU-10).

Knows the shape of a message and who may speak. Leaves to others: event ids and sequence numbers (the turn), chunks
(the store), what is kept for searching (history) and reviewed (review).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from . import json_values
from . import text as characters
from .bodies import Body, Bounded, GivenId, Several, Text, takes
from .instants import Instant
from .secrets import redacted, redacted_json

MAX_TEXT_CHARACTERS = 200_000
MAX_MESSAGES = 100  # of one call (IF-7)
MAX_CALLS = 100  # of one reply

AGENT = "agent"
Speaker = Literal["agent", "helper", "program"]

_CONVERSATION = re.compile("agent|(?:helper|program):(.*)", re.DOTALL)


def speaker(conversation: str) -> Speaker:
    """Who speaks in it: the agent itself, a helper, or a program."""
    match conversation.partition(":")[0]:
        case "helper":
            return "helper"
        case "program":
            return "program"
        case _:
            return "agent"


def _conversation(text: str) -> str:
    parts = _CONVERSATION.fullmatch(text)
    if parts is None or (parts[1] is not None and not characters.is_given_id(parts[1])):
        raise takes("agent, helper:<id> or program:<id>, an id being 1 to 128 characters without control characters")
    return text


def _json_object(given: dict[str, Any]) -> dict[str, Any]:
    if fault := json_values.fault_of(given):
        raise takes(fault)
    return given


Conversation = Annotated[str, AfterValidator(_conversation)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_json_object)]


class ToolCall(Body):
    """A call that a reply of the agent makes."""

    call_id: GivenId
    tool: GivenId
    input: JsonObject = Field({})


class _Message(Body):
    text: Text = Field(description="Kept to the character up to 200,000 characters; longer ones are cut and marked.")
    conversation: Conversation = Field(AGENT, description="agent, helper:<id> or program:<id>.")
    purpose: Literal["message", "skill", "retrieval"] = Field("message", description="What kind of text it is.")
    at: Instant | None = Field(None, description="When it was said, as given; now where it is not.")

    _truncated: bool = PrivateAttr(False)

    @model_validator(mode="after")
    def _cut(self) -> _Message:
        if len(self.text) > MAX_TEXT_CHARACTERS:
            self.__dict__["text"] = self.text[:MAX_TEXT_CHARACTERS]  # frozen for all others
            self._truncated = True
        return self

    @property
    def truncated(self) -> bool:
        """Whether the text was longer and was cut."""
        return self._truncated

    def stored(self, *, said_at: str, with_secrets: bool = False) -> dict[str, Any]:
        """JSON values as the transcript keeps them; `said_at`: the time of a message that brought none. Secrets of the
        text and of the calls' inputs are taken out (HI-7), unless they are to stay."""
        kept = self.model_dump(mode="json", exclude={"at"})
        said = kept if with_secrets else _without_secrets(kept)
        return {**said, "truncated": self.truncated, "said_at": self.at or said_at}


def _without_secrets(kept: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "input": redacted_json(call["input"])} for call in kept.get("calls", ())]
    return {**kept, "text": redacted(kept["text"])[0]} | ({"calls": calls} if "calls" in kept else {})


class UserMessage(_Message):
    role: Literal["user"]


class SystemMessage(_Message):
    role: Literal["system"]


class AgentMessage(_Message):
    role: Literal["agent"]
    calls: Annotated[Several[ToolCall], Field(max_length=MAX_CALLS), Bounded] = Field(
        (), description="The tools it calls."
    )


class ToolMessage(_Message):
    role: Literal["tool"]
    call_id: GivenId = Field(description="The call that it answers.")
    tool: GivenId = Field(description="The tool's name.")
    is_error: bool = Field(False, description="Whether the tool failed.")


class _AnyMessage(AgentMessage, ToolMessage):
    """No role's: only to tell of all faults of a message that has none."""

    role: Literal["user", "agent", "tool", "system"]  # type: ignore[assignment]
    call_id: GivenId | None = None  # type: ignore[assignment]
    tool: GivenId | None = None  # type: ignore[assignment]


_ROLES = ("user", "agent", "tool", "system")


def _of_a_role(given: Any) -> Any:
    """Without a role pydantic would look no further."""
    if isinstance(given, Mapping) and given.get("role") not in _ROLES:
        _AnyMessage.model_validate(given)
    return given


Message = Annotated[
    UserMessage | AgentMessage | ToolMessage | SystemMessage, Field(discriminator="role"), BeforeValidator(_of_a_role)
]
Messages = Annotated[Several[Message], Field(min_length=1, max_length=MAX_MESSAGES), Bounded]
