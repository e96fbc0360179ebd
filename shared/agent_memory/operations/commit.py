"""Commit what a turn has come to: in the call that ends it where no review is due, else once its review is done.

One transaction: the turn, its last messages and its transcript, every record that it changes, its history, and the mark
of what its review has read, on the condition that nothing of it has changed since it was read (TU-1). A decision of the
review whose target has changed meanwhile is taken again once by the review, then dropped (TU-8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agent_memory.domain.errors import ConditionFailed, StoreUnavailable
from agent_memory.domain.ports import MAX_ACTIONS, Put, Write
from agent_memory.domain.times import written
from agent_memory.domain.turns import Review, ReviewStatus, Turn, TurnStatus
from agent_memory.store.commits import commit_writes

from .also import Also, nothing
from .enter import Entered, configuration, find_turn
from .keep_history import Kept, kept_of
from .retake import Left, changed_targets, what_stands
from .services import Services
from .staged import View, staged_view
from .unreviewed import leave_unread

TRIES = 64  # each lost try is another writer that was faster, of this turn or of a record that it changes (TU-8): more
# than the calls that a server carries out at once, so that the slowest of them comes through
_MESSAGES_BESIDE = 3_000_000  # bytes of messages that leave room for all changes in a transaction of 4 MB


@dataclass(frozen=True, slots=True)
class Committed:
    """The turn as it stands. by_this_call: false where another was faster, or nothing was to commit. look_again: its
    review has to decide once more before it can commit."""

    turn: Turn
    by_this_call: bool = False
    look_again: bool = False


def commit(services: Services, agent_id: str, turn_id: str, *, error: str | None = None) -> Committed:
    """Commit a turn that is ending, or what a review that was begun anew has decided. Once done it does nothing.

    error: why its review failed, if it did. One that is not done yet is waited for by whoever carries it out: nothing
    is committed before."""
    for _ in range(TRIES):
        turn = find_turn(services, agent_id, turn_id)
        if not turn.is_settling:
            return Committed(turn)
        is_undone = turn.review.status is ReviewStatus.PENDING and not turn.review.has_read
        if is_undone and error is None:
            return Committed(turn, look_again=True)
        reviewed = _failed(turn, error) if is_undone and error else turn
        entered = Entered(turn, configuration(services, turn).config, first=turn.sequence + 1)
        view = staged_view(services, entered)
        if changed_targets(view) and not turn.review.retaken and error is None:
            return Committed(turn, look_again=True)
        standing = what_stands(services, entered, view, reviewed.review, at=written(services.clock.now()))
        try:
            committed = write_commit(services, entered, replace(reviewed, review=standing.review), standing)
        except ConditionFailed:
            continue
        return Committed(committed, by_this_call=True)
    raise busy()


def busy() -> StoreUnavailable:
    return StoreUnavailable("Others kept changing what this turn changes; send it again.")


def write_commit(
    services: Services,
    entered: Entered,
    ended: Turn,
    left: Left,
    messages: Sequence[dict[str, Any]] = (),
    also: Also[Turn] = nothing,
) -> Turn:
    """entered: the turn as it stands. ended: with its last `messages` counted, and what its review came to. left: what
    it changes. Raises `ConditionFailed`. Where messages of many chunks meet many changes they do not fit one
    transaction (DynamoDB takes a hundred actions and 4 MB), and where a message is still on its way the history cannot
    be told yet: then the turn is ending first, with its messages, and commits in a second."""
    turn, turns = entered.turn, services.turns
    said = turns.messages(turn, entered.first, messages)
    kept = _kept(services, entered, messages)
    writes, committed = _commit(services, entered, ended, left, kept or Kept(), also)
    if turn.status is TurnStatus.OPEN and (kept is None or _is_too_much(writes, said)):
        ending = end_first(services, entered, ended, left.view, said)
        return write_commit(services, Entered(ending, entered.config, ending.sequence + 1), ending, left, also=also)
    turns.transact([*writes, *said])
    forgotten = services.records.forget(left.dropped, services.embedder.model)
    services.together(
        lambda: turns.write([*turns.forget_staged(turn, len(left.view.log)), *forgotten]),
        lambda: turns.keep_seen(turn),
    )
    return committed


def _commit(
    services: Services, entered: Entered, ended: Turn, left: Left, kept: Kept, also: Also[Turn]
) -> tuple[list[Write], Turn]:
    turn, turns, now, view = entered.turn, services.turns, services.clock.now(), left.view
    ended = replace(ended, history_events=ended.history_events + kept.events)
    events = [*left.events, *_events(ended, view, at=written(now))]
    committed = _committed(ended, view, now, events)
    writes = [
        turns.change(turn, committed),
        *([turns.closed(turn.turn_id)] if turn.status is TurnStatus.OPEN else []),
        *turns.no_longer_ending(turn),
        turns.nothing_staged_behind(turn, len(view.log)),
        *turns.long_events(turn, ended.sequence + 1, events),
        *leave_unread(services, entered.config, ended),
        *commit_writes(view.settled, view.fingerprints, services.ids.new(now)),
        *kept.writes,
        *also(committed),
    ]
    return writes, committed


def _is_too_much(writes: Sequence[Write], said: Sequence[Put]) -> bool:
    bytes_said = sum(len(put.item["packed"]) for put in said)
    return bool(said) and (len(writes) + len(said) > MAX_ACTIONS or bytes_said > _MESSAGES_BESIDE)


def end_first(
    services: Services,
    entered: Entered,
    ended: Turn,
    view: View,
    said: Sequence[Put],
    *,
    claims: Sequence[Put] = (),
    also: Also[Turn] = nothing,
) -> Turn:
    """The turn is ending from now on, with its last messages: nothing enters it any more, and it commits later."""
    turn, turns = entered.turn, services.turns
    ending = replace(
        ended,
        status=TurnStatus.ENDING,
        outcome="completed",
        ended_at=written(services.clock.now()),
        memories=view.settled.memories(),
    )
    fence = turns.nothing_staged_behind(turn, len(view.log))
    writes: list[Write] = [turns.change(turn, ending), turns.closed(turn.turn_id), *turns.ending(ending), fence]
    turns.transact([*writes, *claims, *said, *also(ending)])
    return ending


def _kept(services: Services, entered: Entered, coming: Sequence[dict[str, Any]]) -> Kept | None:
    """What the session's history gains, once: of a turn that was committed before it has it already. None where a
    message has entered the turn and is not there yet."""
    turn = entered.turn
    if entered.config.history is None or not turn.belongs_to_session or turn.status is TurnStatus.COMMITTED:
        return Kept()
    found = 0

    def all_messages() -> Iterator[Mapping[str, Any]]:
        nonlocal found
        for message in services.turns.each_message(turn.agent_id, turn.turn_id) if turn.messages else ():
            found += 1
            yield message
        yield from ({"sequence": n, **message} for n, message in enumerate(coming, entered.first))

    kept = kept_of(services, turn, entered.config, all_messages(), now=services.clock.now())
    return None if turn.status is TurnStatus.OPEN and found < turn.messages else kept


def _committed(ended: Turn, view: View, now: datetime, events: Sequence[dict[str, Any]]) -> Turn:
    """Of a turn that was committed before, what its new review has added."""
    settled, at = view.settled, written(now)
    is_first = ended.status is not TurnStatus.COMMITTED
    return replace(
        ended,
        status=TurnStatus.COMMITTED,
        outcome="completed",
        ended_at=ended.ended_at or at,
        committed_at=at if is_first else ended.committed_at,
        sequence=ended.sequence + len(events),
        review=_done(ended.review),
        changes=ended.changes + view.changes,
        memories=[*(ended.memories if not is_first else ()), *settled.memories()],
        conflicts=[*ended.conflicts, *settled.conflicts],
    )


def _failed(turn: Turn, error: str | None) -> Turn:
    return replace(turn, review=replace(turn.review, error=error, has_read=True))


def _done(review: Review) -> Review:
    if review.status is not ReviewStatus.PENDING:
        return review
    return replace(review, status=ReviewStatus.FAILED if review.error else ReviewStatus.DONE)


def _events(ended: Turn, view: View, *, at: str) -> list[dict[str, Any]]:
    settled, review = view.settled, ended.review
    conflicts = [{"type": "conflict", "at": at, **conflict} for conflict in settled.conflicts]
    unpinned = [{**told, "type": "pin.unpinned"} for told in conflicts if told["change"] == "pin"]
    failed = {"type": "review", "at": at, "status": "failed", "error": review.error, "attempt": review.tries + 1}
    told = [failed] if review.error else []
    if ended.status is TurnStatus.COMMITTED:
        return [*told, *conflicts, *unpinned]
    memories = [{"id": m["id"], "version": m["version"]} for m in settled.memories()]
    committed = {"type": "turn.committed", "at": at, "memories": memories, "history_events": ended.history_events}
    return [*told, *conflicts, *unpinned, committed]
