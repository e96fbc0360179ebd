"""What a search must answer, worked out the slow and obvious way from the entries as they stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from agent_memory.domain.ports import IndexEntry, IndexQuery


@dataclass
class Expected:
    """counts: by record under the filter; matching: those that share a word; cosines: of those with a vector."""

    documents: int
    tokens: int
    containing: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
    lengths: dict[str, int]
    matching: set[str]
    cosines: dict[str, float]

    def nearest(self, limit: int) -> list[str]:
        return sorted(self.cosines, key=lambda id: -self.cosines[id])[:limit]


def expected(entries: Iterable[IndexEntry], query: IndexQuery) -> Expected:
    """entries: of each record the one that stands."""
    mine = [entry for entry in entries if is_under(entry, query)]
    counts = {entry.id: tuple(list(entry.words).count(word) for word in query.words) for entry in mine}
    return Expected(
        documents=len(mine),
        tokens=sum(len(entry.words) for entry in mine),
        containing=tuple(sum(row[i] > 0 for row in counts.values()) for i in range(len(query.words))),
        counts=counts,
        lengths={entry.id: len(entry.words) for entry in mine},
        matching={id for id, row in counts.items() if any(row)},
        cosines={entry.id: cosine(entry, query) for entry in mine if entry.vectors and query.vector is not None},
    )


def is_under(entry: IndexEntry, query: IndexQuery) -> bool:
    has_labels = (query.labels or {}).items() <= (entry.labels or {}).items()
    is_theirs = entry.partition in query.partitions or entry.agent_id == query.agent_id
    return entry.live and is_theirs and query.kind in (None, entry.kind) and has_labels


def cosine(entry: IndexEntry, query: IndexQuery) -> float:
    """Of the best part, in double precision."""
    asked = np.asarray(query.vector, np.float64)
    parts = [np.frombuffer(vector, "<f4").astype(np.float64) for vector in entry.vectors]
    return max(float(part @ asked / np.linalg.norm(part) / np.linalg.norm(asked)) for part in parts)
