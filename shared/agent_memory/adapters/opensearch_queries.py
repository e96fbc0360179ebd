"""What a search asks OpenSearch in one `_msearch`, and how its answers are read. Pure: knows no client.

Four requests under one filter: the best by words, the best by meaning, the statistics of the whole filter, and the
cosines of a fixed sample of it. Words reach `term` queries alone, so no character of them is syntax.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..domain.fusion import LEG
from ..domain.ports import Candidate, IndexAnswer, IndexQuery, Spread, Statistics
from .opensearch_documents import COUNT_BITS, hash_of, label_terms, numbers_of, term_of

# Lucene's search width is its k. 100 found the exact ten of 10,000 random vectors; twice that is for larger scopes.
NEIGHBOURS = 200
SAMPLE = 64  # cosines of a scope: enough for mean and deviation
SAMPLE_SEED = 7  # any, but always the same: the same records while they do not change

# A record's counts are sorted longs, a word's number above its count: a binary search per word of the query.
COUNTS_SCRIPT = f"""
def packed = doc['counts'];
List counts = new ArrayList();
for (def wanted : params.words) {{
  long word = ((Number) wanted).longValue();
  long count = 0;
  int low = 0;
  int high = packed.size() - 1;
  while (low <= high) {{
    int middle = (low + high) >>> 1;
    long number = packed.get(middle) >> {COUNT_BITS};
    if (number < word) {{ low = middle + 1; }}
    else if (number > word) {{ high = middle - 1; }}
    else {{ count = packed.get(middle) & {(1 << COUNT_BITS) - 1}L; break; }}
  }}
  counts.add(count);
}}
return counts;
"""

Json = dict[str, Any]


def requests_of(query: IndexQuery) -> dict[str, Json]:
    """The requests by name: `statistics` always, `lexical` with words, `vector` and `sample` with a vector."""
    scope = filter_of(query)
    requests = {"statistics": statistics_request(query, scope)}
    if query.words:
        requests["lexical"] = lexical_request(query, scope)
    if query.vector is not None:
        requests["vector"] = vector_request(query, scope)
        requests["sample"] = sample_request(query, scope)
    return requests


def answer_of(query: IndexQuery, responses: Mapping[str, Json]) -> IndexAnswer:
    lexical = candidates_of(query, responses.get("lexical"))
    vector = candidates_of(query, responses.get("vector"), by_cosine=True)
    counted = responses["statistics"]
    documents = counted["hits"]["total"]["value"]
    buckets = counted["aggregations"]["containing"]["buckets"] if query.words else []
    statistics = Statistics(
        documents=documents,
        tokens=int(counted["aggregations"]["tokens"]["value"] or 0),
        containing=tuple(bucket["doc_count"] for bucket in buckets),
        lexical=lexical_spread(responses.get("lexical"), documents),
        vector=vector_spread(vector, responses.get("sample"), documents),
    )
    return IndexAnswer(lexical, vector, statistics)


# ---------------------------------------------------------------- asking


def filter_of(query: IndexQuery) -> Json:
    clauses: list[Json] = [whose(query), {"term": {"live": True}}]
    if query.kind is not None:
        clauses.append({"term": {"kind": query.kind}})
    clauses += [{"term": {"labels": term}} for term in label_terms(query.labels)]
    later = [] if query.before is None else [{"range": {"ordinal": {"gte": query.before}}}]
    return {"bool": {"filter": clauses, "must_not": later}}


def whose(query: IndexQuery) -> Json:
    """An agent's documents are those written with its routing, which other agents of the same shard do not share."""
    if query.agent_id is not None:
        return {"term": {"_routing": hash_of(query.agent_id)}}
    return {"terms": {"partition": [hash_of(partition) for partition in query.partitions]}}


def word_clauses(query: IndexQuery) -> list[Json]:
    return [{"term": {"words": term_of(word)}} for word in query.words]


def leg(query: IndexQuery) -> Json:
    """What every candidate brings along, without a stored document being opened."""
    script = {"source": COUNTS_SCRIPT, "params": {"words": numbers_of(query.words)}}
    return {
        "size": LEG,
        "stored_fields": "_none_",
        "track_total_hits": False,
        "docvalue_fields": ["id", "partition", "length"],
        "script_fields": {"counts": {"script": script}} if query.words else {},
    }


def lexical_request(query: IndexQuery, scope: Json) -> Json:
    words = {"bool": {"should": word_clauses(query), "minimum_should_match": 1}}
    spread = {"extended_stats": {"script": {"source": "_score"}}}
    return {**leg(query), "query": {"bool": {"filter": [scope], "must": [words]}}, "aggs": {"scores": spread}}


def vector_request(query: IndexQuery, scope: Json) -> Json:
    near = {"vector": list(query.vector or ()), "k": NEIGHBOURS, "filter": scope}
    return {**leg(query), "query": best_part({"knn": {"parts.vector": near}})}


def statistics_request(query: IndexQuery, scope: Json) -> Json:
    aggregations: Json = {"tokens": {"sum": {"field": "length"}}}
    if query.words:
        aggregations["containing"] = {"filters": {"filters": word_clauses(query)}}
    return {"size": 0, "track_total_hits": True, "query": scope, "aggs": aggregations}


def sample_request(query: IndexQuery, scope: Json) -> Json:
    """Random records of the filter, scored by their exact cosine as the vector leg is; 0 where they have no vector."""
    drawn = {"query": scope, "random_score": {"seed": SAMPLE_SEED, "field": "_seq_no"}, "boost_mode": "replace"}
    exact = {
        "source": "knn_score",
        "lang": "knn",
        "params": {"field": "parts.vector", "query_value": list(query.vector or ()), "space_type": "cosinesimil"},
    }
    scored = best_part({"script_score": {"query": {"match_all": {}}, "script": exact}})
    rescore = {"query_weight": 0, "rescore_query_weight": 1, "rescore_query": scored}
    return {
        "size": SAMPLE,
        "stored_fields": "_none_",
        "track_total_hits": False,
        "query": {"function_score": drawn},
        "rescore": {"window_size": SAMPLE, "query": rescore},
    }


def best_part(query: Json) -> Json:
    return {"nested": {"path": "parts", "score_mode": "max", "query": query}}


# ---------------------------------------------------------------- reading


def candidates_of(query: IndexQuery, response: Json | None, *, by_cosine: bool = False) -> list[Candidate]:
    if response is None:
        return []
    partition_by_hash = {hash_of(partition): partition for partition in query.partitions}
    return [candidate_of(hit, partition_by_hash, by_cosine) for hit in response["hits"]["hits"]]


def candidate_of(hit: Json, partition_by_hash: Mapping[str, str], by_cosine: bool) -> Candidate:
    fields = hit["fields"]
    return Candidate(
        id=fields["id"][0],
        partition=partition_by_hash[fields["partition"][0]] if partition_by_hash else "",
        counts=tuple(fields.get("counts", ())),
        length=fields["length"][0],
        cosine=cosine_of(hit["_score"]) if by_cosine else None,
    )


def lexical_spread(response: Json | None, documents: int) -> Spread | None:
    scores = response["aggregations"]["scores"] if response else None
    if not scores or not scores["count"] or not documents:
        return None
    mean = scores["sum"] / documents
    variance = scores["sum_of_squares"] / documents - mean * mean
    return Spread(top=scores["max"], mean=mean, deviation=math.sqrt(max(0.0, variance)))


def vector_spread(best: Sequence[Candidate], sample: Json | None, documents: int) -> Spread | None:
    """Exact while the leg holds all that have a vector, else from the sample."""
    if not best or sample is None:
        return None
    cosines = [candidate.cosine or 0.0 for candidate in best]
    top = cosines[0]
    if len(cosines) < LEG:
        cosines += [0.0] * (documents - len(cosines))
    else:
        scores = [hit["_score"] for hit in sample["hits"]["hits"]]
        cosines = [cosine_of(score) if score > 0 else 0.0 for score in scores]
    mean = math.fsum(cosines) / len(cosines)
    variance = math.fsum((cosine - mean) ** 2 for cosine in cosines) / len(cosines)
    return Spread(top=top, mean=mean, deviation=math.sqrt(variance))


def cosine_of(score: float) -> float:
    """The score is (1 + cosine) / 2, of the engine lucene and since k-NN 2.19 of the script too (k-NN #2357)."""
    return min(1.0, max(-1.0, 2 * score - 1))
