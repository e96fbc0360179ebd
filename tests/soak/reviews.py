"""Reviews in a run: which messages each has to read, and a reviewer that is shown them and proposes nothing.

A turn that is to be reviewed stays `ending` until a later step carries its end out, so that others go on meanwhile, and
a process that dies leaves it to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.domain.ports import Said

from .records import Attempt

Session = tuple[str, str | None, bool]


class Silent:
    """shown: grows by what each call was shown."""

    kind = model = "silent"

    def __init__(self, shown: list[list[str]]) -> None:
        self._shown = shown

    def propose(self, asked: Mapping[str, Any], correction: object = None) -> Said:
        self._shown.append([message["text"] for message in asked["messages"]])
        return Said('{"candidates": []}', 1, 1)

    def decide(self, asked: Mapping[str, Any], correction: object = None) -> Said:
        raise AssertionError("there is nothing to decide")


class Left:
    """Ends of turns that nobody carries out yet."""

    def start(self, agent_id: str, turn_id: str, tries: int, again: str = "") -> None:
        return


class Unread:
    """What of each session no review has read: of its committed turns, live and preview apart (EX-3, PV-4)."""

    def __init__(self) -> None:
        self._waiting: dict[Session, dict[str, list[str]]] = {}

    def claim(self, attempt: Attempt) -> str:
        """As it ends: `done` where it is reviewed, which reads what has waited, oldest first, and then its own."""
        waiting = self._waiting.setdefault(_session_of(attempt), {})
        has_any = bool(waiting or attempt.heard)
        if has_any and attempt.config.reviews:
            attempt.read = [text for turn in sorted(waiting) for text in waiting[turn]] + attempt.heard
            waiting.clear()
            return "done"
        if attempt.heard:
            waiting[attempt.id] = attempt.heard
        return "not_due" if has_any else "none"


def _session_of(attempt: Attempt) -> Session:
    return attempt.agent, attempt.ids["session"], attempt.preview
