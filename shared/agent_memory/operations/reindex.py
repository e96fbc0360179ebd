"""A new search index beside the old one, filled from the table and then put in its place; nobody waits for it.

From the moment it exists the index is told of every change twice, so what happens meanwhile is in both. How far the
filling has come is kept in the table: whoever calls next goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from agent_memory.domain.ports import SearchIndex
from agent_memory.store.deployment import Progress

from .index import rebuild
from .index_history import rebuild_history
from .services import Services


class Replaceable(Protocol):
    """An index that another can be filled beside. Raises `IndexUnavailable`."""

    def exists(self) -> bool: ...

    def ensure(self) -> bool: ...

    def start_next(self) -> str: ...

    def beside(self) -> SearchIndex: ...

    def finish_next(self) -> None: ...


class Fill(Protocol):
    """Tells an index of all that an agent has, beginning behind `before`; gives after each page how much that was, and
    where to go on."""

    def __call__(
        self, services: Services, index: SearchIndex, agent_id: str, *, before: str | None
    ) -> Iterator[tuple[int, str]]: ...


def fill_records(
    services: Services, index: SearchIndex, agent_id: str, *, before: str | None
) -> Iterator[tuple[int, str]]:
    return rebuild(replace(services, index=index), agent_id, before=before)


def fill_history(
    services: Services, index: SearchIndex, agent_id: str, *, before: str | None
) -> Iterator[tuple[int, str]]:
    return rebuild_history(replace(services, history_index=index), agent_id, before=before)


def reindex(services: Services, index: Replaceable, fill: Fill = fill_records) -> Iterator[Progress]:
    """Fill and swap; gives how far it is after each page. What stops it half-way loses one page's work."""
    name = index.start_next()
    kept = services.deployment.progress()
    progress = kept if kept and kept.index == name else Progress(name, agent="", before=None, records=0)
    beside = index.beside()
    for agent_id in sorted(services.agents.ids()):
        if agent_id < progress.agent:
            continue
        start = progress.before if agent_id == progress.agent else None
        for records, last in fill(services, beside, agent_id, before=start):
            progress = Progress(name, agent_id, last, progress.records + records)
            services.deployment.keep_progress(progress)
            yield progress
    index.finish_next()
    services.deployment.forget_progress()


def ensure_index(
    services: Services, index: Replaceable, has_time: Callable[[], bool], fill: Fill = fill_records
) -> bool:
    """Have an index; gives whether there is one. An empty one is made only where there is nothing to be found, since
    made later it would pass for whole. Else one is filled from the table, as far as the time goes, then searched."""
    if index.exists():
        return True
    if not services.agents.exist():
        return index.ensure()
    return all(has_time() for _ in reindex(services, index, fill))
