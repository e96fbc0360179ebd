"""Which records the index of one machine holds, by partition, and how an entry changes that within a transaction.

A record gets a number in its partition when it is first seen alive, and keeps it while its words, kind and labels are
the same, also as a tombstone: restoring it is a change of one row. Otherwise it gets a new number, and the old one,
with its postings, is dead until the index is rebuilt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from ..domain.ports import IndexEntry
from .sqlite_postings import append_postings, terms_of_entry
from .sqlite_scopes import Change

# AUTOINCREMENT: after `DELETE` no number comes again, so a search that is under way finds nothing instead of strangers.
# A file from before partitions had agents fails at the index on them, one from before records had ordinals at the last
# statement; so it is built anew from the table.
DOCUMENTS_SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (
    no INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, numbers INTEGER NOT NULL, agent TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS partitions_of_agent ON partitions (agent);
CREATE TABLE IF NOT EXISTS documents (
    partition INTEGER, id TEXT, number INTEGER, stamp INTEGER NOT NULL, live INTEGER NOT NULL, length INTEGER NOT NULL,
    digest BLOB, ordinal INTEGER NOT NULL, PRIMARY KEY (partition, id)
) WITHOUT ROWID;
SELECT ordinal FROM documents LIMIT 0;
"""
_OPEN = """
INSERT INTO partitions (name, numbers, agent) VALUES (?, 0, ?)
ON CONFLICT DO UPDATE SET numbers = numbers RETURNING no, numbers
"""
_READ = "SELECT number, stamp, digest, length FROM documents WHERE partition = ? AND id = ?"
_WRITE = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_CLOSE = "UPDATE partitions SET numbers = ? WHERE no = ?"
DIGEST_BYTES = 8  # compared within the versions of one record only


class Known(NamedTuple):
    number: int | None
    stamp: int
    digest: bytes | None
    length: int


def write_entries(connection: sqlite3.Connection, name: str, entries: Sequence[IndexEntry]) -> list[Change]:
    """Write the entries of one partition; gives what became of the records in memory. Stale entries change nothing."""
    partition, numbers = connection.execute(_OPEN, (name, entries[0].agent_id)).fetchone()
    first = numbers
    changes: list[Change] = []
    added: list[tuple[int, dict[str, int]]] = []
    for entry in entries:
        row = connection.execute(_READ, (partition, entry.id)).fetchone()
        known = Known(*row) if row else Known(None, entry.stamp - 1, None, 0)
        if known.stamp >= entry.stamp:
            continue
        after = state_after(entry, known, numbers)
        if after.number == numbers:
            added.append((numbers, terms_of_entry(entry)))
            numbers += 1
        stand = (after.number, entry.stamp, entry.live, after.length, after.digest, entry.ordinal)
        connection.execute(_WRITE, (partition, entry.id, *stand))
        if after.number is not None:
            retired = known.number if known.number != after.number else None
            change = Change(entry.id, after.number, entry.live, after.length, entry.vectors, retired, entry.ordinal)
            changes.append(change)
    append_postings(connection, partition, added)
    if numbers != first:
        connection.execute(_CLOSE, (numbers, partition))
    return changes


def state_after(entry: IndexEntry, known: Known, free_number: int) -> Known:
    """How the record stands after the entry; with `free_number` it is to be indexed."""
    if not entry.live:
        return known
    digest = digest_of(entry)
    if known.number is not None and known.digest == digest:
        return known
    return Known(free_number, entry.stamp, digest, len(entry.words))


def digest_of(entry: IndexEntry) -> bytes:
    """Of all that postings are made of."""
    content = (list(entry.words), entry.kind, sorted((entry.labels or {}).items()))
    return blake2b(repr(content).encode(), digest_size=DIGEST_BYTES).digest()


def by_partition(entries: Iterable[IndexEntry]) -> dict[str, list[IndexEntry]]:
    groups: dict[str, list[IndexEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.partition, []).append(entry)
    return groups


def is_storable(entry: IndexEntry, id_bytes: int) -> bool:
    return entry.id.isascii() and 0 < len(entry.id) <= id_bytes


def clear_documents(connection: sqlite3.Connection) -> None:
    for table in ("documents", "postings", "partitions"):
        connection.execute(f"DELETE FROM {table}")
