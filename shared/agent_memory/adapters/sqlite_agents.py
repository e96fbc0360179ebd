"""All records of one agent as a search of the index of one machine sees them, in whatever partition they lie (GR-3).

Read from the files at each search and kept nowhere: people ask seldom, an agent may have ten thousand sessions, and
what turns ask for all the time would have to leave the memory for it. So a search of an agent costs two statements
here, however many its partitions, and when meaning is asked for a reading of its vectors, which pass through memory a
few at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .sqlite_postings import Span
from .sqlite_scopes import ID, VectorSource, View, batches
from .sqlite_vectors import Rows, unit_rows
from .vector_faults import FLOAT_BYTES

# In the order of the partitions: the outer loop is theirs.
_READ = """
SELECT p.no, p.name, d.number, d.id, d.length FROM partitions p CROSS JOIN documents d ON d.partition = p.no
WHERE p.agent = ? AND d.live ORDER BY p.no
"""


def read_agent(
    connection: sqlite3.Connection, agent_id: str, source: VectorSource | None, dimensions: int
) -> tuple[View, list[Span]]:
    """The agent's partitions laid end to end as one, and where each of them begins. What is not live has a place in it
    and nothing else. source: where vectors come from; None: they are not needed."""
    rows = connection.execute(_READ, (agent_id,)).fetchall()
    partitions, names, numbers, ids, lengths = zip(*rows, strict=True) if rows else ((), (), (), (), ())
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
        rows=_vectors(source, dict.fromkeys(names), dict(zip(ids, places, strict=True)), dimensions) if source else (),
    )
    if rows:
        view.ids[places], view.live[places], view.lengths[places] = np.array(ids).astype(ID), True, lengths
    return view, spans


def _spans(partitions: Sequence[int], numbers: Sequence[int]) -> list[Span]:
    """partitions: ascending; each as large as its greatest number asks."""
    sizes: dict[int, int] = {}
    for partition, number in zip(partitions, numbers, strict=True):
        sizes[partition] = max(sizes.get(partition, 0), number + 1)
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return [Span(partition, start, size) for (partition, size), start in zip(sizes.items(), starts, strict=False)]


def _vectors(
    source: VectorSource, names: Mapping[str, None], places: Mapping[str, int], dimensions: int
) -> Iterator[Rows]:
    """Those of the records that have a place, read while they are looked at."""
    parts = (
        (places[id], vector)
        for name in names
        for id, vectors in source(name)
        for vector in vectors
        if id in places and len(vector) == dimensions * FLOAT_BYTES
    )
    for batch in batches(parts):
        owners, vectors = zip(*batch, strict=True)
        yield Rows(unit_rows(vectors, dimensions), np.array(owners, np.uint32))
