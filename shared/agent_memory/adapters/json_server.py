"""Posts JSON to a server outside, with retries and a deadline; for adapters of models behind HTTP.

Knows connections, statuses and time; leaves the meaning of an answer to the adapter. Says nothing of what was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

import urllib3
from tenacity import RetryCallState, Retrying, retry_if_exception_type, retry_if_result, stop_after_attempt
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError

_CONNECT_S = 2.0
_LONGEST_PAUSE_S = 2.0  # also what a server may ask for with Retry-After
_MOST_BYTES = 64 * 1024 * 1024  # 96 vectors of 4,096 dimensions are some 8 MB of JSON
_PIECE_BYTES = 64 * 1024


class Silent(Exception):
    """No whole answer came. `dropped`: the server was reached and broke the connection off, as one that dies over a
    request does; otherwise it was not reached or took too long."""

    def __init__(self, why: str, *, dropped: bool = False) -> None:
        super().__init__(why)
        self.dropped = dropped


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """body: the parsed JSON, or None where it was none."""

    status: int
    body: Any
    retry_after_s: float | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status in (408, 429) or self.status >= 500


class JsonServer:
    """One server. Threads share its connections. pause_s: the pause before the first retry, doubled at each."""

    def __init__(self, base_url: str, *, key: str | None = None, pause_s: float = 0.2) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._pause_s = pause_s
        self._pool = urllib3.PoolManager(maxsize=16, retries=False)

    def post(self, path: str, body: Mapping[str, Any], *, until: float, attempts: int = 3) -> JsonAnswer:
        """The last answer of at most `attempts`, begun before the moment `until` (of `time.monotonic`) and over within
        it. A status that may pass is asked again, and so is a dropped connection. Raises `Silent`."""
        sent = json.dumps(body).encode()
        retrying = Retrying(
            stop=lambda state: _is_last(state, attempts, until),
            wait=self._pause,
            retry=retry_if_result(lambda answer: answer.may_pass) | retry_if_exception_type(Silent),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        answer: JsonAnswer = retrying(self._once, path, sent, until)
        return answer

    def _once(self, path: str, sent: bytes, until: float) -> JsonAnswer:
        left_s = until - monotonic()
        if left_s <= 0:
            raise Silent("out of time")
        timeout = urllib3.Timeout(connect=min(_CONNECT_S, left_s), read=left_s)
        try:
            # No redirect is followed: it would carry the key elsewhere.
            response = self._pool.request(
                "POST",
                self._base + path,
                body=sent,
                headers=self._headers,
                timeout=timeout,
                redirect=False,
                preload_content=False,
            )
            received = _received(response, until)
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise Silent(type(error).__name__) from None
        except ReadTimeoutError as error:
            raise Silent(type(error).__name__) from None
        except HTTPError as error:
            raise Silent(type(error).__name__, dropped=True) from None
        return JsonAnswer(response.status, _parsed(received), _retry_after_s(response.headers.get("Retry-After")))

    def _pause(self, state: RetryCallState) -> float:
        outcome = state.outcome
        answer = None if outcome is None or outcome.failed else outcome.result()
        asked_s = answer.retry_after_s if isinstance(answer, JsonAnswer) else None
        own_s: float = self._pause_s * 2 ** (state.attempt_number - 1)
        return min(_LONGEST_PAUSE_S, own_s if asked_s is None else asked_s)


def _is_last(state: RetryCallState, attempts: int, until: float) -> bool:
    return bool(stop_after_attempt(attempts)(state)) or monotonic() + state.upcoming_sleep >= until


def _received(response: urllib3.BaseHTTPResponse, until: float) -> bytes:
    """The whole body, or `Silent`: a server that sends it byte by byte is bounded too."""
    received = bytearray()
    try:
        while piece := response.read1(_PIECE_BYTES):
            received += piece
            if len(received) > _MOST_BYTES:
                raise Silent("answer too large")
            if monotonic() > until:
                raise Silent("out of time")
        response.release_conn()
    except Silent:
        response.close()
        raise
    return bytes(received)


def _parsed(received: bytes) -> Any:
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return None


def _retry_after_s(header: str | None) -> float | None:
    try:
        return urllib3.Retry().parse_retry_after(header) if header else None
    except HTTPError:
        return None
