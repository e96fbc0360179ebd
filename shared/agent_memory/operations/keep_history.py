"""What a turn's commit adds to the history of its session (HI-1, TU-1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.history import HistoryPlace, KeptMessage, KeptTurn, kept_events
from agent_memory.domain.ports import Write
from agent_memory.domain.times import written
from agent_memory.domain.turns import Turn

from .services import Services


@dataclass(frozen=True, slots=True)
class Kept:
    """writes: for the transaction of the commit. events: how many messages are kept."""

    writes: Sequence[Write] = ()
    events: int = 0


def kept_of(
    services: Services, turn: Turn, config: AgentConfig, messages: Iterable[Mapping[str, Any]], *, now: datetime
) -> Kept:
    """messages: all of the attempt, in order, each with its `sequence`, stored or to be; they are taken one by one,
    since their texts together may be more than the memory holds. Nothing is kept without a session, of a replay (HI-5),
    or where the configuration keeps no history. A row with a condition is among the writes: of two turns of a session
    that commit at once one is refused, and looks again."""
    history = config.history
    if history is None or turn.session_id is None or turn.number is None or not turn.belongs_to_session:
        return Kept()
    messages_kept = [
        KeptMessage(event.sequence, event.id, len(event.parts))
        for message in messages
        for event in kept_events([message], history.index)
    ]
    if not messages_kept:
        return Kept()
    place = HistoryPlace(turn.agent_id, turn.session_id, turn.preview)
    commits = services.sessions.commits(turn.agent_id, turn.session_id)
    kept = KeptTurn(
        place,
        turn.number,
        turn.turn_id,
        turn.execution_id,
        history.index,
        commits + 1,
        messages_kept,
        written(now + history.retention.span) if history.retention else None,
    )
    counted = services.sessions.count_commit(turn.agent_id, turn.session_id, commits)
    return Kept([*services.history.keep(kept, services.ids.new(now)), counted], len(messages_kept))
