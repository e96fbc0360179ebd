"""Entering a turn: every route of an open turn begins here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.decay import is_recalled
from agent_memory.domain.errors import NotFound
from agent_memory.domain.precedence import is_broader_kind
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import Place, Scope, places_of
from agent_memory.domain.turns import Turn, as_of, not_open
from agent_memory.store.agents import Configured

from .services import Services


@dataclass(frozen=True)
class Entered:
    """An open turn with the configuration that it began on, and the numbers it may give to `events` events."""

    turn: Turn
    config: AgentConfig
    first: int  # the first sequence number that this call has reserved

    @cached_property
    def visible(self) -> list[Place]:
        """Narrow to broad; none with memory off."""
        memory = self.config.memory
        return places_of(self.turn.ids, memory.scope.read) if memory.enabled else []

    @cached_property
    def binding(self) -> list[Place]:
        """Places of which constraints alone are visible: platform, where the turn does not read it anyway (SC-6)."""
        platform = places_of(self.turn.ids, [Scope.PLATFORM]) if self.config.memory.enabled else []
        return [place for place in platform if place not in self.visible]

    @cached_property
    def writable(self) -> list[Place]:
        memory = self.config.memory
        return places_of(self.turn.ids, memory.scope.write) if memory.enabled else []

    @cached_property
    def reachable(self) -> set[Place]:
        """Whose records the turn may replace and delete."""
        return set(self.visible) & set(self.writable)

    def is_broader(self, record: Record) -> bool:
        """Whether the record is of a kind that binds: a constraint while it is active (CF-3, SC-6)."""
        return is_broader_kind(record.kind, self.config, record.place.scope)

    def recalls(self, record: Record, now: datetime) -> bool:
        """Whether the confidence in a record that the turn sees is not too faint (UP-1): now, or for a replay then."""
        now = self.turn.sees_as_of or now
        return is_recalled(record, self.config.memory, now, broader=self.is_broader(record))

    def sees(self, record: Record) -> bool:
        """Whether the record lies where the turn looks, whatever its status (SC-2, SC-6)."""
        return record.place in self.visible or (record.place in self.binding and self.is_broader(record))


def find_turn(services: Services, agent_id: str, turn_id: str) -> Turn:
    """The turn as it is now: one whose time is over has been rolled back (TU-5). Raises `NotFound`."""
    turn = services.turns.get(agent_id, turn_id)
    if turn is None:
        raise NotFound("No such turn of this agent.")
    return as_of(turn, services.clock.now())


def enter(services: Services, agent_id: str, turn_id: str, *, events: int = 0, **counted: int) -> Entered:
    """Reserve `events` sequence numbers in an open turn, and count. Raises `NotFound`, `Conflict` (turn_not_open)."""
    turn = services.turns.enter(agent_id, turn_id, events, **counted)
    if turn is None:
        raise NotFound("No such turn of this agent.")
    if (present := as_of(turn, services.clock.now())) is not turn:
        raise not_open(present)
    return Entered(turn, configuration(services, turn).config, turn.sequence - events + 1)


def configuration(services: Services, turn: Turn) -> Configured:
    configured = services.agents.version(turn.agent_id, turn.agent_version)
    assert configured is not None, "a turn begins on a version that exists, and versions stay"
    return configured
