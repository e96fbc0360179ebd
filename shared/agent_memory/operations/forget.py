"""Take away what a turn that was rolled back had staged."""

from __future__ import annotations

from agent_memory.domain.staging import Hide, Save
from agent_memory.domain.turns import Turn

from .services import Services


def forget(services: Services, turn: Turn) -> None:
    log = services.turns.staged(turn)
    new = [change.record for change in log if isinstance(change, Save | Hide)]
    if log:
        services.turns.write(
            [
                *services.turns.forget_staged(turn, len(log)),
                *services.records.forget(new, services.embedder.model),
            ]
        )
