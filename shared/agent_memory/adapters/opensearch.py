"""The search index in OpenSearch: one document per record.

Knows how to ask and fill it. Which index that is stands in `opensearch_aliases`, what a document and a request look
like in `opensearch_documents` and `opensearch_queries`. The table is the truth: an index can be thrown away (`fresh`)
and filled again at any time, or another be filled beside it (`start_next`, `beside`, `finish_next`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opensearchpy import OpenSearch

from ..domain.errors import IndexUnavailable
from ..domain.ports import IndexAnswer, IndexEntry, IndexQuery, Statistics
from .opensearch_aliases import Aliases
from .opensearch_client import SEARCH_TIMEOUT_S, list_in, mapped_errors, timeout
from .opensearch_documents import document_of, hash_of
from .opensearch_queries import answer_of, requests_of
from .vector_faults import fault_of

MAX_BULK_BYTES = 4 * 1024 * 1024  # well below the 10 MB that the smallest domains in AWS take in one request
NOT_FOUND, CONFLICT, TOO_MANY_REQUESTS, SERVER_ERROR = 404, 409, 429, 500


class OpenSearchIndex:
    """`SearchIndex` on OpenSearch 2.19 with k-NN.

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
        self._aliases = Aliases(client, alias, model=model, dimensions=dimensions)
        self._dimensions = dimensions
        self._agent_of = agent_of
        self._search_timeout = timeout(search_timeout_s)

    def search(self, query: IndexQuery) -> IndexAnswer:
        if not query.partitions and query.agent_id is None:
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
        return self._apply(entries, self._aliases.targets) if entries else {}

    # ------------------------------------------------------------ which index

    def exists(self) -> bool:
        """Whether there is one for this model."""
        return self._aliases.exists()

    def ensure(self) -> bool:
        """Have an index for this model. Gives whether it is new, and so to be filled."""
        if self._aliases.exists():
            return False
        self._aliases.fresh()
        return True

    def fresh(self) -> str:
        """A new, empty one in the place of the old, which is deleted; gives its name."""
        return self._aliases.fresh()

    def clear(self) -> None:
        """Empty it: what follows is a rebuild from the table."""
        self._aliases.fresh()

    def start_next(self) -> str:
        """Have an index beside this one to fill, which from now on is told of every change; gives its name."""
        return self._aliases.start_next()

    def beside(self) -> NextIndex:
        """The one beside, to be filled from the table."""
        return NextIndex(self)

    def finish_next(self) -> None:
        """Put the one beside in the place of this one."""
        self._aliases.finish_next()

    # ------------------------------------------------------------ searching

    def _header(self, query: IndexQuery) -> dict[str, Any]:
        # Half an answer would pass for a whole one: a shard that fails fails the search.
        header: dict[str, Any] = {"index": self._alias, "allow_partial_search_results": False}
        if query.agent_id is not None:
            header["routing"] = hash_of(query.agent_id)
        elif self._agent_of:
            header["routing"] = ",".join(sorted({hash_of(self._agent_of(name)) for name in query.partitions}))
        return header

    # ------------------------------------------------------------ writing

    def _apply(
        self, entries: Sequence[IndexEntry], targets: Callable[[], Sequence[str]], *, refresh: str = "wait_for"
    ) -> dict[str, str]:
        refused: dict[str, str] = {}
        lines: list[str] = []
        for entry in entries:
            if fault := fault_of(entry, self._dimensions):
                refused[entry.id] = fault
            else:
                lines.append(bulk_lines(entry))
        for body in bodies(lines):
            for alias in targets():
                refused |= self._write(alias, body, refresh)
        return refused

    def _write(self, alias: str, body: str, refresh: str) -> dict[str, str]:
        with mapped_errors():
            answer = self._client.bulk(body=body, index=alias, params={"refresh": refresh, "require_alias": "true"})
        results = [item["index"] for item in list_in(answer, "items")]
        if busy := next((result["status"] for result in results if is_outage(result["status"])), None):
            raise IndexUnavailable(f"the search index answered {busy} to a document")
        if refresh == "wait_for" and any(result["status"] == CONFLICT for result in results):
            self._refresh(alias)
        return {result["_id"]: result["error"]["type"] for result in results if is_refusal(result["status"])}

    def _refresh(self, alias: str) -> None:
        """A conflict means already newer, and does not wait for the refresh that will show the newer one."""
        with mapped_errors():
            self._client.indices.refresh(index=alias)


class NextIndex:
    """A `SearchIndex` to be filled and not yet searched: it does not wait until a search shows what it is told."""

    def __init__(self, index: OpenSearchIndex) -> None:
        self._index = index

    def search(self, query: IndexQuery) -> IndexAnswer:
        raise IndexUnavailable("this index is being filled")

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        return self._index._apply(entries, lambda: [self._index._aliases.next], refresh="false")


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
