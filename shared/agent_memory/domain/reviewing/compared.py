"""A candidate beside what is known already: what a decision is taken on (EX-1, EX-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .candidates import Candidate


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A record near a candidate. cosine: None of one that is near by its key alone; writable: whether it lies in a
    scope that the agent writes; protected: whether it is a constraint or of the platform, which no review touches."""

    id: str
    version: int
    summary: str
    content: str | None
    kind: str
    scope: str
    cosine: float | None
    writable: bool
    protected: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """number: by which a decision names the candidate."""

    number: int
    candidate: Candidate
    neighbours: Sequence[Neighbour]

    def neighbour(self, id: str) -> Neighbour | None:
        return next((each for each in self.neighbours if each.id == id), None)
