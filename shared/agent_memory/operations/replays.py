"""What a replay is: a preview turn that runs a turn again over what that turn saw when it began (HI-5).

Any attempt can be replayed, whatever has become of it: each has begun, and so has seen something. A replay of a replay
is one of the same original, since both see the same.
"""

from __future__ import annotations

from dataclasses import replace

from agent_memory.domain.turns import Turn
from agent_memory.store.past_records import PastRecords

from .enter import Entered
from .services import Services


def original_of(turn: Turn) -> str:
    """The turn that a replay of this one replays."""
    return turn.replay_of or turn.turn_id


def replaying(turn: Turn, named: Turn) -> Turn:
    """The new turn as a replay of `named`, or of what `named` replays. It bears its number, and takes none."""
    return replace(
        turn,
        number=named.number,
        replay_of=original_of(named),
        commits_before=named.commits_before,
        replays_preview=named.replays_preview if named.replay_of else named.preview,
    )


def as_seen(services: Services, entered: Entered) -> Services:
    """What a call within the turn works with: of a replay the records are those of then. A commit is no such call: what
    it changes it must find as it is now."""
    turn = entered.turn
    if turn.sees_as_of is None:
        return services
    with_preview, is_broader = turn.replays_preview, entered.is_broader
    past = PastRecords(services.records, turn.sees_as_of, with_preview=with_preview, is_broader=is_broader)
    return replace(services, records=past)
