"""How the product talks to OpenSearch: JSON over pooled connections, short timeouts, one retry, and whatever is not
answered as asked turned into `IndexUnavailable`.

On urllib3 alone, which botocore brings along: of all that opensearch-py knows the product would use eight requests, and
importing it costs a third of a function's start (tests/performance/cold_start.py). Knows nothing of memories; what is
asked stands in `opensearch_queries`, what is written in `opensearch_documents`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

from urllib3 import PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError
from urllib3.util import make_headers, parse_url

from ..domain.errors import IndexUnavailable
from .aws import CONTENT_TYPE, Sign, Unsigned

CONNECT_TIMEOUT_S = 1.0
SEARCH_TIMEOUT_S = 3.0  # rather than wait longer, a recall asks the store
WRITE_TIMEOUT_S = 30.0  # waits for a refresh; nobody waits for it
RETRIES = 1  # of refused connections and 502, 503, 504; a call that timed out is not sent again
CONNECTIONS = 8  # kept open per process


class Answer(NamedTuple):
    """body: the parsed JSON, None where it was none."""

    status: int
    body: Any

    @property
    def error(self) -> str:
        """The type of the error, such as `index_not_found_exception`. Its words are left out: they may quote values of
        the document or the query."""
        told = self.body.get("error") if isinstance(self.body, dict) else None
        kind = told.get("type") if isinstance(told, dict) else None
        return kind if isinstance(kind, str) and kind.isidentifier() else "no reason"


class OpenSearchServer:
    """The cluster at `url`, which may hold a name and password. sign: (method, url, body) → headers, for one in AWS.
    Connects at the first call; threads share its connections."""

    def __init__(self, url: str, *, sign: Sign | None = None) -> None:
        parsed = parse_url(url)
        self.url = parsed._replace(auth=None).url.rstrip("/")
        self._sign = sign
        self._headers = {"Content-Type": CONTENT_TYPE}
        self._headers |= make_headers(basic_auth=parsed.auth) if parsed.auth else {}
        self._pool = PoolManager(maxsize=CONNECTIONS, retries=_RETRY)

    def request(
        self, method: str, path: str, body: object = None, *, read_s: float = WRITE_TIMEOUT_S, **query: str
    ) -> Any:
        """The answer's JSON. body: a JSON value, or a text of lines. Raises `IndexUnavailable`, also for a refusal."""
        answer = self.perform(method, path, body, read_s=read_s, **query)
        if answer.status >= 400:
            raise refused(answer)
        return answer.body

    def perform(
        self, method: str, path: str, body: object = None, *, read_s: float = WRITE_TIMEOUT_S, **query: str
    ) -> Answer:
        """As `request`; what the server refuses is an answer too."""
        url = f"{self.url}/{path}{'?' + urlencode(query) if query else ''}"
        sent = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            headers = {**self._headers, **(self._sign(method, url, sent) if self._sign else {})}
            timeout = Timeout(connect=CONNECT_TIMEOUT_S, read=read_s)
            response = self._pool.request(method, url, body=sent, headers=headers, timeout=timeout, redirect=False)
        except (HTTPError, Unsigned) as error:
            raise IndexUnavailable(f"the search index did not answer: {type(error).__name__}") from None
        return Answer(response.status, _parsed(response.data))


_RETRY = Retry(
    total=RETRIES,
    read=0,
    other=0,
    status_forcelist=(502, 503, 504),
    allowed_methods=None,
    raise_on_status=False,
    respect_retry_after_header=False,
)


def refused(answer: Answer) -> IndexUnavailable:
    return IndexUnavailable(f"the search index answered {answer.status} {answer.error}")


def list_in(answer: Any, name: str) -> list[dict[str, Any]]:
    """A list of the answer by its name. A proxy between may answer 200 with no answer of OpenSearch's."""
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise IndexUnavailable(f"the search index answered without {name}")
    return found


def _parsed(received: bytes) -> Any:
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return None
