"""The sessions of an agent, the one that began last first (route 17)."""

from __future__ import annotations

from typing import Any

from agent_memory.domain.cursors import cursor
from agent_memory.domain.times import written
from agent_memory.domain.ulids import made_at
from agent_memory.store.sessions import Session

from .configure import configuration_of
from .paging import behind
from .services import Services


def list_sessions(
    services: Services,
    agent_id: str,
    *,
    session_id: str | None = None,
    user_id: str | None = None,
    limit: int = 50,
    after: str | None = None,
) -> dict[str, Any]:
    """user_id: only sessions in which the user had a turn. Raises `NotFound`."""
    binding = ["sessions", agent_id, session_id, user_id]
    before = behind(after, binding)
    if session_id is not None:
        return {"sessions": [_answer(s) for s in _named(services, agent_id, session_id, user_id)], "next": None}
    listed = services.sessions.newest_first(agent_id, user_id=user_id, before=before, limit=limit + 1)
    if not listed:
        configuration_of(services, agent_id)  # says so where there is no such agent
    sessions = services.sessions.several(agent_id, [id for _, id in listed[:limit]])
    more = cursor(listed[limit - 1][0], binding) if len(listed) > limit else None
    return {"sessions": [_answer(session) for session in sessions], "next": more}


def _named(services: Services, agent_id: str, session_id: str, user_id: str | None) -> list[Session]:
    """The session, if the user had a turn in it."""
    session = services.sessions.get(agent_id, session_id)
    if session is None:
        configuration_of(services, agent_id)
        return []
    has_user = user_id is None or services.sessions.has_user(agent_id, session, user_id)
    return [session] if has_user else []


def _answer(session: Session) -> dict[str, Any]:
    """Nothing closes a session yet. Its times are those at which its turns were begun here, as their ids tell."""
    return {
        "session_id": session.session_id,
        "status": "open",
        "turns": session.turns,
        "first_turn_at": written(made_at(session.first_turn_id)),
        "last_turn_at": written(made_at(session.last_turn_id)),
        "closed_at": None,
    }
