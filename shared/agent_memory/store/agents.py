"""Configurations of agents: every version is kept; one that was written never changes, so it is cached for good.

Kept as JSON text: the order of kinds and labels is part of what was said, and DynamoDB promises none in its maps."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from agent_memory.domain.configuration import AgentConfig
from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.ports import Absent, Put, Row, Table

from . import keys

_CACHED = 256  # configurations kept by one process: a few KB each


@dataclass(frozen=True, slots=True)
class Configured:
    agent_id: str
    version: int
    config: AgentConfig
    created_at: str
    created_by: str


class Agents:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._cache: OrderedDict[tuple[str, int], Configured] = OrderedDict()

    def newest(self, agent_id: str) -> Configured | None:
        rows = self._table.query("memory", agent_id, prefix=keys.CONFIGURATION, newest_first=True, limit=1)
        return self._kept(agent_id, rows[0]) if rows else None

    def version(self, agent_id: str, version: int) -> Configured | None:
        cached = self._cache.get((agent_id, version))
        if cached:
            return cached
        key = keys.configuration(agent_id, version)
        item = self._table.get(key)
        return self._kept(agent_id, Row(key, item)) if item else None

    def versions(self, agent_id: str, *, before: int | None, limit: int) -> list[Configured]:
        """Newest first, older than `before`."""
        after = keys.configuration(agent_id, before).sort if before else None
        rows = self._table.query(
            "memory", agent_id, prefix=keys.CONFIGURATION, newest_first=True, after=after, limit=limit
        )
        return [_configured(agent_id, row) for row in rows]

    def add(self, configured: Configured) -> bool:
        """Store the next version; False where another one was faster."""
        item = {
            "config": json.dumps(configured.config.stored()),
            "at": configured.created_at,
            "by": configured.created_by,
        }
        puts = [Put(keys.configuration(configured.agent_id, configured.version), item, Absent())]
        if configured.version == 1:
            puts.append(Put(keys.agent(configured.agent_id), {"created_at": configured.created_at}))
        try:
            self._table.transact(puts)
        except ConditionFailed:
            return False
        return True

    def ids(self) -> list[str]:
        """All agents."""
        return [row.key.sort for row in self._table.query("memory", keys.agent("").partition)]

    def listed(self, *, behind: str | None, limit: int) -> list[tuple[str, str]]:
        """(agent, when it was first configured), in the order of their ids, at most `limit` behind that id."""
        rows = self._table.query("memory", keys.agent("").partition, after=behind, limit=limit)
        return [(row.key.sort, row.item["created_at"]) for row in rows]

    def exist(self) -> bool:
        """Whether there is any."""
        return bool(self._table.query("memory", keys.agent("").partition, limit=1))

    def _kept(self, agent_id: str, row: Row) -> Configured:
        """The configuration of a row, checked once: that costs more than to read it."""
        version = _version(row)
        cached = self._cache.get((agent_id, version))
        if cached:
            return cached
        configured = self._cache[agent_id, version] = _configured(agent_id, row)
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return configured


def _configured(agent_id: str, row: Row) -> Configured:
    item: dict[str, Any] = row.item
    config = AgentConfig.model_validate(json.loads(item["config"]))
    return Configured(agent_id, _version(row), config, item["at"], item["by"])


def _version(row: Row) -> int:
    return int(row.key.sort.removeprefix(keys.CONFIGURATION))
