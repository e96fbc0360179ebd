"""What the turn received, said and got back: kept as events of its transcript, in order (TU-10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.errors import ConditionFailed, Conflict
from agent_memory.domain.messages import Message
from agent_memory.domain.reviewing.messages import is_reviewed
from agent_memory.domain.times import written
from agent_memory.domain.turns import MAX_MESSAGES, not_open

from .also import Also, nothing
from .enter import enter, find_turn
from .services import Services


def add_messages(
    services: Services,
    agent_id: str,
    turn_id: str,
    messages: Sequence[Message],
    *,
    also: Also[list[dict[str, Any]]] = nothing,
) -> list[dict[str, Any]]:
    """Add messages to an open turn: all of them or none. Gives id and sequence number of each."""
    count, said = len(messages), said_in(messages)
    entered = enter(services, agent_id, turn_id, events=count, messages=count, said=said)
    if entered.turn.messages > MAX_MESSAGES:
        services.turns.enter(agent_id, turn_id, events=0, messages=-count, said=-said)  # not taken, so not counted
        raise full()
    events = message_events(services, messages, entered.config)
    puts = services.turns.messages(entered.turn, entered.first, events)
    added = [{"event_id": e["event_id"], "sequence": n} for n, e in enumerate(events, entered.first)]
    try:
        services.turns.transact([*puts, services.turns.still_open(entered.turn), *also(added)])
    except ConditionFailed as failed:
        if len(puts) in failed.positions:
            raise not_open(find_turn(services, agent_id, turn_id)) from failed
        raise
    return added


def message_events(services: Services, messages: Sequence[Message], config: AgentConfig) -> list[dict[str, Any]]:
    """The events of messages, each with an id of its own and the time that it was kept at. Unless the agent's gate lets
    them pass, secrets are taken out, whether or not a history is kept: the transcript can be read as long (HI-7)."""
    now = services.clock.now()
    at, with_secrets = written(now), not config.memory.gate.secrets
    return [
        {
            "type": "message",
            "event_id": services.ids.new(now),
            "at": at,
            **message.stored(said_at=at, with_secrets=with_secrets),
        }
        for message in messages
    ]


def said_in(messages: Sequence[Message]) -> int:
    """How many of them a review reads."""
    return sum(is_reviewed(vars(message)) for message in messages)


def full() -> Conflict:
    return Conflict(f"A turn takes at most {MAX_MESSAGES:,} messages.", code="turn_full")
