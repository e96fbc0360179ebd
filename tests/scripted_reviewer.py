"""A reviewer that says what a test has it say, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.domain.ports import Correction, Said

Json = dict[str, Any]
Asked = Mapping[str, Any]

CANDIDATES = "candidates"
DECISIONS = "decisions"


@dataclass
class Call:
    """One call of the model. what: the name of the list that was asked for."""

    what: str
    asked: Asked
    correction: Correction | None


@dataclass
class ScriptedReviewer:
    """candidates: what it proposes, or a function of what it was asked. decides: the decision on one candidate, without
    its number. answers: texts as they come, or whole answers, given before anything else. unavailable: how many calls
    fail first. before_deciding: done once, while the decisions are being thought over. goes_on: what every call waits
    for; is_asked: set when one has begun to wait."""

    candidates: Sequence[object] | Callable[[Asked], Sequence[object]] = ()
    decides: Callable[[Json], Json] = field(default=lambda candidate: adding(candidate))
    answers: list[str | Said] = field(default_factory=list)
    unavailable: int = 0
    before_deciding: Callable[[], object] | None = None
    goes_on: Event | None = None
    is_asked: Event = field(default_factory=Event)
    calls: list[Call] = field(default_factory=list)

    kind = "scripted"
    model = "scripted-1"

    def propose(self, asked: Asked, correction: Correction | None = None) -> Said:
        return self._answer(CANDIDATES, asked, correction, lambda: self._proposed(asked))

    def decide(self, asked: Asked, correction: Correction | None = None) -> Said:
        happens, self.before_deciding = self.before_deciding, None
        if happens:
            happens()
        return self._answer(DECISIONS, asked, correction, lambda: [self._decided(one) for one in asked[CANDIDATES]])

    # -- what it was asked

    @property
    def names(self) -> list[str]:
        return [call.what for call in self.calls]

    @property
    def compared(self) -> list[Json]:
        """The candidates of all calls for decisions, each with its neighbours."""
        return [one for call in self.calls if call.what == DECISIONS for one in call.asked[CANDIDATES]]

    @property
    def shown(self) -> list[list[str]]:
        """The texts of the messages that each call for candidates was shown."""
        return [[one["text"] for one in call.asked["messages"]] for call in self.calls if call.what == CANDIDATES]

    # -- what it answers

    def _answer(
        self, what: str, asked: Asked, correction: Correction | None, thinks: Callable[[], Sequence[object]]
    ) -> Said:
        self.calls.append(Call(what, json.loads(json.dumps(asked)), correction))
        if self.goes_on:
            self.is_asked.set()
            assert self.goes_on.wait(30), "nobody let the reviewer go on"
        if self.unavailable:
            self.unavailable -= 1
            raise ReviewerUnavailable("scripted")
        if self.answers:
            given = self.answers.pop(0)
            return given if isinstance(given, Said) else Said(given, 90, 12)
        return Said(json.dumps({what: list(thinks())}), 90, 12)

    def _proposed(self, asked: Asked) -> Sequence[object]:
        return self.candidates(asked) if callable(self.candidates) else self.candidates

    def _decided(self, candidate: Json) -> Json:
        return {"candidate": candidate["candidate"], **self.decides(candidate)}


# ---------------------------------------------------------------- candidates


def fact(summary: str, **fields: Any) -> Json:
    return {"retracts": False, "summary": summary, "kind": "fact", **fields}


def retraction(summary: str, **fields: Any) -> Json:
    return {"retracts": True, "summary": summary, "kind": "fact", **fields}


# ---------------------------------------------------------------- decisions


def adding(candidate: Json) -> Json:
    return {"action": "skip" if candidate["retracts"] else "add", "memory_id": None, "reason": "It is new."}


def replacing(candidate: Json) -> Json:
    return {"action": "replace", "memory_id": nearest(candidate), "reason": "It corrects that."}


def deleting(candidate: Json) -> Json:
    return {"action": "delete", "memory_id": nearest(candidate), "reason": "It is taken back."}


def skipping(candidate: Json) -> Json:
    return {"action": "skip", "memory_id": nearest(candidate), "reason": "It is known."}


def nearest(candidate: Json) -> str:
    id: str = candidate["neighbours"][0]["id"]
    return id
