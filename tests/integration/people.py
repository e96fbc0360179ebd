"""What people do beside turns, at the door of the operations: save, delete, restore and approve records."""

from __future__ import annotations

from typing import Any

from world import World

from agent_memory.domain.records import Record
from agent_memory.domain.tool_inputs import AddMemory
from agent_memory.operations import curate
from agent_memory.operations.configure import Expected
from agent_memory.operations.insert import insert
from agent_memory.operations.memories import find_record

BY = {"caller": "a person"}
NOBODY = {"session_id": None, "workflow_id": None, "user_id": None}


def publish(world: World, summary: str, *, kind: str = "fact", **fields: Any) -> str:
    """Save an active record in platform memory; gives its id."""
    request = AddMemory(summary=summary, kind=kind, scope="platform", **fields)
    return insert(world.services, None, request, NOBODY, caller="a person").record.id


def discard(world: World, agent: str | None, id: str) -> Record:
    return curate.discard(world.services, agent, id, Expected(), by=BY)


def restore(world: World, agent: str, id: str) -> Record:
    return curate.restore(world.services, agent, id, Expected(), by=BY)


def approve(world: World, id: str) -> Record:
    version = find_record(world.services, None, id).version
    return curate.decide(world.services, id, Expected(version=version), approve=True, by=BY)


def record_of(world: World, agent: str | None, id: str) -> Record:
    """Any record of the agent, whatever its status; agent None: of platform memory."""
    return find_record(world.services, agent, id)
