"""Begin a turn, another attempt of one (TU-6, TU-7, TU-9), or a replay (HI-5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_memory.domain.errors import ConditionFailed, Conflict, NotAllowed, NotFound, StoreUnavailable
from agent_memory.domain.ports import Write
from agent_memory.domain.times import written
from agent_memory.domain.turns import Turn, TurnStatus, as_of, rollback_event, rolled_back
from agent_memory.store.agents import Configured

from .also import Also, nothing
from .configure import configuration_of
from .enter import configuration
from .forget import forget
from .messages import message_events, said_in
from .replays import original_of, replaying
from .services import Services

_TRIES = 64  # each lost try is another turn of the session that began: more than a server begins at once


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the harness says of a turn; ids left out of a retry or a replay are inherited."""

    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    preview: bool | None = None
    execution_id: str | None = None
    invocation_id: str | None = None
    agent_version: int | None = None
    retry_of: str | None = None
    replay_of: str | None = None
    started_at: str | None = None
    time_zone: str | None = None
    messages: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """still_ending: earlier turns of the session that are ended and not yet committed, oldest first (TU-2)."""

    turn: Turn
    still_ending: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Attempt:
    turn: Turn
    writes: list[Write]
    supersedes: Turn | None = None  # an open attempt that this one rolls back


def begin(services: Services, agent_id: str, beginning: Beginning, *, also: Also[Begun] = nothing) -> Begun:
    """Begin the turn in one transaction; its messages are in it or the turn is not there."""
    configured = configuration_of(services, agent_id)
    for _ in range(_TRIES):
        attempt = _attempt(services, configured, beginning)
        begun = Begun(attempt.turn, _still_ending(services, attempt.turn))
        try:
            services.turns.transact([*attempt.writes, *also(begun)])
        except ConditionFailed:
            continue  # another turn took the number, or another retry was faster: look again
        if attempt.supersedes:
            forget(services, attempt.supersedes)
        return begun
    raise StoreUnavailable("Other turns of this session kept beginning at once; send it again.")


def _attempt(services: Services, newest: Configured, beginning: Beginning) -> _Attempt:
    if beginning.replay_of and beginning.preview is False:
        raise NotAllowed("A replay is a preview turn: leave preview out.", code="replay_is_preview")
    if beginning.retry_of:
        return _retry(services, newest, beginning)
    if beginning.replay_of:
        return _replay(services, newest, beginning, beginning.replay_of)
    version = _version(services, newest, beginning.agent_version)
    _check_session(version, beginning.session_id)
    turn = _new_turn(services, version, beginning)
    writes: list[Write] = []
    if turn.session_id is not None:
        session, commits = services.sessions.with_commits(turn.agent_id, turn.session_id)
        turn = replace(turn, number=session.turns + 1 if session else 1, commits_before=commits)
        writes += services.sessions.take_turn(session, turn)
    return _Attempt(*_with_messages(services, turn, beginning, writes))


def _still_ending(services: Services, turn: Turn) -> list[str]:
    return [] if turn.session_id is None else services.turns.ending_in_session(turn.ids)


def _retry(services: Services, newest: Configured, beginning: Beginning) -> _Attempt:
    named = _named(services, newest.agent_id, beginning.retry_of or "", argument="retry_of")
    previous_id = services.turns.newest_attempt(newest.agent_id, named.first_turn_id)
    previous = services.turns.get(newest.agent_id, previous_id) or named
    if previous.status in (TurnStatus.COMMITTED, TurnStatus.ENDING):
        message = f"The turn's newest attempt is {previous.status.value}: it is not retried."
        raise Conflict(message, code="not_retryable")
    turn = _next_attempt(services, newest, beginning, previous)
    writes: list[Write] = [services.turns.take_attempt(turn, previous.turn_id)]
    supersedes = previous if previous.status is TurnStatus.OPEN else None
    if supersedes:
        writes += _superseding(services, supersedes)
    return _Attempt(*_with_messages(services, turn, beginning, writes), supersedes)


def _next_attempt(services: Services, newest: Configured, beginning: Beginning, previous: Turn) -> Turn:
    inherited = _inherit(previous, beginning, "session_id", "workflow_id", "user_id", "preview")
    _check_same_original(services, previous, beginning)
    version = _version(services, newest, beginning.agent_version or _version_kept(previous))
    _check_session(version, inherited.session_id)
    turn = replace(
        _new_turn(services, version, inherited),
        first_turn_id=previous.first_turn_id,
        attempt=previous.attempt + 1,
        number=previous.number,
        retry_of=beginning.retry_of,
        rejections=previous.rejections,
    )
    if previous.replay_of:
        return replaying(turn, previous)
    commits = services.sessions.commits(turn.agent_id, turn.session_id) if turn.session_id is not None else 0
    return replace(turn, commits_before=commits)


def _check_same_original(services: Services, previous: Turn, beginning: Beginning) -> None:
    """Another attempt of a replay is a replay of the same turn, whether or not it says so."""
    if beginning.replay_of is None:
        return
    named = _named(services, previous.agent_id, beginning.replay_of, argument="replay_of")
    if original_of(named) != previous.replay_of:
        raise NotAllowed("replay_of: a retry takes the same as its turn.", code="retry_mismatch")


def _version_kept(previous: Turn) -> int | None:
    """A turn is tried again on the newest version, a replay on its own."""
    return previous.agent_version if previous.replay_of else None


def _replay(services: Services, newest: Configured, beginning: Beginning, replay_of: str) -> _Attempt:
    """It begins on the version of the turn that it replays, where none is given: what a turn sees, its version says."""
    named = _named(services, newest.agent_id, replay_of, argument="replay_of")
    inherited = _inherit(named, beginning, "session_id", "workflow_id", "user_id")
    version = _version(services, newest, beginning.agent_version or named.agent_version)
    _check_session(version, inherited.session_id)
    turn = replaying(_new_turn(services, version, replace(inherited, preview=True)), named)
    return _Attempt(*_with_messages(services, turn, beginning, []))


def _named(services: Services, agent_id: str, turn_id: str, *, argument: str) -> Turn:
    turn = services.turns.get(agent_id, turn_id)
    if turn is None:
        raise NotFound(f"{argument} takes a turn of this agent.")
    return turn


def _superseding(services: Services, previous: Turn) -> list[Write]:
    """Ends the open attempt; one whose time was over already timed out (TU-5)."""
    now, turns = services.clock.now(), services.turns
    present = as_of(previous, now)
    ended = present if present is not previous else rolled_back(previous, "superseded", written(now))
    events = turns.events(ended, ended.sequence, [rollback_event(ended)])
    return [turns.change(previous, ended), *events, turns.closed(previous.turn_id)]


def _inherit(named: Turn, beginning: Beginning, *names: str) -> Beginning:
    """A retry and a replay are for the same session, workflow and user as their turn, a retry with the same preview;
    other values are refused (TU-6)."""
    given = {name: getattr(beginning, name) for name in names}
    same = {name: getattr(named, name) for name in names}
    if differing := [name for name, value in given.items() if value is not None and value != same[name]]:
        message = f"{', '.join(differing)}: a retry or a replay takes the same as its turn."
        raise NotAllowed(message, code="retry_mismatch")
    return replace(beginning, **same)


def _new_turn(services: Services, configured: Configured, beginning: Beginning) -> Turn:
    now = services.clock.now()
    turn_id = services.ids.new(now)
    return Turn(
        agent_id=configured.agent_id,
        turn_id=turn_id,
        first_turn_id=turn_id,
        attempt=1,
        agent_version=configured.version,
        execution_id=beginning.execution_id or turn_id,
        invocation_id=beginning.invocation_id,
        started_at=beginning.started_at or written(now),
        time_zone=beginning.time_zone or "UTC",
        session_id=beginning.session_id,
        workflow_id=beginning.workflow_id,
        user_id=beginning.user_id,
        preview=bool(beginning.preview),
    )


def _with_messages(
    services: Services, turn: Turn, beginning: Beginning, writes: list[Write]
) -> tuple[Turn, list[Write]]:
    count = len(beginning.messages)
    turn = replace(turn, sequence=count, messages=count, said=said_in(beginning.messages))
    events = message_events(services, beginning.messages, configuration(services, turn).config)
    return turn, [*services.turns.begin(turn), *writes, *services.turns.messages(turn, 1, events)]


def _version(services: Services, newest: Configured, wanted: int | None) -> Configured:
    if wanted is None or wanted == newest.version:
        return newest
    found = services.agents.version(newest.agent_id, wanted)
    if found is None:
        raise NotAllowed("agent_version takes a version that was stored.", code="unknown_version")
    return found


def _check_session(configured: Configured, session_id: str | None) -> None:
    if configured.config.sessions and session_id is None:
        raise NotAllowed("This agent has sessions: session_id is required.", code="session_required")
    if not configured.config.sessions and session_id is not None:
        raise NotAllowed("This agent has no sessions: leave session_id out.", code="session_not_allowed")
