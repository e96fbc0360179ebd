"""The vectors of one partition in memory, in blocks of rows: what the exact cosine is computed from.

Not locked: whoever holds a partition's lock extends it, and hands out `Rows`, which later extensions do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .sqlite_scoring import NO_VECTOR

FULL_BLOCK = 512  # rows: .8 MB of 384 dimensions, near the size of a core's own cache
FIRST_BLOCK = 16  # a small scope takes little room; each block adds a quarter to it, up to the full size


class Rows(NamedTuple):
    """Unit vectors and the number of the record each belongs to."""

    vectors: NDArray[np.float32]
    owners: NDArray[np.uint32]


class VectorBlocks:
    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._blocks: list[Rows] = []
        self._used = 0  # rows of the last block
        self._rows = 0
        self._covered = np.zeros(0, np.bool_)  # by number: whether it has rows

    @property
    def size_bytes(self) -> int:
        return sum(block.vectors.nbytes + block.owners.nbytes for block in self._blocks) + self._covered.nbytes

    def rows(self) -> list[Rows]:
        """All rows as they are now. Rows written later lie behind them in memory."""
        if not self._blocks:
            return []
        last = self._blocks[-1]
        return [*self._blocks[:-1], Rows(last.vectors[: self._used], last.owners[: self._used])]

    def covers(self, number: int) -> bool:
        return number < len(self._covered) and bool(self._covered[number])

    def has_same(self, number: int, vectors: Sequence[bytes]) -> bool:
        """Whether the rows of `number` are these vectors."""
        rows = np.concatenate([rows.vectors[rows.owners == number] for rows in self.rows()])
        return len(rows) == len(vectors) and np.allclose(rows, unit_rows(vectors, self._dimensions), atol=1e-6)

    def extend(self, numbers: Sequence[int], vectors: Sequence[bytes]) -> None:
        """Add rows: the record's number and a vector of the right length, side by side."""
        done = 0
        while done < len(numbers):
            end = done + min(self._room(len(numbers) - done), len(numbers) - done)
            self._fill(numbers[done:end], vectors[done:end])
            done = end
        self._cover(numbers)

    def _room(self, wanted: int) -> int:
        if not self._blocks or self._used == len(self._blocks[-1].owners):
            rows = min(FULL_BLOCK, max(FIRST_BLOCK, self._rows // 4, wanted))
            self._blocks.append(Rows(np.empty((rows, self._dimensions), np.float32), np.empty(rows, np.uint32)))
            self._used = 0
        return len(self._blocks[-1].owners) - self._used

    def _fill(self, numbers: Sequence[int], vectors: Sequence[bytes]) -> None:
        block, start, end = self._blocks[-1], self._used, self._used + len(numbers)
        block.vectors[start:end] = unit_rows(vectors, self._dimensions)
        block.owners[start:end] = numbers
        self._used = end
        self._rows += len(numbers)

    def _cover(self, numbers: Sequence[int]) -> None:
        size = 1 + max(numbers, default=-1)
        if size > len(self._covered):
            self._covered = grown(self._covered, size)
        self._covered[list(numbers)] = True


def grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room for `size` elements, zeros behind the old ones."""
    copy = np.zeros(size, array.dtype)
    copy[: len(array)] = array
    return copy


def unit_rows(vectors: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """One row per vector, of length 1. Stored ones are, up to their last digits; a zero vector stays zero."""
    rows: NDArray[np.float32] = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimensions)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: NDArray[np.float32] = rows / np.maximum(lengths, np.finfo(np.float32).tiny)
    return units


def best_cosines(blocks: Iterable[Rows], query: NDArray[np.float32], records: int) -> NDArray[np.float32]:
    """The cosine of every record's best part, `NO_VECTOR` where it has none."""
    cosines = np.full(records, NO_VECTOR, np.float32)
    for vectors, owners in blocks:
        # einsum, not `@`: as fast, since memory is the limit, and never on several threads, which BLAS would take and
        # which cost 20 ms on a busy machine.
        np.maximum.at(cosines, owners, np.einsum("ij,j->i", vectors, query))
    return np.minimum(cosines, 1.0, out=cosines)
