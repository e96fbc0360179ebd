"""What a turn was worth: one step of its review (SPEC section 8).

A step reads one window of the messages that the turn has claimed, with the first one the rejections too, has the model
propose and decide, and stages what comes of it in one transaction that also says how far the review is. So a process
that dies between two steps, or before the commit, costs no second call of the model. Where decisions that are staged
have lost their targets meanwhile, the step is to take them again, once (TU-8).

Whoever carries out a turn's end calls it, and `commit`, until the turn is committed; it does nothing where nothing is
to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_memory.domain.errors import ConditionFailed, Unavailable
from agent_memory.domain.ports import Write
from agent_memory.domain.reviewing import decisions
from agent_memory.domain.reviewing.asked import candidates_asked
from agent_memory.domain.reviewing.candidates import CANDIDATES, Candidate, Read, read_candidates
from agent_memory.domain.reviewing.lessons import lesson_of
from agent_memory.domain.reviewing.reading import Wrong
from agent_memory.domain.scopes import TurnIds
from agent_memory.domain.staging import Dropped
from agent_memory.domain.times import written
from agent_memory.domain.turns import ReviewStatus, Turn

from .asking import Asking, Unreadable
from .carrying_out import Decided, Proposal
from .deciding import decide
from .enter import Entered, configuration, find_turn
from .retake import changed_targets, fewer, new_records, without
from .review_events import decision_event
from .services import Services
from .staged import staged_view
from .unread import Lesson, Reading, lessons, owes_lessons, read_next

UNREADABLE = "unreadable"  # why a review has failed: its model's answers could not be read
UNAVAILABLE = "unavailable"  # it, or the embedding model, did not answer


def review(services: Services, agent_id: str, turn_id: str) -> Turn:
    """One step; gives the turn as it stands then. Raises `Unavailable` where a model or the table does not answer:
    nothing is staged then, and the step is to be tried again."""
    turn = find_turn(services, agent_id, turn_id)
    if turn.review.status is not ReviewStatus.PENDING:
        return turn
    asking = Asking(services)
    step = _Step(services, turn, asking)
    try:
        return step.retake() if turn.review.has_read else step.read()
    except ConditionFailed:
        return find_turn(services, agent_id, turn_id)  # another process does the same, and was faster
    except Unreadable:
        return step.fail(UNREADABLE)
    except Unavailable:
        step.tell_usage()
        raise


class _Step:
    def __init__(self, services: Services, turn: Turn, asking: Asking) -> None:
        self.services, self.turn, self.asking = services, turn, asking
        self.config = configuration(services, turn).config
        self.entered = Entered(turn, self.config, first=turn.sequence + 1)
        self.by = turn.writer()

    def read(self) -> Turn:
        reading = read_next(self.services, self.turn)
        owed = lessons(self.services, self.turn, reading)
        answer = self._propose(reading)
        entered = replace(self.entered, turn=self.turn.narrowed(reading.ids))
        decided = decide(self.services, entered, self._proposals(answer, reading, owed), self.asking, by=self.by)
        decided.counts["skipped"] += len(answer.wrong)
        decided.events[:0] = [self._wrong(wrong) for wrong in answer.wrong]
        return self._stage(decided, lessons=len(owed), reading=reading)

    def retake(self) -> Turn:
        """Nothing, unless a target has changed."""
        view, turns = staged_view(self.services, self.entered), self.services.turns
        changed = changed_targets(view)
        if not changed or self.turn.review.retaken:
            return self.turn
        taken_back = [view.log[n] for n in changed]
        kept = [change.decided for change in taken_back if change.decided is not None]
        proposals = [_again(number, decided) for number, decided in enumerate(kept)]
        others = without(self.services, self.entered, view, changed)
        entered = replace(self.entered, turn=self.turn.narrowed(self._ids_of(proposals)))
        decided = decide(self.services, entered, proposals, self.asking, others, by=self.by)
        dropped = [turns.restage(self.turn, n + 1, Dropped()) for n in changed]
        after = replace(self.turn, review=replace(fewer(self.turn.review, taken_back), retaken=True))
        after = self._write(after, decided, dropped)
        turns.write(self.services.records.forget(new_records(taken_back), self.services.embedder.model))
        return after

    def fail(self, error: str) -> Turn:
        """Decisions that were to be taken again have had their chance: the commit drops them (TU-8)."""
        review = self.turn.review
        failed = replace(review, retaken=True) if review.has_read else replace(review, error=error, has_read=True)
        return self._write(replace(self.turn, review=failed), Decided())

    def tell_usage(self) -> None:
        """What was asked has cost, though it came to nothing."""
        if self.asking.usage:
            try:
                self._write(self.turn, Decided())
            except (ConditionFailed, Unavailable):
                return

    # -- the proposals

    def _propose(self, reading: Reading) -> Read[Candidate]:
        if not reading.window:
            return Read(CANDIDATES, whole=True)
        now = self.services.clock.now()
        asked = candidates_asked(self.config, reading.ids, reading.window, now=now, time_zone=self.turn.time_zone)
        return self.asking.ask(
            self.services.reviewer.propose,
            asked,
            lambda text: read_candidates(text, self.config, now=now),
            CANDIDATES,
        )

    def _proposals(self, answer: Read[Candidate], reading: Reading, owed: Sequence[Lesson]) -> list[Proposal]:
        """What people said of the work comes first: there may be no room for all."""
        proposed = [(lesson_of(lesson.feedback, self.config), lesson.about) for lesson in owed]
        proposed += [(candidate, reading.about) for _, candidate in answer.right]
        shared = (reading.ids.user_id, reading.ids.workflow_id)
        return [Proposal(number, candidate, about, shared) for number, (candidate, about) in enumerate(proposed)]

    def _ids_of(self, proposals: Sequence[Proposal]) -> TurnIds:
        """Whom all of them are for."""
        ids = self.turn.ids
        for user_id, workflow_id in (proposal.shared for proposal in proposals):
            ids = ids.shared_with(ids._replace(user_id=user_id, workflow_id=workflow_id))
        return ids

    def _wrong(self, wrong: Wrong) -> dict[str, Any]:
        """Without its text, which nobody may read: what is wrong with it may be just that."""
        at = written(self.services.clock.now())
        told = {"length": wrong.length}
        return decision_event(at, told, source="review", decision="skip", reason=decisions.UNREADABLE)

    # -- what comes of them

    def _stage(self, decided: Decided, *, lessons: int, reading: Reading) -> Turn:
        review = self.turn.review
        has_lessons = review.has_lessons or reading.ids == self.turn.ids
        has_read = not reading.rest and (has_lessons or not owes_lessons(self.turn))
        after = replace(
            self.turn,
            lessons=self.turn.lessons + lessons,
            review=replace(review, claimed=reading.rest, has_lessons=has_lessons, has_read=has_read),
        )
        return self._write(after, decided)

    def _write(self, after: Turn, decided: Decided, writes: Sequence[Write] = ()) -> Turn:
        turns = self.services.turns
        events = [*self.asking.usage, *decided.events]
        counts = {name: getattr(after.review, name) + count for name, count in decided.counts.items()}
        moved = replace(after.review, moved_at=written(self.services.clock.now()), **counts)
        after = replace(after, sequence=self.turn.sequence + len(events), review=moved)
        staged = [turns.stage(self.turn, decided.behind + n, change) for n, change in enumerate(decided.changes, 1)]
        told = turns.long_events(self.turn, self.entered.first, events)
        turns.write(decided.puts)  # before the commit they lead to nothing; a transaction might not take so many
        try:
            turns.transact([turns.change(self.turn, after), *writes, *staged, *told])
        except ConditionFailed:
            turns.write(self.services.records.forget(decided.new, self.services.embedder.model))
            raise
        return after


def _again(number: int, decided: Mapping[str, Any]) -> Proposal:
    candidate = Candidate(**decided["candidate"], lesson=decided["source"] == "lesson")
    return Proposal(number, candidate, decided["about"], tuple(decided["shared"]))
