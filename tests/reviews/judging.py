"""What a reviewer makes of a conversation, and whether that is what any good one makes of it.

The rules of the review are the product's own (`domain.reviewing`); neither store nor server takes part, so that one
reviewer differs from another in its judgement alone. Which known records are near is found with a model of meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import fsum
from typing import Any, TypeVar

from conversations import Change, Conversation, Known

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.near import near_of
from agent_memory.domain.ports import Correction, Embedder, Reviewer, Said
from agent_memory.domain.reviewing.asked import candidates_asked, decisions_asked
from agent_memory.domain.reviewing.candidates import CANDIDATES, Candidate, read_candidates
from agent_memory.domain.reviewing.compared import Compared, Neighbour
from agent_memory.domain.reviewing.decisions import (
    DECISIONS,
    Add,
    Decision,
    Delete,
    Replace,
    decided_without_call,
    read_decisions,
)
from agent_memory.domain.reviewing.reading import Read, faults_text
from agent_memory.domain.scopes import TurnIds

T = TypeVar("T")

NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)
IDS = TurnIds("agent", session_id="session", user_id="user")
CONFIG = parse_config(
    {
        "memory": {
            "enabled": True,
            "kinds": ["fact", "preference", "guidance"],
            "scope": {"read": ["user"], "write": ["user"]},
        }
    }
)
MOST_NEIGHBOURS = 5  # EX-2


class Unreadable(Exception):
    """The second answer was cut off, or no object: a review that failed (EX-6)."""


@dataclass(frozen=True, slots=True)
class Made:
    """A change that the review made, and the text it wrote."""

    action: str
    target: str | None
    text: str


def made_of(conversation: Conversation, reviewer: Reviewer, embedder: Embedder) -> list[Made]:
    """Raises `Unreadable`, and `Unavailable` where a model does not answer."""
    said = [
        {"role": message.role, "text": message.text, "at": (NOW - timedelta(minutes=9 - i)).isoformat()}
        for i, message in enumerate(conversation.messages)
    ]
    asked = candidates_asked(CONFIG, IDS, said, now=NOW, time_zone="Europe/Berlin")
    read = _asked(reviewer.propose, asked, CANDIDATES, lambda text: read_candidates(text, CONFIG, now=NOW))
    compared = _compared([candidate for _, candidate in read.right], conversation.known, embedder)
    decisions = {each.number: decision for each in compared if (decision := decided_without_call(each))}
    if open := [each for each in compared if each.number not in decisions]:
        answer = _asked(reviewer.decide, decisions_asked(open), DECISIONS, lambda text: read_decisions(text, open))
        decisions |= dict(answer.right)
    return [made for each in compared if (made := _made(each.candidate, decisions.get(each.number)))]


def agrees(made: Sequence[Made], conversation: Conversation) -> bool:
    """Whether each change that is expected was made, and no other."""
    left = list(made)
    for change in conversation.changes:
        fitting = next((one for one in left if _fits(one, change)), None)
        if fitting is None:
            return False
        left.remove(fitting)
    return not left


def _fits(made: Made, change: Change) -> bool:
    said = all(words.casefold() in made.text.casefold() for words in change.says)
    return said and (made.action, made.target) == (change.action, change.target)


def _asked(ask: Callable[..., Said], asked: dict[str, Any], list_name: str, read: Callable[[str], Read[T]]) -> Read[T]:
    said = ask(asked)
    answer = _read(said, list_name, read)
    if not answer.fits:
        said = ask(asked, Correction(said.text, faults_text(answer)))
        answer = _read(said, list_name, read)
    if not answer.whole:
        raise Unreadable
    return answer


def _read(said: Said, list_name: str, read: Callable[[str], Read[T]]) -> Read[T]:
    return Read(list_name, whole=False) if said.is_cut else read(said.text)


def _compared(candidates: Sequence[Candidate], known: Sequence[Known], embedder: Embedder) -> list[Compared]:
    vectors = embedder.embed([*(one.summary for one in candidates), *(one.summary for one in known)]).vectors
    own, others = vectors[: len(candidates)], vectors[len(candidates) :]
    return [
        Compared(number, candidate, _near(own[number], list(zip(known, others, strict=True)), near_of(embedder)))
        for number, candidate in enumerate(candidates)
    ]


def _near(
    vector: list[float] | None, known: Sequence[tuple[Known, list[float] | None]], least: float
) -> list[Neighbour]:
    found = [_neighbour(one, _cosine(vector, other)) for one, other in known]
    near = [one for one in found if one.cosine is not None and one.cosine >= least]
    return sorted(near, key=lambda one: one.cosine or 0, reverse=True)[:MOST_NEIGHBOURS]


def _neighbour(known: Known, cosine: float) -> Neighbour:
    return Neighbour(known.id, 1, known.summary, None, known.kind, "user", round(cosine, 3), known.writable, False)


def _cosine(a: list[float] | None, b: list[float] | None) -> float:
    return fsum(x * y for x, y in zip(a or (), b or (), strict=False))


def _made(candidate: Candidate, decision: Decision | None) -> Made | None:
    text = " ".join(filter(None, (candidate.summary, candidate.content)))
    match decision:
        case Add():
            return Made("add", None, text)
        case Replace(memory_id=target):
            return Made("replace", target, text)
        case Delete(memory_id=target):
            return Made("delete", target, text)
        case _:  # skipped, or a decision that was wrong twice
            return None
