"""All records of one agent as a search of the index of one machine sees them, in whatever partition they lie (GR-3).

Ids, lengths and postings are read at each search, by two statements however many partitions there are (an agent may
have ten thousand sessions). Reading vectors takes longer by far, so those of the agent that was searched last are kept:
people look into one agent at a time, and what turns ask for all the time need not leave the memory for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .sqlite_postings import Span
from .sqlite_scopes import ID, VectorSource, View
from .sqlite_vectors import Rows, unit_rows
from .vector_faults import FLOAT_BYTES

KEPT_BYTES = 64 * 1024 * 1024  # some 40,000 vectors of 384 dimensions
# In the order of the partitions: the outer loop is theirs.
_READ = """
SELECT p.no, p.name, d.number, d.id, d.length, d.ordinal FROM partitions p CROSS JOIN documents d ON d.partition = p.no
WHERE p.agent = ? AND d.live ORDER BY p.no
"""


class Vectors(NamedTuple):
    """Of one partition: unit vectors, and the record of each row."""

    ids: list[str]
    rows: NDArray[np.float32]


class AgentVectors:
    """Vectors of the agent that was searched last, by partition. What is beyond `limit_bytes` is read each time.

    Coherence as in `sqlite_scopes`: a commit is noted (`forget`) after it is written, and waits for a partition that is
    being read."""

    def __init__(self, source: VectorSource, dimensions: int, limit_bytes: int = KEPT_BYTES) -> None:
        self._source = source
        self._dimensions = dimensions
        self._limit = limit_bytes
        self._lock = Lock()
        self._agent_id = ""
        self._kept: dict[str, Vectors] = {}
        self._bytes = 0

    def of(self, agent_id: str, partition: str) -> Vectors:
        with self._lock:
            if agent_id != self._agent_id:
                self._let_go(agent_id)
            if kept := self._kept.get(partition):
                return kept
            vectors = self._read(partition)
            if self._bytes + vectors.rows.nbytes <= self._limit:
                self._kept[partition] = vectors
                self._bytes += vectors.rows.nbytes
            return vectors

    def forget(self, partition: str) -> None:
        """What a commit has changed."""
        with self._lock:
            if kept := self._kept.pop(partition, None):
                self._bytes -= kept.rows.nbytes

    def clear(self) -> None:
        with self._lock:
            self._let_go("")

    def _let_go(self, agent_id: str) -> None:
        self._agent_id, self._kept, self._bytes = agent_id, {}, 0

    def _read(self, partition: str) -> Vectors:
        """Those of another model are left out."""
        size = self._dimensions * FLOAT_BYTES
        parts = [(id, v) for id, vectors in self._source(partition) for v in vectors if len(v) == size]
        return Vectors([id for id, _ in parts], unit_rows([vector for _, vector in parts], self._dimensions))


def read_agent(connection: sqlite3.Connection, agent_id: str, kept: AgentVectors | None) -> tuple[View, list[Span]]:
    """The agent's partitions laid end to end as one, and where each of them begins. What is not live has a place in it
    and nothing else. kept: where vectors come from; None: they are not needed."""
    rows = connection.execute(_READ, (agent_id,)).fetchall()
    partitions, names, numbers, ids, lengths, ordinals = zip(*rows, strict=True) if rows else ((),) * 6
    spans = _spans(partitions, numbers)
    starts = {span.partition: span.start for span in spans}
    places = [starts[partition] + number for partition, number in zip(partitions, numbers, strict=True)]
    size = spans[-1].start + spans[-1].size if spans else 0
    view = View(
        name="",
        partition=0,
        ids=np.zeros(size, ID),
        live=np.zeros(size, np.bool_),
        lengths=np.zeros(size, np.uint32),
        ordinals=np.zeros(size, np.uint32),
        rows=_rows(kept, agent_id, dict.fromkeys(names), dict(zip(ids, places, strict=True))) if kept else (),
    )
    if rows:
        view.ids[places], view.live[places] = np.array(ids).astype(ID), True
        view.lengths[places], view.ordinals[places] = lengths, ordinals
    return view, spans


def _spans(partitions: Sequence[int], numbers: Sequence[int]) -> list[Span]:
    """partitions: ascending; each as large as its greatest number asks."""
    sizes: dict[int, int] = {}
    for partition, number in zip(partitions, numbers, strict=True):
        sizes[partition] = max(sizes.get(partition, 0), number + 1)
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return [Span(partition, start, size) for (partition, size), start in zip(sizes.items(), starts, strict=False)]


def _rows(kept: AgentVectors, agent_id: str, names: Iterable[str], places: Mapping[str, int]) -> Iterator[Rows]:
    """Those of the records that have a place, a partition at a time, read while they are looked at."""
    for name in names:
        vectors = kept.of(agent_id, name)
        owners = np.array([places.get(id, -1) for id in vectors.ids], np.int64)
        known = owners >= 0
        yield Rows(vectors.rows[known], owners[known].astype(np.uint32))
