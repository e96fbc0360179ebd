"""How the product talks to OpenSearch: one client, short timeouts, one retry, and foreign errors turned into ours.

Knows nothing of memories; what is asked stands in `opensearch_queries`, what is written in `opensearch_documents`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opensearchpy import OpenSearch, OpenSearchException, TransportError, Urllib3HttpConnection
from urllib3 import Timeout

from ..domain.errors import IndexUnavailable

CONNECT_TIMEOUT_S = 1.0
SEARCH_TIMEOUT_S = 3.0  # rather than wait longer, a recall asks the store
WRITE_TIMEOUT_S = 30.0  # waits for a refresh; nobody waits for it
RETRIES = 1  # of refused connections and 502, 503, 504; a call that timed out is not sent again
CONNECTIONS = 8  # kept open per process


def connect(url: str, *, signer: Any = None) -> OpenSearch:
    """A client of the cluster at `url`; it connects at its first call. signer: what opensearch-py takes as `http_auth`,
    such as `Urllib3AWSV4SignerAuth` for a domain in AWS."""
    return OpenSearch(
        url,
        http_auth=signer,
        connection_class=Urllib3HttpConnection,
        timeout=timeout(WRITE_TIMEOUT_S),
        max_retries=RETRIES,
        pool_maxsize=CONNECTIONS,
    )


def timeout(read_s: float) -> Timeout:
    return Timeout(connect=CONNECT_TIMEOUT_S, read=read_s)


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Whatever OpenSearch does not answer as asked is `IndexUnavailable`. Its own words are left out: they may quote
    values of the document or the query. The cause is cut for the same reason."""
    try:
        yield
    except TransportError as error:
        raise IndexUnavailable(f"the search index answered {error.status_code} {error_type(error)}") from None
    except OpenSearchException as error:
        raise IndexUnavailable(f"the search index did not answer: {type(error).__name__}") from None


def error_type(error: TransportError) -> str:
    """`index_not_found_exception`, or the class of an error that came from no answer."""
    return error.error if isinstance(error.error, str) and error.error.isidentifier() else type(error).__name__


def list_in(answer: Any, name: str) -> list[dict[str, Any]]:
    """A list of the answer by its name. A proxy between may answer 200 with no answer of OpenSearch's."""
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise IndexUnavailable(f"the search index answered without {name}")
    return found
