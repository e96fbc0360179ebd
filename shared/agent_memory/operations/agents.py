"""Which agents there are (route 5)."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.cursors import cursor

from .paging import behind
from .services import Services


def list_agents(services: Services, *, limit: int = 50, after: str | None = None) -> dict[str, Any]:
    """In the order of their ids, each with its newest version and when it was first configured."""
    binding = ["agents"]
    several = services.agents.listed(behind=behind(after, binding), limit=limit + 1)
    more = cursor(several[limit - 1][0], binding) if len(several) > limit else None
    return {"agents": [_answer(services, id, created_at) for id, created_at in several[:limit]], "next": more}


def _answer(services: Services, agent_id: str, created_at: str) -> dict[str, Any]:
    newest = services.agents.newest(agent_id)
    return {"agent_id": agent_id, "version": newest.version if newest else 1, "created_at": created_at}
