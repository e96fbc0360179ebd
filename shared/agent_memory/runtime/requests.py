"""What the routes take: a model for each body and each query string. Fields of parts that are not built are not here,
so they are refused as unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agent_memory.domain.bodies import Body, GivenId, Name, Several, Text, Whole, takes
from agent_memory.domain.configuration import AgentConfig, parse_config
from agent_memory.domain.errors import Fault, InvalidRequest
from agent_memory.domain.faults import faults_of, path_of
from agent_memory.domain.instants import Instant
from agent_memory.domain.memory_settings import ScopeName
from agent_memory.domain.messages import AGENT, MAX_MESSAGES, Conversation, Message, Messages
from agent_memory.domain.tool_inputs import MAX_KEY_CHARACTERS, MAX_QUERY_CHARACTERS, AddMemory, LabelName, LabelValue
from agent_memory.domain.words import is_blank

MAX_PAGE = 200  # of a list (IF-7)
MAX_ERROR_CHARACTERS = 2000
MAX_REASON_CHARACTERS = 2000
MAX_FEEDBACK_CHARACTERS = 4000
MAX_CURSOR_CHARACTERS = 2000
TIME_ZONE = "an IANA time zone such as Europe/Berlin"

# ---------------------------------------------------------------- bodies


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, LookupError, OSError) as error:  # as the library raises them: no such zone, a path, a folder
        raise takes(TIME_ZONE) from error
    return name


SomeMessages = Annotated[Several[Message], Field(max_length=MAX_MESSAGES)]
MAX_VERSION = 999_999
Version = Annotated[int, Field(ge=1, le=MAX_VERSION), Whole]


class BeginBody(Body):
    session_id: GivenId | None = Field(None, description="Required where the agent has sessions.")
    workflow_id: GivenId | None = Field(None, description="The workflow that the turn works on.")
    user_id: GivenId | None = Field(None, description="The user that the turn works for.")
    preview: bool | None = Field(None, description="Try changes: live turns never see what this one saves.")
    execution_id: GivenId | None = Field(None, description="The harness's own run; the turn's id where not given.")
    invocation_id: GivenId | None = Field(None, description="One invocation of that run.")
    agent_version: Version | None = Field(
        None, description="The configuration to begin on; where not given the newest, of a replay its turn's."
    )
    replay_of: Annotated[Text, Field(max_length=128)] | None = Field(
        None, description="The turn to run again as a preview turn, over what it saw when it began."
    )
    retry_of: Annotated[Text, Field(max_length=128)] | None = Field(None, description="The turn to try again.")
    started_at: Instant | None = Field(None, description="When the harness began it; now where not given.")
    time_zone: Annotated[Text, Field(max_length=64), AfterValidator(_time_zone)] = Field(
        "UTC", description="An IANA name: how the turn's user reads dates."
    )
    messages: SomeMessages = Field((), description="What the turn received so far.")


class MessagesBody(Body):
    messages: Messages


class RecallBody(Body):
    """Exactly one of query and messages."""

    query: Annotated[Text, Field(max_length=MAX_QUERY_CHARACTERS)] | None = Field(None, description="What to recall.")
    messages: Messages | None = Field(None, description="The newest messages, in place of a query.")
    conversation: Conversation = Field(AGENT, description="Who is shown it: agent, helper:<id> or program:<id>.")
    explain: bool = Field(False, description="Adds the cosine and both ranks to each item.")

    @model_validator(mode="after")
    def _one(self) -> RecallBody:
        if (self.query is None) == (self.messages is None):
            raise takes("exactly one of query and messages")
        return self


class ToolBody(Body):
    input: Any = Field(None, description="The arguments as the model gave them; their faults are told to the model.")
    conversation: Conversation = Field(AGENT, description="Who calls: agent, helper:<id> or program:<id>.")
    call_id: GivenId | None = Field(None, description="The model's own id of the call.")


class JudgementBody(Body):
    verdict: Literal["accepted", "rejected"]
    feedback: Annotated[Text, Field(min_length=1, max_length=MAX_FEEDBACK_CHARACTERS)] | None = Field(
        None, validate_default=True, description="Required with rejected, which is to be learned from."
    )
    judge: GivenId | None = Field(None, description="Who judged.")

    @field_validator("feedback")
    @classmethod
    def _says_why(cls, feedback: str | None, rest: ValidationInfo) -> str | None:
        if rest.data.get("verdict") == "rejected" and is_blank(feedback or ""):
            raise takes("text that is not blank where the verdict is rejected")
        return feedback


class EndBody(Body):
    outcome: Literal["completed", "failed"] = Field(description="completed reviews and commits it, failed rolls back.")
    error: Annotated[Text, Field(max_length=MAX_ERROR_CHARACTERS)] | None = Field(None, description="Why it failed.")
    messages: SomeMessages = Field((), description="What was said at the end.")


AgentScope = Literal["session", "workflow", "user", "agent"]


class MemoryBody(AddMemory):
    """A record that a person or a program saves: the arguments of `add_memory`, in a scope whose ids are given."""

    scope: AgentScope = Field(description="Whose record it is.")
    session_id: GivenId | None = Field(None, description="Required with scope session.")
    workflow_id: GivenId | None = Field(None, description="Required with scope workflow.")
    user_id: GivenId | None = Field(None, description="Required with scope user; with others whom it is about.")

    @classmethod
    def _is_absent(cls, name: str, value: object) -> bool:
        return value is None  # a person who sends "" has made a mistake; a model fills in every argument


class PlatformMemoryBody(AddMemory):
    """A record for the whole deployment, active at once."""

    scope: Literal["platform"] = Field(description="The only one that is written here.")

    @classmethod
    def _is_absent(cls, name: str, value: object) -> bool:
        return value is None


class DecisionBody(Body):
    """On what an agent proposed for platform memory."""

    decision: Literal["approve", "reject"]
    reason: Annotated[Text, Field(max_length=MAX_REASON_CHARACTERS)] | None = Field(None, description="Why.")


# ---------------------------------------------------------------- query strings

_DIGITS = re.compile("-?[0-9]{1,18}")


def _number(text: Any) -> Any:
    return int(text) if isinstance(text, str) and _DIGITS.fullmatch(text) else text


def _flag(text: Any) -> Any:
    return {"true": True, "false": False}.get(text, text) if isinstance(text, str) else text


Number = BeforeValidator(_number)
Flag = Annotated[bool, BeforeValidator(_flag)]


class Query(Body):
    """A query string. `repeatable`: the parameters that may stand several times."""

    repeatable: ClassVar[frozenset[str]] = frozenset()


class NoQuery(Query):
    """Takes no parameters."""


class PageQuery(Query):
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), Number] = Field(50, description="Most entries of the page.")
    after: Annotated[Text, Field(max_length=MAX_CURSOR_CHARACTERS)] | None = Field(
        None, description="The `next` of the page before."
    )


class ConfigQuery(Query):
    version: Annotated[int, Field(ge=1, le=MAX_VERSION), Number] | None = Field(
        None, description="The newest where not given."
    )


class ToolsQuery(ConfigQuery):
    format: Literal["anthropic", "openai", "bedrock"] = Field("anthropic", description="Whose dialect.")
    audience: Literal["agent", "helper", "program"] = Field("agent", alias="for", description="Who is to call them.")


TurnState = Literal["open", "ending", "committed", "rolled_back"]


class EmptyBody(Body):
    """Nothing: an empty object, or no body at all."""


class TurnsQuery(PageQuery):
    """All filters hold. A turn is as new as its id: the moment at which it was begun here."""

    session_id: GivenId | None = Field(None, description="Only of this session.")
    workflow_id: GivenId | None = Field(None, description="Only of this workflow.")
    user_id: GivenId | None = Field(None, description="Only for this user.")
    execution_id: GivenId | None = Field(None, description="Only of this run of the harness.")
    invocation_id: GivenId | None = Field(None, description="Only of this invocation of a run.")
    status: TurnState | None = Field(None, description="Only what stands so now.")
    preview: Flag | None = Field(None, description="Only preview turns, or only live ones.")
    review: Literal["failed"] | None = Field(None, description="Only turns whose review has failed.")
    since: Instant | None = Field(None, description="Only begun then or later, by the moment in the turn's id.")
    until: Instant | None = Field(None, description="Only begun before, by the moment in the turn's id.")


class SessionsQuery(PageQuery):
    session_id: GivenId | None = Field(None, description="Only this session.")
    user_id: GivenId | None = Field(None, description="Only sessions in which this user had a turn.")


class UsageQuery(Query):
    since: Instant | None = Field(None, description="Only of calls then or later.")
    until: Instant | None = Field(None, description="Only of calls before.")
    by: Literal["purpose", "session", "user", "day"] = Field("purpose", description="What is summed; days are UTC's.")


class WaitQuery(Query):
    wait: Annotated[int, Field(ge=0, le=25), Number] = Field(
        0, description="Seconds to wait while it is ending, or reviewed again."
    )


EventType = Literal[
    "message",
    "execution",
    "output_use",
    "usage",
    "memory.pinned",
    "recall.omitted",
    "judgement",
    "review",
    "conflict",
    "pin.unpinned",
    "turn.committed",
    "turn.rolled_back",
]


class TranscriptQuery(PageQuery):
    repeatable = frozenset({"type"})

    type: Several[EventType] = Field((), description="Only events of these types.")


Status = Literal["ACTIVE", "PENDING", "SUPERSEDED", "REJECTED", "DELETED", "all"]
LABEL = "label."


class RecordsQuery(PageQuery):
    """All filters hold. A label is filtered by as `label.<name>=<value>`."""

    repeatable = frozenset({"status"})

    kind: Name | None = Field(None, description="Only of this kind.")
    labels: dict[LabelName, LabelValue] = Field({}, alias=f"{LABEL}<name>", description="Only with this label value.")
    status: Several[Status] = Field(
        (), description="Where not given: active ones, and deletions that preview turns see; `all` is every one."
    )
    memory_key: Annotated[Text, Field(max_length=MAX_KEY_CHARACTERS)] | None = Field(
        None, description="Only about this subject."
    )
    pinned: Flag | None = Field(None, description="Only pinned ones, or only others.")
    preview: Flag | None = Field(None, description="Only what preview turns saved, or only live records.")
    source: Literal["tool", "review", "lesson", "person", "import", "merge"] | None = Field(
        None, description="Only what came this way."
    )
    expired: Flag = Field(False, description="The expired alone.")
    query: Annotated[Text, Field(max_length=MAX_QUERY_CHARACTERS)] | None = Field(
        None, description="Best first, on one page: active records alone, without `after`. A blank one is none."
    )
    explain: Flag = Field(False, description="Beside `query`: adds the cosine and both ranks to each record.")
    since: Instant | None = Field(None, description="Only created then or later.")
    until: Instant | None = Field(None, description="Only created before.")


class MemoriesQuery(RecordsQuery):
    scope: ScopeName | None = Field(None, description="Only of this scope.")
    session_id: GivenId | None = Field(None, description="Only of this session.")
    workflow_id: GivenId | None = Field(None, description="Only of this workflow.")
    user_id: GivenId | None = Field(None, description="Only of this user.")


class PlatformMemoriesQuery(RecordsQuery):
    scope: Literal["platform"] | None = Field(None, description="They have no other.")


def query_of(model: type[Query], given: Mapping[str, list[str]]) -> tuple[Query | None, list[Fault]]:
    """The query string as the model has it, or everything that is wrong with it."""
    fields: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, values in given.items():
        if "" in values:
            faults.append(_wrong(name, "a value: leave it out where there is none"))
        elif name in model.repeatable:
            fields[name] = values
        elif len(values) > 1:
            faults.append(_wrong(name, "one value"))
        elif name.startswith(LABEL) and issubclass(model, RecordsQuery):
            fields.setdefault(f"{LABEL}<name>", {})[name.removeprefix(LABEL)] = values[0]
        else:
            fields[name] = values[0]
    try:
        query = model.model_validate(fields)
    except ValidationError as error:
        faults += [replace(f, path=f.path.replace(f"{LABEL}<name>.", LABEL)) for f in faults_of(error, model)]
    return (None if faults else query), faults


def _wrong(name: str, takes: str) -> Fault:
    return Fault(path_of([name]), "invalid_request", f"takes {takes}")


def body_of(model: type[Body], given: object) -> tuple[Body | None, list[Fault]]:
    """The body as the model has it, or everything that is wrong with it. Raises `NotAllowed` for a configuration that
    is well formed and not allowed."""
    try:
        return (parse_config(given) if model is AgentConfig else model.model_validate(given)), []
    except ValidationError as error:
        return None, faults_of(error, model)
    except InvalidRequest as refused:
        return None, refused.faults
