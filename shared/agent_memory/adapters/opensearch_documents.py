"""What OpenSearch keeps of one record: the mapping, and the document of an entry.

Hashes stand for partitions and agents (routing splits at commas, and an id may hold any character). Words come from our
analyser; they lie under a whitespace analyser, so one that it would split or cut is replaced by a digest. What a search
gives back lies in doc values, the id too: opening the stored part of 100 documents takes 7 ms, their doc values 1. So
nothing needs `_source`; the table can rebuild an index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from ..domain.ports import IndexEntry
from ..domain.vectors import unpacked

HASH_DIGITS = 32  # 128 bits: no two partitions share one in practice
COUNT_BITS = 16  # a record has at most 16,300 characters, so at most as many words
HASH_BITS = 47  # beside the count in a signed long; two words of one record share one with a chance of 10⁻⁹
MAX_TERM_CHARACTERS = 100  # the whitespace tokenizer cuts at 255 UTF-16 units

# HNSW: the links per node and the width at building. Lucene's defaults are 16 and 100; see `opensearch_queries`
# for the width at searching.
HNSW = {"m": 16, "ef_construction": 128}


def index_body(dimensions: int) -> dict[str, Any]:
    """Settings and strict mapping of a new index."""
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": HNSW}
    return {
        "settings": {"index": {"knn": True, "refresh_interval": "1s"}},
        "mappings": {
            "dynamic": "strict",
            "_source": {"enabled": False},
            "_routing": {"required": True},
            "properties": {
                "id": {"type": "keyword", "index": False},
                "partition": {"type": "keyword"},
                "live": {"type": "boolean"},
                "kind": {"type": "keyword", "doc_values": False},
                "ordinal": {"type": "integer", "doc_values": False},
                "labels": {"type": "keyword", "doc_values": False},
                "words": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
                "counts": {"type": "long", "index": False},
                "length": {"type": "integer", "index": False},
                "parts": {
                    "type": "nested",
                    "properties": {"vector": {"type": "knn_vector", "dimension": dimensions, "method": method}},
                },
            },
        },
    }


def document_of(entry: IndexEntry) -> dict[str, Any]:
    """The entry as it is sent; of one that ended nothing but that it ended."""
    if not entry.live:
        return {"partition": hash_of(entry.partition), "live": False}
    document = {
        "id": entry.id,
        "partition": hash_of(entry.partition),
        "live": True,
        "kind": entry.kind,
        "labels": [label_term(name, value) for name, value in (entry.labels or {}).items()],
        "words": " ".join(map(term_of, entry.words)),
        "counts": [packed(word, count) for word, count in Counter(entry.words).items()],
        "length": len(entry.words),
        "parts": [{"vector": unpacked(vector)} for vector in entry.vectors],
    }
    # An index from before there were ordinals knows no such field, and takes records all the same: these have none.
    return document | ({"ordinal": entry.ordinal} if entry.ordinal else {})


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def label_term(name: str, value: str) -> str:
    return f"{name}={value}"  # a name holds no `=`


def label_terms(labels: Mapping[str, str] | None) -> list[str]:
    return [label_term(name, value) for name, value in (labels or {}).items()]


def term_of(word: str) -> str:
    """The word as it stands in the index."""
    is_whole = len(word) <= MAX_TERM_CHARACTERS and word.split() == [word]
    return word if is_whole else f"sha256:{hash_of(word)}"


def number_of(word: str) -> int:
    return int.from_bytes(sha256(word.encode()).digest()[:8]) >> (64 - HASH_BITS)


def packed(word: str, count: int) -> int:
    """The word's number above its count: one sorted list of longs is a record's whole bag of words."""
    return number_of(word) << COUNT_BITS | min(count, (1 << COUNT_BITS) - 1)


def numbers_of(words: Sequence[str]) -> list[int]:
    return [number_of(word) for word in words]
