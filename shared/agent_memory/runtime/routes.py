"""Every route, once: the deployment, the OpenAPI document, the one-machine server and the handlers are made from this.

Which function serves it is decided by what its role must be allowed: `recall` reads, embeds and writes a transcript;
`tools` writes staged changes besides; `activity` tells what was done, and writes nothing. The four tools are one
resource of the API and stay one function: a model that saves and then searches finds it warm, and both need the same
tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_memory.domain.bodies import Body
from agent_memory.domain.configuration import AgentConfig

from .grants import Grant
from .requests import (
    BeginBody,
    ConfigQuery,
    DecisionBody,
    EmptyBody,
    EndBody,
    JudgementBody,
    MemoriesQuery,
    MemoryBody,
    MessagesBody,
    NoQuery,
    PageQuery,
    PlatformMemoriesQuery,
    PlatformMemoryBody,
    Query,
    RecallBody,
    SessionsQuery,
    ToolBody,
    ToolsQuery,
    TranscriptQuery,
    TurnsQuery,
    UsageQuery,
    WaitQuery,
)

BODY_BYTES = 1024 * 1024
MESSAGES_BYTES = 5 * 1024 * 1024  # Lambda takes 6 MB, of which the event around the body needs some
MAX_BODY_BYTES = MESSAGES_BYTES

_AGENT = "/v1/agents/{agent}"
_TURN = f"{_AGENT}/turns/{{turn}}"
_MEMORY = f"{_AGENT}/memories/{{id}}"
_PLATFORM = "/v1/platform/memories"

_REFUSED_RECORD = ("not_active", "key_held", "too_many_constraints", "kind_not_declared", "broader_target")


@dataclass(frozen=True, slots=True)
class Route:
    """resource: as API Gateway writes it. operation: its name in a handler and in OpenAPI. grants: any one of them
    opens it; none: it is open to any caller. codes: problems of its own, beside those that hold everywhere."""

    method: str
    resource: str
    function: str
    operation: str
    summary: str
    grants: tuple[Grant, ...] = ()
    body: type[Body] | None = None
    query: type[Query] = NoQuery
    success: tuple[int, ...] = (200,)
    codes: tuple[str, ...] = ()
    body_bytes: int = BODY_BYTES
    conditional: bool = False  # takes If-Match and If-None-Match

    @property
    def parameters(self) -> list[str]:
        """The names in its path."""
        return [part[1:-1] for part in self.resource.split("/") if part.startswith("{")]


ROUTES: tuple[Route, ...] = (
    Route(
        "PUT",
        f"{_AGENT}/config",
        "agents",
        "configure",
        "Store the next version of an agent's configuration",
        grants=("CONFIGURE",),
        body=AgentConfig,
        success=(201, 200),
        codes=("version_mismatch", "label_changed", "not_allowed", "if_match_required"),
        conditional=True,
    ),
    Route(
        "GET",
        f"{_AGENT}/config",
        "agents",
        "get_config",
        "Read a version of the configuration",
        grants=("CONFIGURE", "RUN", "SELECT"),
        query=ConfigQuery,
    ),
    Route(
        "GET",
        f"{_AGENT}/config/versions",
        "agents",
        "list_config_versions",
        "List the versions of the configuration, newest first",
        grants=("CONFIGURE", "SELECT"),
        query=PageQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        f"{_AGENT}/tools",
        "agents",
        "get_tools",
        "The tools to offer to the model",
        grants=("RUN",),
        query=ToolsQuery,
    ),
    Route(
        "GET",
        "/v1/agents",
        "activity",
        "list_agents",
        "List the agents in the order of their ids",
        grants=("OPERATE",),
        query=PageQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "POST",
        f"{_AGENT}/turns",
        "turns",
        "begin_turn",
        "Begin a turn, another attempt of one, or a replay",
        grants=("RUN",),
        body=BeginBody,
        success=(201,),
        codes=(
            "not_retryable",
            "session_required",
            "session_not_allowed",
            "retry_mismatch",
            "replay_is_preview",
            "unknown_version",
        ),
        body_bytes=MESSAGES_BYTES,
    ),
    Route(
        "GET",
        f"{_AGENT}/turns",
        "activity",
        "list_turns",
        "List turns, newest first",
        grants=("RUN", "SELECT"),
        query=TurnsQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        _TURN,
        "turns",
        "get_turn",
        "Read a turn",
        grants=("RUN", "SELECT"),
        query=WaitQuery,
    ),
    Route(
        "POST",
        f"{_TURN}/messages",
        "turns",
        "add_messages",
        "Add what the turn received, said and got back",
        grants=("RUN",),
        body=MessagesBody,
        codes=("turn_not_open", "turn_full"),
        body_bytes=MESSAGES_BYTES,
    ),
    Route(
        "POST",
        f"{_TURN}/recall",
        "recall",
        "recall",
        "What the agent knows, for the next model call",
        grants=("RUN",),
        body=RecallBody,
        codes=("turn_not_open",),
    ),
    Route(
        "POST",
        f"{_TURN}/tools/{{tool}}",
        "tools",
        "call_tool",
        "Carry out a native tool that the model called",
        grants=("RUN",),
        body=ToolBody,
        codes=("turn_not_open",),
    ),
    Route(
        "POST",
        f"{_TURN}/judgements",
        "turns",
        "judge_turn",
        "Say what the turn's work was worth",
        grants=("RUN",),
        body=JudgementBody,
        success=(201,),
        codes=("turn_not_open",),
    ),
    Route(
        "POST",
        f"{_TURN}/end",
        "turns",
        "end_turn",
        "End a turn: review and commit it, or roll it back",
        grants=("RUN",),
        body=EndBody,
        query=WaitQuery,
        success=(202, 200),
        codes=("turn_not_open", "outcome_differs", "turn_full"),
        body_bytes=MESSAGES_BYTES,
    ),
    Route(
        "POST",
        f"{_TURN}/review",
        "turns",
        "review_turn",
        "Do a failed review again, at once",
        grants=("RUN", "OPERATE"),
        body=EmptyBody,
        success=(202,),
        codes=("no_failed_review",),
    ),
    Route(
        "GET",
        f"{_TURN}/transcript",
        "records",
        "get_transcript",
        "The attempt's events in order",
        grants=("SELECT",),
        query=TranscriptQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        f"{_AGENT}/executions/{{id}}",
        "activity",
        "get_execution",
        "Read a call of a native tool, or a recall",
        grants=("SELECT",),
    ),
    Route(
        "GET",
        f"{_AGENT}/sessions",
        "activity",
        "list_sessions",
        "List sessions, the one that began last first",
        grants=("SELECT", "OPERATE"),
        query=SessionsQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        f"{_AGENT}/memories",
        "records",
        "list_memories",
        "List records, newest first",
        grants=("SELECT",),
        query=MemoriesQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        _MEMORY,
        "records",
        "get_memory",
        "Read a record",
        grants=("SELECT",),
    ),
    Route(
        "GET",
        f"{_MEMORY}/versions",
        "records",
        "list_memory_versions",
        "List the versions of a record, newest first",
        grants=("SELECT",),
        query=PageQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "GET",
        f"{_MEMORY}/versions/{{n}}",
        "records",
        "get_memory_version",
        "Read a record as it was at a version",
        grants=("SELECT",),
    ),
    Route(
        "GET",
        f"{_AGENT}/usage",
        "activity",
        "get_usage",
        "What the models cost, summed",
        grants=("OPERATE",),
        query=UsageQuery,
    ),
    Route(
        "POST",
        f"{_AGENT}/memories",
        "write",
        "insert_memory",
        "Save a record as a person or a program",
        grants=("SELECT+INSERT",),
        body=MemoryBody,
        success=(201, 200),
        codes=(*_REFUSED_RECORD, "label_not_declared", "pin_not_configured", "pin_over_budget", "id_required"),
    ),
    Route(
        "DELETE",
        _MEMORY,
        "write",
        "delete_memory",
        "Delete a record",
        grants=("SELECT+UPDATE",),
        codes=("conflict", "version_mismatch"),
        conditional=True,
    ),
    Route(
        "POST",
        f"{_MEMORY}/restore",
        "write",
        "restore_memory",
        "Make a superseded or deleted record active again",
        grants=("SELECT+UPDATE",),
        codes=("conflict", "not_restorable", "key_held", "too_many_constraints", "version_mismatch"),
        conditional=True,
    ),
    Route(
        "GET",
        _PLATFORM,
        "records",
        "list_platform_memories",
        "List platform records, newest first",
        grants=("SELECT",),
        query=PlatformMemoriesQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "POST",
        _PLATFORM,
        "write",
        "insert_platform_memory",
        "Save a platform record, active at once",
        grants=("APPROVE",),
        body=PlatformMemoryBody,
        success=(201, 200),
        codes=_REFUSED_RECORD,
    ),
    Route(
        "GET",
        f"{_PLATFORM}/{{id}}",
        "records",
        "get_platform_memory",
        "Read a platform record",
        grants=("SELECT",),
    ),
    Route(
        "DELETE",
        f"{_PLATFORM}/{{id}}",
        "write",
        "delete_platform_memory",
        "Delete a platform record",
        grants=("SELECT+UPDATE+APPROVE",),
        codes=("conflict", "version_mismatch"),
        conditional=True,
    ),
    Route(
        "GET",
        f"{_PLATFORM}/{{id}}/versions",
        "records",
        "list_platform_memory_versions",
        "List the versions of a platform record, newest first",
        grants=("SELECT",),
        query=PageQuery,
        codes=("invalid_cursor",),
    ),
    Route(
        "POST",
        f"{_PLATFORM}/{{id}}/approval",
        "write",
        "decide_platform_memory",
        "Approve or reject what an agent proposed",
        grants=("APPROVE",),
        body=DecisionBody,
        codes=(
            "conflict",
            "not_pending",
            "target_changed",
            "key_held",
            "too_many_constraints",
            "version_mismatch",
            "if_match_required",
        ),
        conditional=True,
    ),
    Route(
        "GET",
        "/v1/status",
        "agents",
        "get_status",
        "What is built in, what is wired, and how the index stands",
        grants=("OPERATE",),
    ),
    Route(
        "GET",
        "/v1/openapi.json",
        "agents",
        "get_openapi",
        "This document",
    ),
)


def methods_of(resource: str) -> list[str]:
    return sorted(route.method for route in ROUTES if route.resource == resource)
