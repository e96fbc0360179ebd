"""The state of one run: the model, the product on its stage, the turns under way, and what was done so far.

Every step draws from a generator of its own, so that a run from which steps are left out draws the same in the others:
that is how a failing run is made shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from random import Random
from typing import Any, TypeVar

from .door import Door, Reply
from .faults import KINDS, Armed
from .records import Attempt, Config, Rec
from .reference import Memory
from .reviews import Unread
from .stage import Stage

T = TypeVar("T")

AGENTS = ("a1", "a10")  # one id begins with the other
MOST_CALLS_BEFORE_A_FAULT = 8


class Run:
    """often: how likely it is that a call meets a fault. crowded: one place is nearly full of constraints, and turns
    save more of them."""

    def __init__(self, stage: Stage, seed: str, *, often: float) -> None:
        self.stage, self.seed, self.often = stage, seed, often
        self.door, self.memory, self.random = Door(stage), Memory(), Random(seed)
        self.unread = Unread()
        self.configs: dict[str, list[Config]] = {agent: [] for agent in AGENTS}
        self.attempts: list[Attempt] = []
        self.newest: dict[str, Attempt] = {}  # by the id of attempt 1
        self.forgotten: list[str] = []  # records that were staged by turns which came to nothing
        self.changed: set[str] = set()  # records whose versions are to be looked at
        self.crowded = False
        self.counts: Counter[str] = Counter()
        self.log: list[str] = []
        self._names: dict[str, str] = {}

    def draw_for(self, step: int) -> None:
        self.random = Random(f"{self.seed}/{step}")

    def one_of(self, several: Sequence[T]) -> T:
        return self.random.choice(several)

    def chance(self, of_one: float) -> bool:
        return self.random.random() < of_one

    @property
    def now(self) -> datetime:
        return self.stage.clock.moment

    @property
    def open(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.is_open(self.now)]

    @property
    def ending(self) -> list[Attempt]:
        """Oldest first."""
        return sorted((one for one in self.attempts if one.status == "ending"), key=lambda attempt: attempt.id)

    @property
    def ids(self) -> list[str]:
        """Of every record there is, was staged, or was forgotten; oldest first."""
        staged = [new.id for attempt in self.open for new in attempt.saved()]
        return sorted({*self.memory.records, *staged, *self.forgotten})

    def wanted(self, attempt: Attempt | None = None) -> set[str]:
        """What open turns, but this one, are about to replace or delete."""
        others = [other for other in self.open if other is not attempt]
        return {id for other in others for change in other.log for id in change.targets}

    def records_where(self, holds: Callable[[Rec], bool]) -> list[Rec]:
        return [record for record in self.memory.records.values() if holds(record)]

    # -- calls that may meet a fault

    def post(self, resource: str, body: Any = None, **options: Any) -> Reply:
        return self._under_faults(lambda: self.door.post(resource, body, **options))

    def ask(self, resource: str, body: Any, **options: Any) -> Reply:
        """A POST that changes nothing, and so needs no key to be sent again."""
        return self._under_faults(lambda: self.door.send("POST", resource, body, **options))

    def delete(self, resource: str, **options: Any) -> Reply:
        return self._under_faults(lambda: self.door.send("DELETE", resource, **options))

    def carry_out(self, agent: str, turn: str) -> None:
        """The turn's review and its commit, as whoever works off the list of ending turns."""
        self._under_faults(lambda: self.door.carry_out(agent, turn))

    def _under_faults(self, call: Callable[[], T]) -> T:
        if self.chance(self.often):
            calls = self.random.randrange(MOST_CALLS_BEFORE_A_FAULT)
            self.stage.table.armed = Armed(self.one_of(KINDS), calls)
        try:
            return call()
        finally:
            self.stage.table.armed = None

    # -- the log

    def name(self, id: str | None) -> str:
        return "-" if id is None else self._names.setdefault(id, f"#{len(self._names) + 1}")

    def name_all(self, ids: Iterable[str]) -> str:
        return "[" + " ".join(self.name(id) for id in ids) + "]"

    def say(self, text: str) -> None:
        self.log.append(text)


def expect(actual: object, expected: object, what: str) -> None:
    """Raises `AssertionError` that says what the product has and what the rules say."""
    assert actual == expected, f"{what}: the product has {actual}, the rules say {expected}"
