"""Both sides of the `SearchIndex` port, empty, and builders for what the tests write and ask.

The one-machine side reads vectors from where they are kept for good: here a `Shelf`, which tests fill through `put`,
as the product's table is filled before the index hears of a record.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory.adapters.opensearch import OpenSearchIndex
from agent_memory.adapters.opensearch_client import connect
from agent_memory.adapters.sqlite_index import SqliteIndex
from agent_memory.domain.ports import Candidate, IndexAnswer, IndexEntry, IndexQuery, SearchIndex

DIMENSIONS = 16
AGENT, PLACE, OTHER = "support", "support#session#s-1", "support#session#s-2"
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Clearable(SearchIndex, Protocol):
    def clear(self) -> None: ...


@dataclass
class Shelf:
    """Vectors by partition and record."""

    vectors: dict[str, dict[str, Sequence[bytes]]] = field(default_factory=dict)

    def __call__(self, partition: str) -> Iterable[tuple[str, Sequence[bytes]]]:
        return list(self.vectors.get(partition, {}).items())

    def put(self, entries: Iterable[IndexEntry]) -> None:
        for entry in entries:
            if entry.live:
                self.vectors.setdefault(entry.partition, {})[entry.id] = entry.vectors


@dataclass
class Backend:
    """An index under test. cosine_error: how far its cosines may lie from the true ones."""

    name: str
    index: Clearable
    shelf: Shelf
    cosine_error: float

    def put(self, *entries: IndexEntry) -> dict[str, str]:
        self.shelf.put(entries)
        return self.index.apply(entries)

    def ask(self, *partitions: str, **query: Any) -> IndexAnswer:
        return self.index.search(IndexQuery(partitions or (PLACE,), **query))

    def ask_agent(self, agent_id: str = AGENT, **query: Any) -> IndexAnswer:
        return self.index.search(IndexQuery(agent_id=agent_id, **query))


@pytest.fixture(params=["sqlite", "opensearch"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    yield from opened(request, tmp_path, DIMENSIONS)


def opened(
    request: pytest.FixtureRequest, folder: Path, dimensions: int, *, refresh: str = "20ms"
) -> Iterator[Backend]:
    """The side that the fixture's parameter names."""
    shelf = Shelf()
    if request.param == "sqlite":
        sqlite = SqliteIndex(folder / "index.db", shelf, dimensions=dimensions)
        yield Backend("sqlite", sqlite, shelf, 1e-6)
        sqlite.close()
        return
    with opensearch_index(request.getfixturevalue("opensearch_url"), dimensions, refresh) as opensearch:
        yield Backend("opensearch", opensearch, shelf, 1e-5)


@contextmanager
def opensearch_index(url: str, dimensions: int = DIMENSIONS, refresh: str = "20ms") -> Iterator[OpenSearchIndex]:
    """Under a random name, and gone afterwards. It refreshes 50 times as often as in production, since writes wait."""
    client = connect(url)
    alias = f"test-{secrets.token_hex(6)}"
    index = OpenSearchIndex(client, alias, model="m", dimensions=dimensions, search_timeout_s=30)
    index.ensure()
    client.indices.put_settings(index=alias, body={"index": {"refresh_interval": refresh}})
    yield index
    client.indices.delete(index=f"{alias}-*", params={"expand_wildcards": "all"})


def ulid(number: int) -> str:
    """The 26 characters of an id; a greater number is a later id."""
    digits = [LETTERS[number >> 5 * place & 31] for place in range(25, -1, -1)]
    return "".join(digits)


def entry(number: int = 1, words: str | Sequence[str] = (), **changes: Any) -> IndexEntry:
    """A live record in `PLACE`, of the kind `fact`. words: tokens, or a text of them with spaces between."""
    tokens = words.split() if isinstance(words, str) else list(words)
    values = {"id": ulid(number), "partition": PLACE, "agent_id": AGENT, "stamp": 1, "live": True, "kind": "fact"}
    return IndexEntry(**{**values, "words": tokens, **changes})


def tombstone(number: int = 1, *, stamp: int = 2, **changes: Any) -> IndexEntry:
    return IndexEntry(**{**vars_of(entry(number)), "live": False, "stamp": stamp, "kind": "", **changes})


def vars_of(entry: IndexEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("id", "partition", "agent_id")}


def units(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def random_units(count: int, seed: int, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    return units(np.random.default_rng(seed).normal(size=(count, dimensions)))


def packed(*vectors: NDArray[np.float32]) -> list[bytes]:
    return [vector.astype("<f4").tobytes() for vector in vectors]


def ids(leg: Sequence[Candidate]) -> list[str]:
    return [candidate.id for candidate in leg]


def numbered(*numbers: int) -> list[str]:
    return [ulid(number) for number in numbers]


def by_id(leg: Sequence[Candidate]) -> Mapping[str, Candidate]:
    return {candidate.id: candidate for candidate in leg}
