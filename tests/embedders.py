"""An embedder for tests in which meaning does not matter."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from agent_memory.domain.ports import Embedded
from agent_memory.domain.words import is_blank


class HashEmbedder:
    """Gives equal texts equal unit vectors and different texts vectors that have nothing to do with each other.

    asked: every text it was given, in order."""

    def __init__(self, dimensions: int = 64, *, model: str = "hash", floor: float = 0.5, window: int = 500) -> None:
        self.model = model
        self.dimensions = dimensions
        self.floor = floor
        self.window = window
        self.asked: list[str] = []

    def knows(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        self.asked.extend(texts)
        vectors = [None if is_blank(text) else self.vector(text[: self.window]) for text in texts]
        return Embedded(vectors, tokens=sum(len(text) // 4 + 1 for text in texts), cached=False)

    def vector(self, text: str) -> list[float]:
        stream = hashlib.shake_256(text.encode("utf-8", "replace")).digest(2 * self.dimensions)
        raw = [int.from_bytes(stream[i : i + 2], "big") / 32767.5 - 1 for i in range(0, len(stream), 2)]
        length = math.hypot(*raw)
        return [x / length for x in raw]
