"""Which records of a partition hold a word, how often: lists of numbers in SQLite, read into flat numpy arrays.

Records of a partition are numbered 0, 1, 2 … A row holds one word of one partition for 256 numbers in turn, so what a
search reads grows with its own scope alone (SQLite's FTS5 keeps one list per word for all owners). A posting is a
little-endian u32: the count above the number's low 8 bits. Rows are only ever appended to: a record that ended stays in
them, and readers leave it out.

Kinds and labels are words with another first letter, so a filter is read in the same way.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain.ports import IndexEntry, IndexQuery

# 256 postings are 1,024 bytes, about what SQLite keeps of a row in its own page (1,002 of 4,096).
SEGMENT_BITS = 8
SEGMENT_MASK = (1 << SEGMENT_BITS) - 1
POSTING = np.dtype("<u4")

POSTINGS_SCHEMA = """
CREATE TABLE IF NOT EXISTS postings (
    partition INTEGER, term TEXT, segment INTEGER, data BLOB NOT NULL, PRIMARY KEY (partition, term, segment)
) WITHOUT ROWID;
"""
# `||` gives TEXT even of two BLOBs; the cast changes the type and no byte.
_APPEND = """
INSERT INTO postings VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)
"""
_OF_PARTITION = "SELECT partition, term, segment, data FROM postings WHERE partition = ? AND term IN ({marks})"
_OF_AGENT = """
SELECT o.partition, o.term, o.segment, o.data FROM partitions p CROSS JOIN postings o ON o.partition = p.no
WHERE p.agent = ? AND o.term IN ({marks})
"""


class Postings(NamedTuple):
    """Parallel arrays, one element per posting. record: where it stands among the records of the search; term: which
    of the terms asked for; times: how often."""

    record: NDArray[np.int64]
    term: NDArray[np.int64]
    times: NDArray[np.int64]


class Span(NamedTuple):
    """A partition's place among the records of a search: its number 0 stands at `start`, and it has `size` records."""

    partition: int
    start: int
    size: int


def terms_of_entry(entry: IndexEntry) -> dict[str, int]:
    counts = {f"w{word}": count for word, count in Counter(entry.words).items()}
    return counts | dict.fromkeys(filter_terms(entry.kind, entry.labels), 1)


def word_terms(query: IndexQuery) -> list[str]:
    return [f"w{word}" for word in query.words]


def filter_terms(kind: str | None, labels: Mapping[str, str] | None) -> list[str]:
    kinds = [] if kind is None else [f"k{kind}"]
    return kinds + [f"l{name}={value}" for name, value in (labels or {}).items()]


def append_postings(
    connection: sqlite3.Connection, partition: int, added: Iterable[tuple[int, Mapping[str, int]]]
) -> None:
    """added: numbers in ascending order, each with the counts of its terms."""
    data_by_row: defaultdict[tuple[str, int], bytearray] = defaultdict(bytearray)
    for number, counts in added:
        segment, low = number >> SEGMENT_BITS, number & SEGMENT_MASK
        for term, count in counts.items():
            data_by_row[term, segment] += (count << SEGMENT_BITS | low).to_bytes(4, "little")
    # In the order of the tree, which touches each page once.
    rows = [(partition, term, segment, bytes(data)) for (term, segment), data in sorted(data_by_row.items())]
    connection.executemany(_APPEND, rows)


def read_postings(
    connection: sqlite3.Connection, spans: Sequence[Span], terms: Sequence[str], *, agent_id: str | None = None
) -> Postings:
    """The postings of different terms in all spans. What was added after a span's size was read is left out.
    agent_id: whose partitions the spans are, where they are all of that agent's; one statement reads them then."""
    position = {term: index for index, term in enumerate(terms)}
    span_of = {span.partition: span for span in spans}
    data: list[bytes] = []
    heads: list[tuple[int, int, int, int]] = []  # of each row: its first record, the span's end, the term, how many
    for partition, term, segment, packed in posting_rows(connection, list(span_of), terms, agent_id):
        if span := span_of.get(partition):
            first, end = span.start + (segment << SEGMENT_BITS), span.start + span.size
            data.append(packed)
            heads.append((first, end, position[term], len(packed) // POSTING.itemsize))
    return unpacked(data, heads)


def posting_rows(
    connection: sqlite3.Connection, partitions: Sequence[int], terms: Sequence[str], agent_id: str | None
) -> Iterator[tuple[int, str, int, bytes]]:
    marks = ",".join("?" * len(terms))
    if not terms:
        return
    if agent_id is not None:
        yield from connection.execute(_OF_AGENT.format(marks=marks), (agent_id, *terms))
        return
    for partition in partitions:
        yield from connection.execute(_OF_PARTITION.format(marks=marks), (partition, *terms))


def unpacked(data: Sequence[bytes], heads: Sequence[tuple[int, int, int, int]]) -> Postings:
    packed = np.frombuffer(b"".join(data), POSTING).astype(np.int64)
    first, end, term, length = np.array(heads, np.int64).reshape(-1, 4).T
    record = np.repeat(first, length) + (packed & SEGMENT_MASK)
    postings = Postings(record, np.repeat(term, length), packed >> SEGMENT_BITS)
    return kept(postings, record < np.repeat(end, length))


def kept(postings: Postings, mask: NDArray[np.bool_]) -> Postings:
    return postings if mask.all() else Postings(*(array[mask] for array in postings))
