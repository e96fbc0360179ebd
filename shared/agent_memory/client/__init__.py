"""The typed client of the HTTP API, for harnesses and for programs that read what agents remember.

    from agent_memory.client import AgentMemory, SigV4

    with AgentMemory("https://….execute-api.eu-central-1.amazonaws.com/prod", auth=SigV4()) as memory:
        with memory.agent("support").begin(session_id="s-1", messages=messages) as turn:
            block = turn.recall(messages=messages).block

Needs the extra `client`. Knows the routes and the shapes of their answers; the rules behind them are the server's, and
so is every check of what is sent. Errors are those of `agent_memory.domain.errors`, given out here as well.
"""

try:
    import httpx as _httpx  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("The client needs httpx: pip install 'agent-memory[client]'", name="httpx") from missing

from agent_memory.domain.errors import (
    AgentMemoryError,
    Conflict,
    Fault,
    Forbidden,
    IfMatchRequired,
    InvalidRequest,
    MethodNotAllowed,
    NotAllowed,
    NotFound,
    Refused,
    Throttled,
    TooLarge,
    ToolRefused,
    Unauthenticated,
    Unavailable,
    Unreachable,
    UnreadableAnswer,
    VersionMismatch,
)

from .agent import Agent
from .auth import Bearer, SigV4
from .memories import Platform
from .memory import AgentMemory
from .messages import Message, ToolCall
from .resending import Resending
from .turn import Turn

__all__ = [
    "Agent",
    "AgentMemory",
    "AgentMemoryError",
    "Bearer",
    "Conflict",
    "Fault",
    "Forbidden",
    "IfMatchRequired",
    "InvalidRequest",
    "Message",
    "MethodNotAllowed",
    "NotAllowed",
    "NotFound",
    "Platform",
    "Refused",
    "Resending",
    "SigV4",
    "Throttled",
    "TooLarge",
    "ToolCall",
    "ToolRefused",
    "Turn",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "UnreadableAnswer",
    "VersionMismatch",
]
