"""The ends of turns, carried out in the very call that begins them: nothing has to be waited for."""

from __future__ import annotations

from agent_memory.operations.services import Services
from agent_memory.operations.turn_end import carry_out


class AtOnce:
    """services: those that it works with, once they are made. held: turns that were begun are left as they are."""

    def __init__(self) -> None:
        self.services: Services | None = None
        self.held = False
        self.started: list[tuple[str, str, int, str]] = []
        self._begun: set[tuple[str, str, int, str]] = set()

    def start(self, agent_id: str, turn_id: str, tries: int, again: str = "") -> None:
        told = (agent_id, turn_id, tries, again)
        self.started.append(told)
        if not self.held and told not in self._begun:
            self._begun.add(told)
            assert self.services is not None
            carry_out(self.services, agent_id, turn_id)
