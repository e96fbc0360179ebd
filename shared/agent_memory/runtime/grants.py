"""What a grant is, and which routes it opens: the one reading of `Route.grants`, for IAM policies and for the tokens of
one machine alike (GR-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .routes import Route

Grant = Literal[
    "RUN",
    "SELECT",
    "CONFIGURE",
    "OPERATE",
    "APPROVE",
    "SELECT+INSERT",
    "SELECT+UPDATE",
    "SELECT+UPDATE+APPROVE",
]
"""Parts that are joined by a plus must all be held; SELECT has two halves itself."""

Part = Literal["RUN", "SELECT-indexes", "SELECT-document", "UPDATE", "INSERT", "CONFIGURE", "OPERATE", "APPROVE"]
"""What can be given to a caller, for agents that are named."""

SELECT_HALVES: Mapping[str, Part] = {"indexes": "SELECT-indexes", "document": "SELECT-document"}

ALL_AGENTS, PLATFORM_AGENT = "*", "platform"
"""In place of an agent's id: all agents, those of tomorrow too but not platform; and platform."""


def ways(route: Route) -> list[frozenset[Part]]:
    """The sets of parts, each of which opens the route; none for a route that is open to any caller."""
    return [frozenset(part for grant in spelled.split("+") for part in _parts(grant)) for spelled in route.grants]


def concerns(route: Route, agent: str) -> bool:
    """Whether a grant for this agent (an id, `ALL_AGENTS`, `PLATFORM_AGENT`) can open the route, for it. Routes of no
    agent belong to a grant for all; those without grants come with any."""
    if not route.grants:
        return True
    if route.resource.startswith("/v1/platform/"):
        return agent == PLATFORM_AGENT
    if "agent" in route.parameters:
        return agent != PLATFORM_AGENT
    return agent == ALL_AGENTS


def _parts(grant: str) -> tuple[Part, ...]:
    return tuple(SELECT_HALVES.values()) if grant == "SELECT" else (grant,)  # type: ignore[return-value]
