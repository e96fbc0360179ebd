"""The search index of one machine: postings in a SQLite file of its own, vectors in memory, every score exact.

Knows how a search runs from the partitions to the answer. Leaves the rows to `sqlite_documents` and `sqlite_postings`,
what is kept in memory to `sqlite_cache`, the arithmetic to `sqlite_scoring`. Vectors lie in the table for good; this
file does not repeat them, and a partition's are read from there when meaning is first asked for.

A commit is on the disk before `apply` returns (`sqlite_file`: synchronous=FULL). With NORMAL a power cut could take the
last commits back after the caller has forgotten that they were to be indexed; a rebuild would bring them back, but
nobody would know that one is needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..domain.errors import IndexUnavailable, StoreUnavailable
from ..domain.fusion import LEG
from ..domain.ports import Candidate, IndexAnswer, IndexEntry, IndexQuery, Statistics
from .sqlite_agents import KEPT_BYTES, AgentVectors, read_agent
from .sqlite_cache import ScopeCache
from .sqlite_documents import DOCUMENTS_SCHEMA, by_partition, clear_documents, is_storable, write_entries
from .sqlite_file import SqliteFile
from .sqlite_postings import POSTINGS_SCHEMA, Postings, Span, filter_terms, kept, read_postings, word_terms
from .sqlite_scopes import ID, Change, VectorSource, View
from .sqlite_scoring import NO_VECTOR, allowed_records, best, counts_of, spread_of, word_scores
from .sqlite_vectors import best_cosines
from .vector_faults import fault_of

CACHE_BYTES = 176 * 1024 * 1024  # 100,000 vectors of 384 dimensions, and what is kept beside them
PAGE_BYTES = 4096

T = TypeVar("T")


class SqliteIndex:
    """`SearchIndex` on SQLite and numpy; for one process, any number of threads.

    path: made if it is not there. vectors: where a partition's are read from. cache_bytes: of partitions in memory;
    one partition may be larger.
    """

    def __init__(
        self, path: Path | str, vectors: VectorSource, *, dimensions: int, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._dimensions = dimensions
        with mapped_errors():
            self._file = SqliteFile(Path(path), DOCUMENTS_SCHEMA + POSTINGS_SCHEMA, page_bytes=PAGE_BYTES)
        self._cache = ScopeCache(vectors, dimensions, cache_bytes)
        self._agent_vectors = AgentVectors(vectors, dimensions, min(cache_bytes, KEPT_BYTES))
        self._applying = Lock()  # commits are noted in memory in their order

    def search(self, query: IndexQuery) -> IndexAnswer:
        terms = word_terms(query) + filter_terms(query.kind, query.labels)
        with mapped_errors(), self._file.reading() as connection:
            if query.agent_id is not None:
                return self._search_agent(connection, query, query.agent_id, terms)
            views = self._cache.views(connection, query.partitions, with_vectors=query.vector is not None)
            spans = spans_of(views)
            postings = read_postings(connection, spans, terms)
        return Search(query, views, spans, postings).answer()

    def _search_agent(
        self, connection: sqlite3.Connection, query: IndexQuery, agent_id: str, terms: Sequence[str]
    ) -> IndexAnswer:
        view, spans = read_agent(connection, agent_id, self._agent_vectors if query.vector is not None else None)
        postings = read_postings(connection, spans, terms, agent_id=agent_id)
        return Search(query, [view], spans_of([view]), postings).answer()

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        refused: dict[str, str] = {}
        fit: list[IndexEntry] = []
        for entry in entries:
            fault = fault_of(entry, self._dimensions) if is_storable(entry, ID.itemsize) else "id"
            if fault:
                refused[entry.id] = fault
            else:
                fit.append(entry)
        if fit:
            self._write(fit)
        return refused

    def clear(self) -> None:
        """Empty it: what follows is a rebuild from the table."""
        with self._applying, mapped_errors():
            self._file.write(clear_documents)
            self._cache.clear()
            self._agent_vectors.clear()

    def close(self) -> None:
        """Once no call is under way."""
        self._file.close()

    def _write(self, entries: Sequence[IndexEntry]) -> None:
        groups = by_partition(entries)

        def work(connection: sqlite3.Connection) -> dict[str, list[Change]]:
            return {name: write_entries(connection, name, group) for name, group in groups.items()}

        with self._applying, mapped_errors():
            for name, changes in self._file.write(work).items():
                self._cache.note(name, changes)
                self._agent_vectors.forget(name)


class Search:
    """One search over the records of its views, laid end to end."""

    def __init__(self, query: IndexQuery, views: Sequence[View], spans: Sequence[Span], postings: Postings) -> None:
        self._query = query
        self._views = views
        self._spans = spans
        words, filters = len(query.words), (query.kind is not None) + len(query.labels or {})
        self._lengths: NDArray[np.uint32] = joined([view.lengths for view in views], np.uint32)
        live: NDArray[np.bool_] = joined([view.live for view in views], np.bool_)
        if query.before is not None:
            live = live & (joined([view.ordinals for view in views], np.uint32) < query.before)
        self._allowed = allowed_records(live, postings, words, filters)
        self._postings = kept(postings, (postings.term < words) & self._allowed[postings.record])
        self._documents = int(np.count_nonzero(self._allowed))
        self._tokens = int(self._lengths[self._allowed].sum())

    def answer(self) -> IndexAnswer:
        words = word_scores(self._postings, len(self._query.words), self._lengths, self._tokens, self._documents)
        matching = np.flatnonzero(words.score)
        cosines = self._cosines()
        near = np.flatnonzero(self._allowed & (cosines > NO_VECTOR))
        lexical, vector = best(words.score, matching, LEG), best(cosines, near, LEG)
        candidates = self._candidates(np.union1d(lexical, vector), cosines)
        statistics = Statistics(
            documents=self._documents,
            tokens=self._tokens,
            containing=tuple(words.containing.tolist()),
            lexical=spread_of(words.score[matching], self._documents),
            vector=spread_of(cosines[near], self._documents),
        )
        lexical_leg, vector_leg = ([candidates[record] for record in leg.tolist()] for leg in (lexical, vector))
        return IndexAnswer(lexical_leg, vector_leg, statistics)

    def _cosines(self) -> NDArray[np.float32]:
        if self._query.vector is None:
            return np.full(len(self._lengths), NO_VECTOR, np.float32)
        asked = np.asarray(self._query.vector, np.float32)
        return joined([best_cosines(view.rows, asked, len(view.live)) for view in self._views], np.float32)

    def _candidates(self, chosen: NDArray[np.int64], cosines: NDArray[np.float32]) -> dict[int, Candidate]:
        """The candidates of these records, which ascend."""
        ids, partitions = self._names(chosen)
        counts = counts_of(self._postings, chosen, len(self._query.words), len(self._lengths))
        near = [cosine if cosine > NO_VECTOR else None for cosine in cosines[chosen].tolist()]
        made = map(Candidate, ids, partitions, map(tuple, counts), self._lengths[chosen].tolist(), near)
        return dict(zip(chosen.tolist(), made, strict=True))

    def _names(self, chosen: NDArray[np.int64]) -> tuple[list[str], list[str]]:
        """Their ids and their partitions."""
        ids: list[str] = []
        partitions: list[str] = []
        for view, span in zip(self._views, self._spans, strict=True):
            first, end = np.searchsorted(chosen, (span.start, span.start + span.size))
            ids += view.ids[chosen[first:end] - span.start].astype(np.str_).tolist()
            partitions += [view.name] * (len(ids) - len(partitions))
        return ids, partitions


def spans_of(views: Sequence[View]) -> list[Span]:
    spans, start = [], 0
    for view in views:
        spans.append(Span(view.partition, start, len(view.live)))
        start += len(view.live)
    return spans


def joined(arrays: Sequence[NDArray[T]], dtype: type[T]) -> NDArray[T]:  # type: ignore[type-var]
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.zeros(0, dtype), *arrays])


@contextmanager
def mapped_errors() -> Iterator[None]:
    try:
        yield
    except (StoreUnavailable, sqlite3.Error) as error:
        raise IndexUnavailable(f"the search index: {type(error).__name__}") from error
