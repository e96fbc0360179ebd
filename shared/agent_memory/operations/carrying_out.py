"""Carries out what a review has decided: into the turn's log, one decision after another (EX-1, EX-9, TU-5).

The door is that of the tools (`save`): what it refuses a tool, a review skips, with the code as the reason. Leaves to
`deciding` what is decided, and to `review` to write what came of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from agent_memory.domain.errors import ToolRefused
from agent_memory.domain.ports import Put
from agent_memory.domain.records import Record, Status, fingerprint_of
from agent_memory.domain.reviewing import decisions
from agent_memory.domain.reviewing.candidates import Candidate
from agent_memory.domain.reviewing.compared import Compared, Neighbour
from agent_memory.domain.reviewing.decisions import Add, Decision, Delete, Replace, Skip, restated
from agent_memory.domain.reviewing.taking_over import taken_over
from agent_memory.domain.scopes import Scope, place_for_new
from agent_memory.domain.staging import Confirm, Hide, Save, Settled, Staged
from agent_memory.domain.text import has_refused
from agent_memory.domain.times import written
from agent_memory.domain.tool_inputs import AddMemory
from agent_memory.domain.tools import savable_scopes
from agent_memory.domain.turns import MAX_CHANGES, MAX_CONFIRMED

from .asking import Asking
from .embed import embed_record
from .enter import Entered
from .neighbours import Neighbourhood
from .new_record import new_record
from .review_events import decision_event
from .save import meeting, removal
from .services import Services
from .staged import MOST_ACTIONS, view_of

MOST_TOLD_BYTES = 1_000_000  # of candidates in the transcript: what is staged beside them takes up to two of 4 MB


@dataclass(frozen=True, slots=True)
class Proposal:
    """number: by which a decision names it. about: the users whose words it rests on. shared: the user and the workflow
    that it is for."""

    number: int
    candidate: Candidate
    about: Sequence[str]
    shared: tuple[str | None, str | None] = (None, None)

    @property
    def source(self) -> str:
        return "lesson" if self.candidate.lesson else "review"

    def kept(self) -> dict[str, Any]:
        """What a later decision has to know of it."""
        return {
            "candidate": self.candidate.as_json(),
            "source": self.source,
            "about": list(self.about),
            "shared": list(self.shared),
        }


@dataclass
class Decided:
    """What came of proposals. changes: for the log, in order, behind as many as it has; puts: what lies in the memory
    table before the commit; events: one for each proposal; counts: by the names of a turn's review."""

    behind: int = 0
    changes: list[Staged] = field(default_factory=list)
    new: list[Record] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


class CarryingOut:
    """Takes decisions one after another, each over what those before it have changed."""

    def __init__(
        self, services: Services, entered: Entered, near: Neighbourhood, asking: Asking, by: Mapping[str, Any]
    ) -> None:
        self.services, self.entered, self.asking = services, entered, asking
        self.known, self.view = near.records, near.view
        self.by = by
        self.decided = Decided(len(near.view.log))
        self._told_before = sum(isinstance(change, Confirm) for change in near.view.log)
        self._confirmed: set[str] = set()
        self._told_bytes = 0

    def carry_out(self, proposal: Proposal, decision: Decision, compared: Compared) -> None:
        decision = self._led_on(decision)
        try:
            self._carry_out(proposal, decision, compared)
        except ToolRefused as refused:
            decision = Skip(refused.code, getattr(decision, "memory_id", None))
        self._tell(proposal, decision, compared.neighbours)

    def _carry_out(self, proposal: Proposal, decision: Decision, compared: Compared) -> None:
        match decision:
            case Add():
                self._save(proposal, proposal.candidate, None)
            case Replace(id):
                target = self.view.settled.after.get(id) or self.known[id]
                self._save(proposal, self._broadened(proposal.candidate, target), target)
            case Delete(id):
                standing = self._standing(self.known[id])
                if standing is None or standing.id != id:
                    raise ToolRefused("not_active", "Another decision has taken it away.")
                change, gone = removal(self.services, self.entered, self.known[id], self.by, proposal.source)
                self._stage(replace(change, decided=proposal.kept()))
                if isinstance(change, Hide):
                    self._bring(gone)
            case Skip():
                self._confirm(self.known.get(restated(decision, compared) or ""))
            case _:
                assert_never(decision)

    def _broadened(self, candidate: Candidate, target: Record) -> Candidate:
        """A correction whose scope is not stated is for whom the record was that it corrects."""
        return candidate if candidate.scope else replace(candidate, scope=target.place.scope.value)

    def _save(self, proposal: Proposal, candidate: Candidate, target: Record | None) -> None:
        request = _request(candidate, target, self.entered)
        record = self._record(proposal, request)
        if target:
            self._check_target(target, record)
        places = {target.id: target.place} if target else {}
        draft = Save(record, places, request.expires_at, decided=proposal.kept() if target else None)
        try:
            save, _ = meeting(self.services, self.entered, self.view, draft)
        except ToolRefused as refused:
            if refused.code != "pin_over_budget":
                raise
            draft = replace(draft, record=replace(record, pinned=False))  # it is taken over only if it still fits
            save, _ = meeting(self.services, self.entered, self.view, draft)
        self._stage(save)
        vectors, usage = embed_record(self.services, save.record)
        self.asking.embedded(usage)
        self._bring(save.record, vectors, fingerprint_of(save.record, request.expires_at))

    def _record(self, proposal: Proposal, request: AddMemory) -> Record:
        config, turn = self.entered.config, self.entered.turn
        place = place_for_new(turn.ids, savable_scopes(config), request.scope)
        return new_record(
            self.services,
            request,
            place,
            config,
            status=Status.PENDING if place.scope is Scope.PLATFORM else Status.ACTIVE,
            source=proposal.source,
            by=self.by,
            about=proposal.about,
            now=self.services.clock.now(),
        )

    def _confirm(self, known: Record | None) -> None:
        """What is told again is confirmed, where the agent writes: it is younger from then on (UP-1)."""
        if known is None or known.id in self._confirmed | set(self.view.settled.after):
            return
        if not known.is_to_confirm(self.services.clock.now()):
            return
        is_own_mode = known.preview == self.entered.turn.preview
        is_touched = known.place in self.entered.writable and known.place.scope is not Scope.PLATFORM
        has_room = self._told_before + len(self._confirmed) < MAX_CONFIRMED
        if is_own_mode and is_touched and has_room and not self.entered.is_broader(known):
            self._confirmed.add(known.id)
            self.decided.changes.append(Confirm(known.id, known.place, self.by))

    def _stage(self, change: Staged) -> None:
        if self.entered.turn.changes + self.view.changes + change.changes > MAX_CHANGES:
            raise ToolRefused(decisions.TURN_FULL, "The turn takes no more changes.")
        view = view_of(self.services, self.entered, [*self.view.log, change], self.view.settled.standing)
        if view.actions - self._told_before > MOST_ACTIONS:  # confirmations of earlier windows give way to it
            raise ToolRefused(decisions.TURN_FULL, "One transaction takes no more of them.")
        self._check_protected(view.settled)
        self.view = view
        self.decided.changes.append(change)

    def _bring(self, record: Record, vectors: Sequence[bytes] = (), fingerprint: str | None = None) -> None:
        self.decided.new.append(record)
        self.decided.puts += self.services.records.stage(record, vectors, self.services.embedder.model, fingerprint)

    def _led_on(self, decision: Decision) -> Decision:
        """An earlier decision may have taken the target of a replace: it replaces what took its place, and is added
        where that was nothing (TU-8). What others change meanwhile the commit finds."""
        if not isinstance(decision, Replace):
            return decision
        standing = self._standing(self.known[decision.memory_id])
        return Replace(standing.id, decision.reason) if standing else Add(decision.reason)

    def _standing(self, record: Record) -> Record | None:
        """The record where it is there still, else what has taken its place."""
        settled = self.view.settled
        stands = settled.after.get(record.id, record)
        hidden = settled.hidden.get(record.id)
        successor = hidden.by if hidden else stands.replaced_by
        if hidden is None and stands.status is Status.ACTIVE:
            return stands
        following = settled.after.get(successor) if successor else None
        return self._standing(following) if following and following.status is not Status.DELETED else None

    def _check_target(self, target: Record, new: Record) -> None:
        if target.place.scope.breadth > new.place.scope.breadth:
            raise ToolRefused("broader_target", "A record cannot replace one of a broader scope.")

    def _check_protected(self, settled: Settled) -> None:
        """A decision on a constraint is none; one of its kind with its key would still take its place (EX-9)."""
        for id in _taken_away(settled) - _taken_away(self.view.settled):
            record = settled.after.get(id) or settled.standing.records[id]
            if self.entered.is_broader(record) or record.place.scope is Scope.PLATFORM:
                raise ToolRefused(decisions.PROTECTED, "A review takes no constraint and no platform record away.")

    def _tell(self, proposal: Proposal, decision: Decision, near: Sequence[Neighbour]) -> None:
        name = type(decision).__name__.lower()
        self.decided.counts[_COUNTED[name]] += 1
        self.decided.events.append(
            decision_event(
                written(self.services.clock.now()),
                self._shown(proposal.candidate, decision),
                source=proposal.source,
                decision=name,
                reason=decision.reason,
                memory_id=getattr(decision, "memory_id", None),
                near=near,
            )
        )

    def _shown(self, candidate: Candidate, decision: Decision) -> dict[str, Any]:
        """Of one that is refused, and of those for which a transaction has no room, how long it is (EX-7)."""
        if decision == Skip(decisions.GATE):
            field = "summary" if has_refused(candidate.summary) else "content"
            return {"length": len(getattr(candidate, field)), "field": field, "kind": "characters"}
        as_json = candidate.as_json()
        self._told_bytes += len(json.dumps(as_json, ensure_ascii=False).encode())
        return {"candidate": as_json} if self._told_bytes <= MOST_TOLD_BYTES else {"length": len(candidate.summary)}


def _taken_away(settled: Settled) -> set[str]:
    ended = {id for id, record in settled.after.items() if record.status in (Status.SUPERSEDED, Status.DELETED)}
    return ended | settled.hidden.keys()


_COUNTED = {"add": "added", "replace": "replaced", "delete": "deleted", "skip": "skipped"}


def _request(candidate: Candidate, target: Record | None, entered: Entered) -> AddMemory:
    """As a tool would save it. What replaces a record takes over what the candidate does not state (EX-9)."""
    names = ("content", "labels", "scope", "memory_key", "priority", "occurred_at", "expires_at")
    stated = {name: value for name in names if (value := getattr(candidate, name)) is not None}
    if target:
        stated |= {**taken_over(candidate, target, entered.config), "replaces": (target.id,)}
    return AddMemory(summary=candidate.summary, kind=candidate.kind, **stated)
