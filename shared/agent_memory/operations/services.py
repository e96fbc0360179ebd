"""What an operation works with: the repositories and the ports, made once by `runtime.wiring`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agent_memory.domain.ports import Clock, Embedder, Ids, Reviewer, SearchIndex, TurnEnds
from agent_memory.store.agents import Agents
from agent_memory.store.calls import Calls
from agent_memory.store.deployment import Deployment
from agent_memory.store.history import History
from agent_memory.store.receipts import Receipts
from agent_memory.store.records import Records
from agent_memory.store.sessions import Sessions
from agent_memory.store.turns import Turns


class Together(Protocol):
    """Runs the calls at once where waiting is what costs (AWS), one after the other where it is not (one machine).
    Gives their results in order; the first failure is raised once all have ended."""

    def __call__(self, *calls: Callable[[], Any]) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Services:
    agents: Agents
    records: Records
    turns: Turns
    sessions: Sessions
    calls: Calls
    receipts: Receipts
    deployment: Deployment
    history: History
    index: SearchIndex
    history_index: SearchIndex
    embedder: Embedder
    reviewer: Reviewer
    turn_ends: TurnEnds
    clock: Clock
    ids: Ids
    together: Together
