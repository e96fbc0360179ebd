"""A turn's own view: what it has staged, played over the records as they stand now (TU-3, TU-8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_memory.domain.records import Record, Status
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Save, Settled, Staged, settle, targets

from .enter import Entered
from .services import Services


@dataclass(frozen=True, slots=True)
class View:
    log: Sequence[Staged]
    settled: Settled

    @property
    def changes(self) -> int:
        return sum(change.changes for change in self.log)

    def shows(self, record: Record, now: datetime) -> bool:
        """Whether a record is there for the turn: active, and not staged to go."""
        return record.is_active(now) and record.id not in self.settled.gone

    @property
    def fingerprints(self) -> dict[str, str]:
        return {c.record.id: c.fingerprint for c in self.log if isinstance(c, Save)}


def staged_view(services: Services, entered: Entered) -> View:
    """Read the log, and what it changes. Nothing staged: one query."""
    log = services.turns.staged(entered.turn.agent_id, entered.turn.turn_id)
    present = with_heirs(services, entered.turn.agent_id, targets(log)) if log else {}
    return View(log, settle_now(entered, log, present, services.clock.now()))


def settle_now(entered: Entered, log: Sequence[Staged], present: Mapping[str, Record], now: datetime) -> Settled:
    memory = entered.config.memory
    broader = {kind for kind in memory.kinds if entered.config.precedence(kind) == "broader"}
    return settle(log, present, reachable=entered.reachable, broader_kinds=broader, now=now)


def with_heirs(services: Services, agent_id: str, places: Mapping[str, Place]) -> dict[str, Record]:
    """The records, and what replaced those that are superseded, to the end of each chain. One read where, as nearly
    always, nothing was replaced meanwhile; one more for each link of the longest chain."""
    found = services.records.read(places) if places else {}
    seen = set(places)
    while missing := {r.replaced_by for r in found.values() if r.status is Status.SUPERSEDED and r.replaced_by} - seen:
        seen |= missing
        found |= services.records.read(services.records.locate(agent_id, missing))
    return found
