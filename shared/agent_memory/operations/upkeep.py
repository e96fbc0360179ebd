"""What is done by schedule, so that nothing waits for a call that may never come.

Each job works through what is due, oldest first, while `has_time` says so; the next run goes on. They may run beside
each other, and beside everything else: whatever another was faster with is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.floor import MEASURED, measured_floor
from agent_memory.domain.times import instant, written
from agent_memory.domain.turns import ReviewStatus, TurnStatus, as_of, rollback_event, times_out_at
from agent_memory.store import keys

from .commit import commit
from .forget import forget
from .index import Indexed, embed_waiting, index_each
from .index_history import embed_waiting_turns
from .services import Services

HasTime = Callable[[], bool]

LATE = timedelta(minutes=5)  # for a commit to wait: the stream shows it within seconds, and tries again by itself
STUCK = timedelta(minutes=30)  # for a step of a review: one takes minutes, its tries included
BATCH = 100  # commits told at a time, as the stream brings them
PAGE = 100  # rows of each shard of a list


def time_out(services: Services, has_time: HasTime) -> int:
    """Write down the end of turns that were left open for 24 hours (TU-5); gives how many. Every reader takes them for
    rolled back since that instant."""
    done = 0
    seen: set[str] = set()
    while due := [turn for turn in _due(services) if turn[1] not in seen]:
        for agent_id, turn_id in due:
            if not has_time():
                return done
            seen.add(turn_id)
            done += _time_out(services, agent_id, turn_id)
    return done


def resume(services: Services, has_time: HasTime) -> int:
    """Go on with turns whose end was cut off; gives how many. Those that others are at are left to them: a review may
    take a while."""
    done = 0
    for agent_id, turn_id in services.turns.all_ending():
        if not has_time():
            break
        done += _resume(services, agent_id, turn_id)
    return done


def _resume(services: Services, agent_id: str, turn_id: str) -> bool:
    turn = services.turns.get(agent_id, turn_id)
    if turn is None or not turn.is_settling:
        return False
    if turn.review.status is not ReviewStatus.PENDING:
        return commit(services, agent_id, turn_id).by_this_call
    now = services.clock.now()
    is_stuck = instant(turn.review.moved_at or written(now)) + STUCK <= now
    # What runs is not begun again by its name; what could not be begun is begun now.
    services.turn_ends.start(agent_id, turn_id, turn.review.tries, again=f"{now:%Y%m%d%H}" if is_stuck else "")
    return is_stuck


def drain(services: Services, has_time: HasTime, *, older_than: timedelta = LATE) -> Indexed:
    """Show commits in the index that have waited for longer. What breaks the indexing is left, and tried again by the
    next run. Raises `IndexUnavailable`."""
    before = services.clock.now() - older_than
    indexed = Indexed()
    seen: set[str] = set()
    while has_time():
        late = [c for c in services.records.waiting(limit=PAGE) if c.since <= before and c.id not in seen]
        if not late:
            break
        for start in range(0, len(late), BATCH):
            batch = late[start : start + BATCH]
            seen |= {commit.id for commit in batch}
            indexed = indexed.plus(index_each(services, [keys.unindexed(commit.id) for commit in batch]))
            if not has_time():
                break
    return indexed


def embed_all(services: Services, has_time: HasTime) -> int:
    """Embed what waits for the model; gives how many records were. Raises `EmbedderUnavailable` while it is down."""
    total = 0
    while has_time() and (done := embed_waiting(services)):
        total += done
    while has_time() and embed_waiting_turns(services):
        pass
    return total


def keep_floor(services: Services) -> bool:
    """Measure the floor of a model that ships without one, once a deployment (CF-6), whether or not the owner has set
    another meanwhile; gives whether this call did. Raises `EmbedderUnavailable`."""
    embedder, kept = services.embedder, services.deployment
    name = f"{embedder.model}/{embedder.dimensions}"
    if embedder.model in MEASURED or kept.floor(name) is not None:
        return False
    kept.keep_floor(name, measured_floor(embedder))
    return True


def _due(services: Services) -> list[tuple[str, str]]:
    now = services.clock.now()
    return [(agent, turn) for agent, turn in services.turns.longest_open(limit=PAGE) if times_out_at(turn) <= now]


def _time_out(services: Services, agent_id: str, turn_id: str) -> bool:
    turn = services.turns.get(agent_id, turn_id)
    if turn is None or turn.status is not TurnStatus.OPEN:  # ended by a call that did not know the list
        services.turns.write([services.turns.closed(turn_id)])
        return False
    ended, turns = as_of(turn, services.clock.now()), services.turns
    events = turns.events(ended, ended.sequence, [rollback_event(ended)])
    try:
        turns.transact([turns.change(turn, ended), *events, turns.closed(turn_id)])
    except ConditionFailed:
        return False  # a call that came in time, or too late, was at it: the next run looks again
    forget(services, turn)
    return True
