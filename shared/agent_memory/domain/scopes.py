"""Scopes: who a record belongs to, who sees it, and where a new one goes (SC-1, SC-2, SC-3).

A `Place` is one scope of one owner: the border that nothing crosses. All places of a turn come from the turn's own ids
(`places_of`), so nothing that a model sends can widen what it sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from .errors import ToolRefused


class Scope(StrEnum):
    """Narrow to broad."""

    SESSION = "session"
    WORKFLOW = "workflow"
    USER = "user"
    AGENT = "agent"
    PLATFORM = "platform"

    @property
    def breadth(self) -> int:
        return _BREADTH[self]


_BREADTH = {scope: breadth for breadth, scope in enumerate(Scope)}


class Place(NamedTuple):
    """One scope of one owner, for live records or for preview records. `agent_id` is None for platform; `owner` is None
    for agent and platform. What preview turns save lies in a place of its own, which live turns never read (PV-1)."""

    scope: Scope
    agent_id: str | None
    owner: str | None = None
    preview: bool = False

    @property
    def ids(self) -> dict[str, str | None]:
        """The three id fields of a record that lies here."""
        return {
            "session_id": self.owner if self.scope is Scope.SESSION else None,
            "workflow_id": self.owner if self.scope is Scope.WORKFLOW else None,
            "user_id": self.owner if self.scope is Scope.USER else None,
        }

    @property
    def live(self) -> Place:
        return self._replace(preview=False)

    @property
    def trial(self) -> Place:
        """The place beside it where preview turns save."""
        return self._replace(preview=True)


class TurnIds(NamedTuple):
    """Whom a turn is for, as the harness named them, and whether it is a preview turn."""

    agent_id: str
    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    preview: bool = False

    def shared_with(self, other: TurnIds) -> TurnIds:
        """Whom both turns are for: what was said for one user or workflow is not learned for another."""
        return self._replace(
            workflow_id=self.workflow_id if other.workflow_id == self.workflow_id else None,
            user_id=self.user_id if other.user_id == self.user_id else None,
        )

    def place(self, scope: Scope) -> Place | None:
        """Where the turn saves records of that scope; None where it has no id for it."""
        if scope is Scope.PLATFORM:
            return Place(scope, None, preview=self.preview)
        if scope is Scope.AGENT:
            return Place(scope, self.agent_id, preview=self.preview)
        owner = {Scope.SESSION: self.session_id, Scope.WORKFLOW: self.workflow_id, Scope.USER: self.user_id}[scope]
        return Place(scope, self.agent_id, owner, self.preview) if owner is not None else None


def places_of(ids: TurnIds, scopes: Iterable[str]) -> list[Place]:
    """The turn's places of these scopes, narrow to broad; scopes that the turn has no id for are left out (SC-2). A
    preview turn has two of each: first the one for live records, then its own (PV-2)."""
    wanted = sorted({Scope(name) for name in scopes}, key=lambda scope: scope.breadth)
    places = [place for scope in wanted if (place := ids.place(scope))]
    return [each for place in places for each in ([place.live, place] if ids.preview else [place])]


def place_for_new(ids: TurnIds, allowed: Sequence[Scope], chosen: str | None) -> Place:
    """Where a record that the agent saves goes: the chosen scope, else the narrowest that is allowed (SC-3).

    allowed: narrow to broad. Raises `ToolRefused` (scope_not_allowed) naming what could be chosen: nothing lands in a
    broader scope because an id was missing."""
    possible = [scope.value for scope in allowed if ids.place(scope)]
    scope = Scope(chosen) if chosen else next(iter(allowed), None)
    place = ids.place(scope) if scope and scope in allowed else None
    if place is None:
        choices = (
            f"scope takes {', '.join(possible)} here"
            if possible
            else "this turn has no id for any that the agent writes"
        )
        raise ToolRefused("scope_not_allowed", f"That scope cannot be written: {choices}.", argument="scope")
    return place
