"""An agent's configurations as the API shows them, and the list of their versions."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.cursors import cursor
from agent_memory.store.agents import Configured

from .configure import configuration_of
from .paging import behind_number
from .services import Services


def configuration_answer(configured: Configured, *, unchanged: bool = False) -> dict[str, Any]:
    """Whole, with all defaults filled in."""
    shown = {"agent_id": configured.agent_id, **_version(configured), "config": configured.config.stored()}
    return {**shown, "unchanged": unchanged}


def list_versions(services: Services, agent_id: str, *, limit: int = 50, after: str | None = None) -> dict[str, Any]:
    """Newest first, without the configurations themselves."""
    binding = ["config", agent_id]
    several = services.agents.versions(agent_id, before=behind_number(after, binding), limit=limit + 1)
    if not several:
        configuration_of(services, agent_id)  # says so where there is no such agent
    more = cursor(str(several[limit - 1].version), binding) if len(several) > limit else None
    return {"versions": [_version(configured) for configured in several[:limit]], "next": more}


def _version(configured: Configured) -> dict[str, Any]:
    return {
        "version": configured.version,
        "created_at": configured.created_at,
        "created_by": configured.created_by,
    }
