"""An agent's configuration: taken whole, stored whole with its defaults filled in, and what it says of the agent.

Two kinds of refusal (CF-1): `InvalidRequest` for what a field does not take, all faults at once; `NotAllowed` for what
is well formed and does not go together, or does not follow the version before (CF-4). Versions, ETags and storing are
the repository's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from .bodies import Body
from .durations import Duration
from .errors import Fault, InvalidRequest, NotAllowed
from .faults import faults_of
from .memory_settings import EveryMessages, MemorySettings
from .scopes import Scope

NOTE_TOOLS = ("note_add", "note_list", "note_read")
NATIVE_TOOLS = frozenset(("search_memory", "add_memory", "read_memory", "delete_memory", "search_history", *NOTE_TOOLS))
"""All of them, offered or not: what they answer is memory, and is not learned or kept again."""


class HistorySettings(Body):
    index: Literal["messages", "messages_and_tools"] = Field(
        description="What of a session stays searchable: messages and replies, or tools' results too."
    )
    retention: Duration | None = Field(None, description="How long; null: as long as the session.")


class NotesSettings(Body):
    enabled: bool = Field(True, description="Whether a turn may take working notes.")


class TranscriptSettings(Body):
    retention: Duration = Field(
        Duration.parse("90d"),
        description="How long turns, messages and transcripts are kept.",
        json_schema_extra={"default": "90d"},
    )


class AgentConfig(Body):
    """What one version of an agent's configuration says."""

    sessions: bool = Field(True, description="Whether each turn belongs to a session.")
    memory: MemorySettings = Field(default_factory=MemorySettings, description="What the agent remembers.")
    history: HistorySettings | None = Field(None, description="Makes what earlier turns of a session said searchable.")
    notes: NotesSettings = NotesSettings()
    transcripts: TranscriptSettings = TranscriptSettings()

    def stored(self) -> dict[str, Any]:
        """JSON values, defaults filled in, `kinds` as the map: what is kept, answered, and compared (CF-7)."""
        return self.model_dump(mode="json")

    @property
    def kinds(self) -> list[str]:
        return list(self.memory.kinds)

    def precedence(self, kind: str) -> Literal["broader", "narrower"]:
        """Of a kind no longer declared, too: its records are still there (CF-3)."""
        declared = self.memory.kinds.get(kind)
        if declared is not None:
            return declared.precedence
        return "broader" if kind == "constraint" else "narrower"

    @property
    def writable(self) -> list[Scope]:
        """The scopes that turns save to, narrow to broad: the first is the default."""
        return [scope for scope in Scope if scope in self.memory.scope.write]

    @property
    def offered(self) -> list[str]:
        """The native tools that the configuration offers, built or not (CF-5)."""
        memory = ["search_memory", *sorted(self.memory.tools)] if self.memory.enabled else []
        history = ["search_history"] if self.history else []
        return [*memory, *history, *(NOTE_TOOLS if self.notes.enabled else ())]


def parse_config(body: object) -> AgentConfig:
    """What a body holds, wrapped as `{"harness": {…}}` or not. Raises `InvalidRequest`, `NotAllowed`."""
    try:
        config = AgentConfig.model_validate(_unwrapped(body))
    except ValidationError as error:
        raise InvalidRequest("The configuration has faults.", faults=faults_of(error, AgentConfig)) from error
    if faults := [Fault(path, "not_allowed", message) for path, message in _conflicts(config)]:
        raise NotAllowed("The configuration is well formed, but its parts do not go together.", faults=faults)
    return config


def check_successor(newest: AgentConfig, new: AgentConfig) -> None:
    """A label once declared keeps its number for ever (CF-4). The newest version still declares all that were ever
    declared, so it alone is compared. Raises `NotAllowed` (label_changed) naming each label that changed."""
    faults = []
    for name, label in newest.memory.labels.items():
        kept = new.memory.labels.get(name)
        if kept is None or kept.number != label.number:
            message = f"an earlier version declares this label with number {label.number}: declare it so"
            faults.append(Fault(f"memory.labels.{name}", "label_changed", message))
    if faults:
        raise NotAllowed(
            "A label that was declared stays declared, with its number.", code="label_changed", faults=faults
        )


def _unwrapped(body: object) -> object:
    if isinstance(body, Mapping) and list(body) == ["harness"]:
        return body["harness"] if body["harness"] is not None else {}
    return body


def _conflicts(config: AgentConfig) -> Iterator[tuple[str, str]]:
    """Places and reasons where well-formed parts do not go together."""
    yield from _repeated_numbers(config)
    if config.sessions:
        return
    if config.memory.enabled:
        for name, scopes in (("read", config.memory.scope.read), ("write", config.memory.scope.write)):
            if Scope.SESSION in scopes:
                yield f"memory.scope.{name}", "an agent without sessions has no session scope: name others"
    if isinstance(config.memory.extraction.every, EveryMessages):
        yield "memory.extraction.every", "messages are counted by session, and the agent has none: takes turn"
    if config.history is not None:
        yield "history", "history belongs to a session, and the agent has none: takes null"


def _repeated_numbers(config: AgentConfig) -> Iterator[tuple[str, str]]:
    holders: dict[int, str] = {}
    for name, label in config.memory.labels.items():
        if label.number in holders:
            yield f"memory.labels.{name}.number", "another label has this number: takes one of its own"
        holders.setdefault(label.number, name)
