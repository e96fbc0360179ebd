"""What is kept once for the whole deployment: when each part last ran, measured floors, and how far a new index is."""

from __future__ import annotations

from dataclasses import dataclass

from agent_memory.domain.ports import Delete, Put, Table

from . import keys


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a new index, by its name: all records of the agents before `agent` (in order) are told, and of this one those
    from the newest down to `before`, which is for whoever fills the index to read."""

    index: str
    agent: str
    before: str | None
    records: int


class Deployment:
    def __init__(self, table: Table) -> None:
        self._table = table

    def last_run(self, part: str) -> str | None:
        item = self._table.get(keys.part_run(part))
        return item["at"] if item else None

    def ran(self, part: str, at: str) -> None:
        self._table.write_many([Put(keys.part_run(part), {"at": at})])

    def floor(self, model: str) -> float | None:
        """The least cosine that was measured for the model (CF-6)."""
        item = self._table.get(keys.floor(model))
        return float(item["floor"]) if item else None

    def keep_floor(self, model: str, floor: float) -> None:
        self._table.write_many([Put(keys.floor(model), {"floor": floor})])

    def progress(self) -> Progress | None:
        """Of the new index that is being filled; None where there is none."""
        item = self._table.get(keys.reindex())
        return Progress(item["index"], item["agent"], item["before"], item["records"]) if item else None

    def keep_progress(self, progress: Progress) -> None:
        item = {"index": progress.index, "agent": progress.agent, "before": progress.before}
        self._table.write_many([Put(keys.reindex(), {**item, "records": progress.records})])

    def forget_progress(self) -> None:
        self._table.write_many([Delete(keys.reindex())])
