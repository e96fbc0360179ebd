"""An agent's configuration: store the next version, read any (CF-7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_memory.domain.configuration import AgentConfig, check_successor
from agent_memory.domain.errors import IfMatchRequired, NotFound, VersionMismatch
from agent_memory.domain.times import written
from agent_memory.store.agents import Configured

from .bind import bind_kinds
from .services import Services


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller says stands now: nothing (`If-None-Match: *`), or a version (`If-Match`)."""

    absent: bool = False
    version: int | None = None
    unreadable: bool = False  # an If-Match that is no version of ours matches none


def configure(
    services: Services, agent_id: str, config: AgentConfig, expected: Expected, *, caller: str
) -> tuple[Configured, bool]:
    """Store a new version. Gives it, or the newest where the body equals it, and whether one was made."""
    newest = services.agents.newest(agent_id)
    _require(expected, newest)
    if newest and newest.config.stored() == config.stored():
        return newest, False
    if newest:
        check_successor(newest.config, config)
        bind_kinds(services, agent_id, newest.config, config)
    version = newest.version + 1 if newest else 1
    configured = Configured(agent_id, version, config, written(services.clock.now()), caller)
    if not services.agents.add(configured):
        raise _mismatch(services.agents.newest(agent_id))
    return configured, True


def configuration_of(services: Services, agent_id: str, version: int | None = None) -> Configured:
    found = services.agents.version(agent_id, version) if version else services.agents.newest(agent_id)
    if found is None:
        raise NotFound("No such agent." if version is None else "No such version of this agent.")
    return found


def _require(expected: Expected, newest: Configured | None) -> None:
    if newest is None:
        if expected.version is not None or expected.unreadable:
            raise _mismatch(None)
        return
    if expected.absent or expected.unreadable:
        raise _mismatch(newest)
    if expected.version is None:
        raise IfMatchRequired("The agent is configured already: If-Match takes the version to follow.")
    if expected.version != newest.version:
        raise _mismatch(newest)


def _mismatch(newest: Configured | None) -> VersionMismatch:
    current: dict[str, Any] = {"version": newest.version if newest else None}
    return VersionMismatch("Another version stands than the one named.", current=current)
