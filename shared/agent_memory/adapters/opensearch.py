"""The search index in OpenSearch: one alias over numbered indices, one document per record.

Knows how to create, ask and fill it; what a document and a request look like stands in `opensearch_documents` and
`opensearch_queries`. The table is the truth: an index can be thrown away (`fresh`) and filled again at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opensearchpy import OpenSearch, RequestError

from ..domain.errors import IndexUnavailable
from ..domain.ports import IndexAnswer, IndexEntry, IndexQuery, Statistics
from .opensearch_client import SEARCH_TIMEOUT_S, list_in, mapped_errors, timeout
from .opensearch_documents import document_of, hash_of, index_body
from .opensearch_queries import answer_of, requests_of
from .vector_faults import fault_of

MAX_BULK_BYTES = 4 * 1024 * 1024  # well below the 10 MB that the smallest domains in AWS take in one request
NOT_FOUND, CONFLICT, TOO_MANY_REQUESTS, SERVER_ERROR = 404, 409, 429, 500


class OpenSearchIndex:
    """`SearchIndex` on OpenSearch 2.19 with k-NN.

    model: the embedding model, part of the index's name, since vectors of two models do not compare.
    agent_of: the agent of a partition. With it a search goes to that agent's shard alone, without it to all; the
    answers are the same.
    """

    def __init__(
        self,
        client: OpenSearch,
        alias: str = "memories",
        *,
        model: str,
        dimensions: int,
        agent_of: Callable[[str], str] | None = None,
        search_timeout_s: float = SEARCH_TIMEOUT_S,
    ) -> None:
        self._client = client
        self._alias = alias
        self._stem = f"{alias}-{re.sub('[^a-z0-9]+', '-', model.lower()).strip('-')}"
        self._dimensions = dimensions
        self._agent_of = agent_of
        self._search_timeout = timeout(search_timeout_s)

    def search(self, query: IndexQuery) -> IndexAnswer:
        if not query.partitions:
            return nothing(query)
        requests = requests_of(query)
        header = self._header(query)
        lines = [line for request in requests.values() for line in (header, request)]
        with mapped_errors():
            answer = self._client.msearch(body=lines, request_timeout=self._search_timeout)
        responses = list_in(answer, "responses")
        for response in responses:
            if error := response.get("error"):
                raise IndexUnavailable(f"the search index answered {response['status']} {error.get('type')}")
        return answer_of(query, dict(zip(requests, responses, strict=True)))

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        refused: dict[str, str] = {}
        lines: list[str] = []
        for entry in entries:
            if fault := fault_of(entry, self._dimensions):
                refused[entry.id] = fault
            else:
                lines.append(bulk_lines(entry))
        for body in bodies(lines):
            refused |= self._write(body)
        return refused

    def ensure(self) -> bool:
        """Have an index for this model behind the alias. Gives whether it is new, and so to be filled."""
        names = self._names_behind_alias()
        if any(name.startswith(f"{self._stem}-") for name in names):
            return False
        self.fresh()
        return True

    def fresh(self) -> str:
        """Make a new, empty index, point the alias to it and delete those it pointed to; gives the new one's name.
        Whoever searches meanwhile sees the old one or the new one."""
        with mapped_errors():
            old = self._names_behind_alias()
            name = self._create()
            actions: list[dict[str, Any]] = [{"add": {"index": name, "alias": self._alias}}]
            actions += [{"remove_index": {"index": index}} for index in old]
            self._client.indices.update_aliases(body={"actions": actions})
        return name

    def clear(self) -> None:
        """Empty it: what follows is a rebuild from the table."""
        self.fresh()

    # ------------------------------------------------------------ searching

    def _header(self, query: IndexQuery) -> dict[str, Any]:
        # Half an answer would pass for a whole one: a shard that fails fails the search.
        header: dict[str, Any] = {"index": self._alias, "allow_partial_search_results": False}
        if self._agent_of:
            header["routing"] = ",".join(sorted({hash_of(self._agent_of(name)) for name in query.partitions}))
        return header

    # ------------------------------------------------------------ writing

    def _write(self, body: str) -> dict[str, str]:
        with mapped_errors():
            answer = self._client.bulk(
                body=body,
                index=self._alias,
                params={"refresh": "wait_for", "require_alias": "true"},
            )
        results = [item["index"] for item in list_in(answer, "items")]
        if busy := next((result["status"] for result in results if is_outage(result["status"])), None):
            raise IndexUnavailable(f"the search index answered {busy} to a document")
        if any(result["status"] == CONFLICT for result in results):
            self._refresh()
        return {result["_id"]: result["error"]["type"] for result in results if is_refusal(result["status"])}

    def _refresh(self) -> None:
        """A conflict means already newer, and does not wait for the refresh that will show the newer one."""
        with mapped_errors():
            self._client.indices.refresh(index=self._alias)

    # ------------------------------------------------------------ names

    def _names_behind_alias(self) -> list[str]:
        with mapped_errors():
            if not self._client.indices.exists_alias(name=self._alias):
                return []
            return sorted(self._client.indices.get_alias(name=self._alias))

    def _create(self) -> str:
        """The next number that is free; another process may take one at the same moment."""
        while True:
            existing = self._client.indices.get(index=f"{self._stem}-*", params={"expand_wildcards": "all"})
            numbers = [int(name.rpartition("-")[2]) for name in existing if name.rpartition("-")[2].isdecimal()]
            name = f"{self._stem}-{max(numbers, default=0) + 1}"
            try:
                self._client.indices.create(index=name, body=index_body(self._dimensions))
            except RequestError as error:
                if error.error != "resource_already_exists_exception":
                    raise
            else:
                return name


def nothing(query: IndexQuery) -> IndexAnswer:
    return IndexAnswer([], [], Statistics(containing=(0,) * len(query.words)))


def is_outage(status: int) -> bool:
    """An index that is not there is one too: made on the way it would pass for whole. `ensure` makes it, to fill it."""
    return status in (NOT_FOUND, TOO_MANY_REQUESTS) or status >= SERVER_ERROR


def is_refusal(status: int) -> bool:
    return status >= 400 and status != CONFLICT


def bulk_lines(entry: IndexEntry) -> str:
    action = {
        "_id": entry.id,
        "routing": hash_of(entry.agent_id),
        "version": entry.stamp,
        "version_type": "external",
    }
    return f"{json.dumps({'index': action})}\n{json.dumps(document_of(entry))}\n"


def bodies(lines: Sequence[str]) -> Iterator[str]:
    """The lines in as few bodies as the limit allows; one document alone is always below it. They are ASCII, so
    characters are bytes."""
    body: list[str] = []
    size = 0
    for line in lines:
        if body and size + len(line) > MAX_BULK_BYTES:
            yield "".join(body)
            body, size = [], 0
        body.append(line)
        size += len(line)
    if body:
        yield "".join(body)
