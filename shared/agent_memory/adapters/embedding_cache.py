"""Remembers the vectors of texts that were embedded, so that the same text is not sent twice.

In this process alone, by a hash: no text is kept.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from agent_memory.domain.ports import Embedded, Embedder
from agent_memory.domain.vectors import packed, unpacked

_ENTRY_BYTES = 200  # of key, object headers and links, beside the vector (CPython 3.11, 64 bits)


class CachingEmbedder:
    """An `Embedder` before another. max_bytes: for vectors and their keys; the longest unused go first.

    Its vectors are float32, whether they come from the model or from the cache. A refused text is not remembered: the
    model may come to take it."""

    def __init__(self, inner: Embedder, max_bytes: int) -> None:
        self._inner = inner
        self._room = max_bytes
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = Lock()

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def floor(self) -> float:
        return self._inner.floor

    @property
    def window(self) -> int:
        return self._inner.window

    def knows(self, text: str) -> bool:
        return self._inner.knows(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        keys = [self._key(text, query=query) for text in texts]
        found = self._remembered(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if not missing:
            return Embedded([list(unpacked(found[key])) for key in keys], tokens=0, cached=True)
        answer = self._inner.embed(list(missing.values()), query=query)
        new = {key: packed(vector) for key, vector in zip(missing, answer.vectors, strict=True) if vector is not None}
        self._remember(new)
        found.update(new)
        vectors = [list(unpacked(found[key])) if key in found else None for key in keys]
        return Embedded(vectors, tokens=answer.tokens, cached=answer.cached)

    def _key(self, text: str, *, query: bool) -> bytes:
        asked = f"{self._inner.model}\0{int(query)}\0{text}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).digest()

    def _remembered(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
        return found

    def _remember(self, vectors: dict[bytes, bytes]) -> None:
        with self._lock:
            for key, vector in vectors.items():
                if key not in self._vectors:
                    self._room -= len(vector) + _ENTRY_BYTES
                self._vectors[key] = vector
            while self._room < 0:
                _, vector = self._vectors.popitem(last=False)
                self._room += len(vector) + _ENTRY_BYTES
