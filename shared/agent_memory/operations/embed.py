"""Embedding what is asked and what is stored, and what it cost (RL-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.parts import parts, record_text
from agent_memory.domain.records import Record
from agent_memory.domain.vectors import packed

from .services import Services


@dataclass(frozen=True, slots=True)
class Usage:
    """What embedding cost a call of the turn. No limit counts it."""

    model: str
    input_tokens: int
    cached: bool

    def plus(self, more: Usage | None) -> Usage:
        """Of both calls of the model together."""
        if more is None:
            return self
        return Usage(self.model, self.input_tokens + more.input_tokens, self.cached and more.cached)

    def shown(self) -> dict[str, Any]:
        return {
            "purpose": "embed",
            "model": self.model,
            "input_tokens": self.input_tokens,
            "cached": self.cached,
            "limited": False,
        }

    def event(self, at: str, what_for: str) -> dict[str, Any]:
        return {"type": "usage", "at": at, **self.shown(), "output_tokens": 0, "for": what_for}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query's vector. None: the model did not answer (`down`), or has nothing to say of this text.

    floor: the least cosine of what belongs to it; without a vector nothing is compared with it."""

    vector: list[float] | None
    usage: Usage | None
    down: bool = False
    floor: float = 0.0


def embed_query(services: Services, text: str, min_score: float | None) -> Asked:
    """min_score: the floor that was given; None: the model's own, which may have to be measured by asking it."""
    embedder = services.embedder
    try:
        embedded = embedder.embed([text], query=True)
        floor = embedder.floor if min_score is None else min_score
    except EmbedderUnavailable:
        return Asked(None, None, down=True)
    usage = Usage(embedder.model, embedded.tokens, embedded.cached)
    return Asked(embedded.vectors[0], usage, floor=floor)


def embed_record(services: Services, record: Record) -> tuple[list[bytes], Usage | None]:
    """Vectors of a record's parts. None where the model does not answer: the record is saved all the same, found by its
    words, and embedded when it is indexed (RK-6)."""
    texts = parts(record_text(record.summary, record.content), services.embedder.window)
    try:
        embedded = services.embedder.embed(texts)
    except EmbedderUnavailable:
        return [], None
    usage = Usage(services.embedder.model, embedded.tokens, embedded.cached)
    return [packed(vector) for vector in embedded.vectors if vector is not None], usage
