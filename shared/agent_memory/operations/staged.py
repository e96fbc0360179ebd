"""A turn's own view: what it has staged, played over the records as they stand now (TU-3, TU-8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent_memory.domain.needs import needs
from agent_memory.domain.ports import MAX_ACTIONS
from agent_memory.domain.records import Record, fingerprint_of
from agent_memory.domain.scopes import Place
from agent_memory.domain.settling import Rules, settle
from agent_memory.domain.staging import Change, Hidden, Save, Settled, Staged, Standing
from agent_memory.store.commits import commit_writes

from .enter import Entered
from .services import Services

MOST_ACTIONS = MAX_ACTIONS - 16  # of a commit, for records; the rest is for the turn, its transcript, lists and history


@dataclass(frozen=True, slots=True)
class View:
    log: Sequence[Staged]
    settled: Settled

    @property
    def changes(self) -> int:
        return sum(change.changes for change in self.log)

    @property
    def actions(self) -> int:
        """How many of a transaction's actions its commit takes for records."""
        return len(commit_writes(self.settled, self.fingerprints, commit_id="0"))

    def shows(self, record: Record, now: datetime) -> bool:
        """Whether a record is there for the turn: active, neither staged to go nor hidden by preview."""
        gone = record.id in self.settled.gone or self.settled.standing.hider(record.id, now)
        return record.is_active(now) and not gone

    def hides(self, id: str, now: datetime) -> bool:
        """Whether a live record is hidden from this preview turn, by what it has staged or what others saved (PV-2)."""
        return id in self.settled.hidden or self.settled.standing.hider(id, now) is not None

    @property
    def fingerprints(self) -> dict[str, str]:
        """Of what the turn saves, as it is saved: one whose key or pin was not to be had says so no more."""
        after, saves = self.settled.after, [change for change in self.log if isinstance(change, Save)]
        return {c.record.id: fingerprint_of(after[c.record.id], c.given_end) for c in saves if c.record.id in after}


def staged_view(services: Services, entered: Entered) -> View:
    """Read the log, and what it changes. Nothing staged: one query (of a preview turn, one more for each place)."""
    # Where the turn writes and does not look, what hides there is nothing to it (PV-2); the count of changes is: its
    # commit raises it.
    previews = [place for place in dict.fromkeys([*entered.visible, *entered.writable]) if place.preview]
    calls = [lambda place=place: services.records.hidden(place) for place in previews]
    log, *several = services.together(lambda: services.turns.staged(entered.turn), *calls)
    hidden: dict[str, list[Hidden]] = {}
    hiding: dict[Place, int] = {}
    for place, (changes, found) in zip(previews, several, strict=True):
        hiding[place] = changes
        for id, some in found.items() if place in entered.visible else ():
            hidden.setdefault(id, []).extend(some)
    return view_of(services, entered, log, Standing(hidden=hidden, hiding=hiding))


def view_of(services: Services, entered: Entered, log: Sequence[Staged], standing: Standing) -> View:
    """The view with this log. standing: what is known already, and need not be read again; it may be old, since a
    commit is conditional on all of it."""
    now = services.clock.now()
    rules = _rules(entered, now)
    standing = standing_for(services, entered.turn.agent_id, log, standing, rules)
    return View(log, settle(log, standing, rules, now))


def _rules(entered: Entered, now: datetime) -> Rules:
    pinned = entered.config.memory.pinned
    return Rules(
        is_broader=entered.is_broader,
        places=[*entered.visible, *entered.binding],
        reachable=entered.reachable,
        sees=entered.sees,
        has_faded=lambda record: not entered.recalls(record, now),
        pin_tokens=pinned.max_tokens if pinned else None,
    )


def standing_for(
    services: Services, agent_id: str | None, log: Sequence[Change], known: Standing, rules: Rules
) -> Standing:
    """What the log meets. One read where, as nearly always, nothing was replaced meanwhile; one more for each link of
    the longest chain of records and keys that lead to one another."""
    looked_for = set(known.records)
    while True:
        wanted = needs(log, known, rules)
        ids = {id: place for id, place in wanted.records.items() if id not in looked_for}
        holders, boards = wanted.holders - known.holders.keys(), wanted.boards - known.boards.keys()
        if not (ids or holders or boards):
            return known
        looked_for |= set(ids)
        found = services.records.look(_located(services, agent_id, ids), holders, boards)
        known = replace(
            known,
            records={**known.records, **found.records},
            holders={**known.holders, **found.holders},
            boards={**known.boards, **found.boards},
        )


def _located(services: Services, agent_id: str | None, ids: Mapping[str, Place | None]) -> dict[str, Place]:
    unknown = [id for id, place in ids.items() if place is None]
    found = services.records.locate(agent_id, unknown) if unknown else {}
    return {id: place for id, place in ids.items() if place} | found
