"""Sessions in the execution table: how many turns each has, when, and the lists that lead to them.

A session is listed by the turn that was its first: that id never changes, and newest first is a backward query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent_memory.domain.ports import Absent, Equals, Item, Key, Put, Table
from agent_memory.domain.scopes import TurnIds
from agent_memory.domain.turns import Turn

from . import keys


@dataclass(frozen=True, slots=True)
class Session:
    """turns: how many began, which is the last number; a turn that is tried again counts once."""

    session_id: str
    turns: int
    first_turn_id: str
    last_turn_id: str
    last_user_id: str | None

    def with_turn(self, turn: Turn) -> Session:
        return Session(self.session_id, self.turns + 1, self.first_turn_id, turn.turn_id, turn.user_id)


class Sessions:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, agent_id: str, session_id: str) -> Session | None:
        item = self._table.get(_key(agent_id, session_id))
        return _session(session_id, item) if item else None

    def with_commits(self, agent_id: str, session_id: str) -> tuple[Session | None, int]:
        """It, and how many of its turns have kept something in its history: one read."""
        key, counted = _key(agent_id, session_id), keys.session_commits(agent_id, session_id)
        found = self._table.get_many([key, counted])
        session = _session(session_id, found[key]) if key in found else None
        return session, found[counted]["count"] if counted in found else 0

    def several(self, agent_id: str, ids: Iterable[str]) -> list[Session]:
        """In that order."""
        by_key = {_key(agent_id, id): id for id in ids}
        found = self._table.get_many(by_key)
        return [_session(id, found[key]) for key, id in by_key.items() if key in found]

    def take_turn(self, before: Session | None, turn: Turn) -> list[Put]:
        """The turn has the number after the last: numbers are taken one by one, so none is used twice or left out. The
        rows of the lists are written with the session's first turn, and where its user changes."""
        begun = Session(turn.session_id or "", 1, turn.turn_id, turn.turn_id, turn.user_id)
        session = before.with_turn(turn) if before else begun
        condition = Equals("number", before.turns) if before else Absent()
        listed = [] if before else [keys.listed_session(turn.agent_id, turn.turn_id)]
        if turn.user_id is not None and (before is None or before.last_user_id != turn.user_id):
            listed.append(keys.users_session(turn.agent_id, turn.user_id, session.first_turn_id))
        taken = Put(_key(turn.agent_id, session.session_id), _item(session), condition)
        return [taken, *(Put(key, {"session_id": session.session_id}) for key in listed)]

    def commits(self, agent_id: str, session_id: str) -> int:
        """How many of its turns have kept something in its history."""
        item = self._table.get(keys.session_commits(agent_id, session_id))
        return item["count"] if item else 0

    def count_commit(self, agent_id: str, session_id: str, before: int) -> Put:
        """One more than `before`, which it fails on where another was faster: each has a count of its own."""
        unchanged = Equals("count", before) if before else Absent()
        return Put(keys.session_commits(agent_id, session_id), {"count": before + 1}, unchanged)

    def newest_first(
        self, agent_id: str, *, user_id: str | None, before: str | None, limit: int
    ) -> list[tuple[str, str]]:
        """(first turn, session) of sessions whose first turn is older than `before`, at most `limit`; with `user_id`
        those in which the user had a turn."""
        if user_id is None:
            partition, prefix = keys.listed_session(agent_id, "").partition, ""
        else:
            _, partition, prefix = keys.users_session(agent_id, user_id, "")
        after = prefix + before if before else None
        rows = self._table.query("execution", partition, prefix=prefix, newest_first=True, after=after, limit=limit)
        return [(row.key.sort.removeprefix(prefix), row.item["session_id"]) for row in rows]

    def has_user(self, agent_id: str, session: Session, user_id: str) -> bool:
        """Whether the user had a turn in it."""
        return self._table.get(keys.users_session(agent_id, user_id, session.first_turn_id)) is not None


def _key(agent_id: str, session_id: str) -> Key:
    return keys.session(TurnIds(agent_id, session_id))


def _item(session: Session) -> Item:
    item: Item = {
        "number": session.turns,
        "first_turn_id": session.first_turn_id,
        "last_turn_id": session.last_turn_id,
    }
    return item | ({"last_user_id": session.last_user_id} if session.last_user_id is not None else {})


def _session(session_id: str, item: Item) -> Session:
    return Session(session_id, item["number"], item["first_turn_id"], item["last_turn_id"], item.get("last_user_id"))
