"""Tells a text that a model always refuses from a model that is down, where many texts travel in one request.

Knows halves and attempts; knows no protocol: how several texts are asked is an argument. So one text that cannot be
embedded holds up no other (RK-6), and an outage is found out in about ten requests, not one for each text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_memory.domain.errors import EmbedderUnavailable

Vector = list[float]
PLAIN = "memory"  # a text that every model takes
_FAILURES_OF_AN_OUTAGE = 9  # halving 96 texts down to the one at the left fails 8 times


class Refusal(Exception):
    """The server answered, and will not have these texts as they are."""


class Failure(Exception):
    """The server failed over these texts, and may fail over others or not."""


Ask = Callable[[Sequence[str], int], list[Vector | None]]
"""(texts, attempts) → a vector for each, in order. Raises `Refusal`, `Failure`, or `EmbedderUnavailable` where it is
plain that no other text would fare better."""


@dataclass
class _Search:
    ask: Ask
    answered: bool
    failures: int = 0
    failed: list[int] = field(default_factory=list)  # positions of texts that failed alone
    refused: bool = False
    vectors: dict[int, Vector | None] = field(default_factory=dict)


def settle(texts: Sequence[str], ask: Ask, *, works: bool) -> list[Vector | None]:
    """A vector for each text, or None for one that is refused though the model answers for others.

    works: the model has answered before, so a refusal is the text's fault. Raises `EmbedderUnavailable`."""
    search = _Search(ask, answered=works)
    _look(search, list(enumerate(texts)), attempts=3)
    if search.failed or (search.refused and not search.answered):
        _ask_plain(ask)
    for position in search.failed:
        search.vectors[position] = _once_more(ask, texts[position])
    return [search.vectors[position] for position in range(len(texts))]


def _look(search: _Search, numbered: Sequence[tuple[int, str]], *, attempts: int) -> None:
    try:
        vectors = search.ask([text for _, text in numbered], attempts)
    except Refusal:
        search.refused = True
        if len(numbered) == 1:
            search.vectors[numbered[0][0]] = None
            return
    except Failure as failure:
        search.failures += 1
        if search.failures >= _FAILURES_OF_AN_OUTAGE and not search.vectors:
            raise EmbedderUnavailable(str(failure)) from None
        if len(numbered) == 1:
            search.failed.append(numbered[0][0])
            return
        attempts = 1
    else:
        search.answered = True
        search.vectors.update((position, vector) for (position, _), vector in zip(numbered, vectors, strict=True))
        return
    middle = len(numbered) // 2
    _look(search, numbered[:middle], attempts=attempts)
    _look(search, numbered[middle:], attempts=attempts)


def _ask_plain(ask: Ask) -> None:
    """Whether the model answers at all: a wrong name, say, has every text refused."""
    try:
        ask([PLAIN], 1)
    except (Refusal, Failure) as refused:
        raise EmbedderUnavailable(str(refused)) from None


def _once_more(ask: Ask, text: str) -> Vector | None:
    """For a server that only just came back."""
    try:
        return ask([text], 1)[0]
    except (Refusal, Failure):
        return None
