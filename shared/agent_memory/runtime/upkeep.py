"""The jobs of upkeep, as both editions run them: in the log and counted, and none keeps another from running.

What a job does stands in `operations.upkeep` and `operations.reindex`; when it is run, the schedule says, or the
one-machine edition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from agent_memory.domain.errors import Unavailable
from agent_memory.domain.times import written
from agent_memory.operations import upkeep
from agent_memory.operations.expire import remove_expired
from agent_memory.operations.expire_history import remove_expired_history
from agent_memory.operations.reindex import ensure_index, fill_history, fill_records
from agent_memory.operations.services import Services
from agent_memory.operations.status import owed
from agent_memory.operations.upkeep import HasTime

from . import metrics
from . import observability as log
from .indexing import tell
from .wiring import services, wired

Job = Callable[[Services, HasTime], None]


def run(has_time: HasTime, *, leave: Collection[str] = ()) -> list[str]:
    """Do all jobs but those named in `leave`; gives the names of those that broke by a fault of ours."""
    broken = [name for name, job in JOBS.items() if name not in leave and not _went_well(name, job, has_time)]
    services().deployment.ran("sweep", written(services().clock.now()))
    return broken


def _went_well(name: str, job: Job, has_time: HasTime) -> bool:
    try:
        job(services(), has_time)
    except Unavailable as error:  # the next run tries again, and what waits meanwhile is measured
        log.warning("upkeep waits", job=name, **log.where(error))
    except Exception as error:
        log.error("upkeep failed", job=name, **log.where(error))
        return False
    return True


def _measure(services: Services, _: HasTime) -> None:
    found = owed(services)
    log.info("backlog", commits=found.commits, oldest_s=found.oldest_s)
    metrics.write({metrics.UNINDEXED: found.commits, metrics.OLDEST_UNINDEXED: found.oldest_s or 0.0})


def _time_out(services: Services, has_time: HasTime) -> None:
    if turns := upkeep.time_out(services, has_time):
        log.info("turns timed out", turns=turns)
        metrics.write({metrics.TIMED_OUT: turns})


def _resume(services: Services, has_time: HasTime) -> None:
    if turns := upkeep.resume(services, has_time):
        log.info("ends resumed", turns=turns)


def _expire(services: Services, has_time: HasTime) -> None:
    if records := remove_expired(services, has_time):
        log.info("records removed", records=records)


def _expire_history(services: Services, has_time: HasTime) -> None:
    if turns := remove_expired_history(services, has_time):
        log.info("history removed", turns=turns)


def _index(services: Services, has_time: HasTime) -> None:
    for make, fill in ((wired().replaceable, fill_records), (wired().replaceable_history, fill_history)):
        if make and not make().exists() and services.agents.exist():
            log.error("index missing, filled from the table; agent-memory reindex does it at once")
        if make and not ensure_index(services, make(), has_time, fill):
            log.warning("index not filled yet")
            return


def _drain(services: Services, has_time: HasTime) -> None:
    indexed = upkeep.drain(services, has_time)
    if indexed.commits or indexed.broken:
        tell(indexed)


def _embed(services: Services, has_time: HasTime) -> None:
    if records := upkeep.embed_all(services, has_time):
        log.info("embedded later", records=records)


def _floor(services: Services, _: HasTime) -> None:
    if upkeep.keep_floor(services):
        log.info("floor measured", model=services.embedder.model)


JOBS: Mapping[str, Job] = {
    "backlog": _measure,
    "turns": _time_out,
    "ends": _resume,
    "expired": _expire,
    "index": _index,
    "expired history": _expire_history,
    "drain": _drain,
    "embed": _embed,
    "floor": _floor,
}
"""In this order: what is cheap and must not be missed first."""
