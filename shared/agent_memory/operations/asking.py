"""Asking the review's model: what does not fit is sent back once, with what is wrong (EX-6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from agent_memory.domain.ports import Correction, Said
from agent_memory.domain.reviewing.reading import Read, faults_text
from agent_memory.domain.times import written

from .embed import Usage
from .services import Services

T = TypeVar("T")


class Ask(Protocol):
    """One of the two calls of a `Reviewer`."""

    def __call__(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said: ...


class Unreadable(Exception):
    """The second answer was cut off, or not the object that was asked for: the review has failed."""


@dataclass
class Asking:
    """usage: of each call of a model that was answered, as the transcript tells it (RL-6)."""

    services: Services
    usage: list[dict[str, Any]] = field(default_factory=list)

    def embedded(self, usage: Usage | None) -> None:
        if usage:
            self.usage.append(usage.event(written(self.services.clock.now()), "review"))

    def ask(self, call: Ask, asked: Mapping[str, Any], read: Callable[[str], Read[T]], list_name: str) -> Read[T]:
        """What of the answer is right, and what is wrong with the rest. Raises `ReviewerUnavailable`, `Unreadable`."""
        said = call(asked)
        answer = self._read(said, read, list_name)
        if not answer.fits:
            said = call(asked, Correction(said.text, faults_text(answer)))
            answer = self._read(said, read, list_name)
        if not answer.whole:
            raise Unreadable
        return answer

    def _read(self, said: Said, read: Callable[[str], Read[T]], list_name: str) -> Read[T]:
        self.usage.append(self._event(said))
        return Read(list_name, whole=False) if said.is_cut else read(said.text)

    def _event(self, said: Said) -> dict[str, Any]:
        return {
            "type": "usage",
            "at": written(self.services.clock.now()),
            "purpose": "memory",
            "model": self.services.reviewer.model,
            "input_tokens": said.input_tokens,
            "output_tokens": said.output_tokens,
            "cached": False,
            "limited": False,
            "for": "review",
        }
