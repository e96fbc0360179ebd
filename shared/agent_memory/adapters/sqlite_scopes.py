"""What a search on one machine keeps of one partition in memory. Knows no query; `sqlite_cache` decides what stays.

Of every record its id, length, ordinal and whether it is live (35 bytes); where meaning was asked for, the vectors too.
Loaded at the first search, extended by `note` after each commit.

Coherence: a partition is in the cache before it is read, and a commit is noted after it is written. So a reader either
reads the commit or is told of it, under the partition's lock; noting twice changes nothing. What readers hold (`View`)
stays as it was: arrays grow by copies, and rows are added behind what is seen. Only `live` changes in place, which a
search that is under way may see or not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .sqlite_vectors import FULL_BLOCK, Rows, VectorBlocks, grown
from .vector_faults import FLOAT_BYTES

VectorSource = Callable[[str], Iterable[tuple[str, Sequence[bytes]]]]
"""Gives, of a partition, the ids of records with the vectors of their parts, from where these are kept for good."""

ID = np.dtype("S26")  # a ULID
_LOAD = "SELECT id, number, live, length, ordinal FROM documents WHERE partition = ? AND number IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one record: the number it has now, and the one it gave up, if any."""

    id: str
    number: int
    live: bool
    length: int
    vectors: Sequence[bytes]
    retired: int | None = None
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """A partition at one moment; the arrays have one element per number. (Or an agent, without a name: see
    `sqlite_agents`.)"""

    name: str
    partition: int
    ids: NDArray[np.bytes_]
    live: NDArray[np.bool_]
    lengths: NDArray[np.uint32]
    ordinals: NDArray[np.uint32]
    rows: Iterable[Rows]


class CachedScope:
    """One partition. Its methods take its lock."""

    def __init__(self, name: str, partition: int, dimensions: int) -> None:
        self.name = name
        self.partition = partition
        self._dimensions = dimensions
        self._lock = Lock()
        self._size: int | None = None  # not loaded yet
        self._ids: NDArray[np.bytes_] = np.zeros(0, ID)
        self._live = np.zeros(0, np.bool_)
        self._lengths = np.zeros(0, np.uint32)
        self._ordinals = np.zeros(0, np.uint32)
        self._vectors: VectorBlocks | None = None

    @property
    def size_bytes(self) -> int:
        vectors = self._vectors
        kept = sum(array.nbytes for array in (self._ids, self._live, self._lengths, self._ordinals))
        return kept + (vectors.size_bytes if vectors else 0)

    def view(self, connection: sqlite3.Connection, source: VectorSource | None) -> View:
        """source: where vectors come from if they are needed and not loaded; None: they are not needed."""
        with self._lock:
            if self._size is None:
                self._load(connection)
            if source and self._vectors is None:
                self._vectors = self._read_vectors(source)
            rows = self._vectors.rows() if source and self._vectors else []
            end = self._size
            return View(
                self.name,
                self.partition,
                self._ids[:end],
                self._live[:end],
                self._lengths[:end],
                self._ordinals[:end],
                rows,
            )

    def note(self, changes: Iterable[Change]) -> None:
        """Take over what a commit did, in its order."""
        with self._lock:
            if self._size is not None:
                for change in changes:
                    self._note(change)

    def _load(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(_LOAD, (self.partition,)).fetchall()
        self._reserve(1 + max((row[1] for row in rows), default=-1))
        if rows:
            ids, numbers, live, lengths, ordinals = (np.array(column) for column in zip(*rows, strict=True))
            self._ids[numbers], self._live[numbers] = ids.astype(ID), live
            self._lengths[numbers], self._ordinals[numbers] = lengths, ordinals

    def _read_vectors(self, source: VectorSource) -> VectorBlocks:
        """Vectors of records that are not in the index are left out, as are those of another model."""
        blocks = VectorBlocks(self._dimensions)
        ids = self._ids[: self._size]
        order = np.argsort(ids)
        parts = (
            (id, vector)
            for id, vectors in source(self.name)
            for vector in vectors
            if len(vector) == self._dimensions * FLOAT_BYTES
        )
        for batch in batches(parts) if len(ids) else ():  # a few at a time: all at once would lie in memory twice
            names = np.array([id for id, _ in batch]).astype(ID)
            numbers = order[np.minimum(np.searchsorted(ids, names, sorter=order), len(ids) - 1)]
            known = np.flatnonzero(ids[numbers] == names)
            blocks.extend(numbers[known].tolist(), [batch[index][1] for index in known])
        return blocks

    def _note(self, change: Change) -> None:
        self._reserve(change.number + 1)
        self._ids[change.number] = change.id.encode()
        self._lengths[change.number] = change.length
        self._ordinals[change.number] = change.ordinal
        self._live[change.number] = change.live
        if change.retired is not None:
            self._live[change.retired] = False
        if change.live and self._vectors:
            self._note_vectors(self._vectors, change)

    def _note_vectors(self, blocks: VectorBlocks, change: Change) -> None:
        if not blocks.covers(change.number):
            blocks.extend([change.number] * len(change.vectors), change.vectors)
        elif not blocks.has_same(change.number, change.vectors):
            self._vectors = None  # embedded anew, which is rare: they are read again when they are needed

    def _reserve(self, size: int) -> None:
        """Have room for the numbers below `size`; one that is not noted yet is not live."""
        if size > len(self._live):
            capacity = max(size, len(self._live) * 5 // 4)
            self._ids = grown(self._ids, capacity)
            self._live = grown(self._live, capacity)
            self._lengths = grown(self._lengths, capacity)
            self._ordinals = grown(self._ordinals, capacity)
        self._size = max(size, self._size or 0)


def batches(parts: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    while batch := list(islice(parts, FULL_BLOCK)):
        yield batch
