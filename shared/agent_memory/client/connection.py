"""One call to the server and its answer: the only module that talks to it.

Every call may be sent again: GET, PUT and DELETE do no more when they come twice, and a POST that changes something has
an Idempotency-Key, the same for all its attempts, so that it has one effect and one answer. One that only asks (a
recall, a search) goes without: a key costs two writes more, a quarter of the time of a recall on one machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

import httpx

from agent_memory import __version__
from agent_memory.domain.errors import TooLarge

from .addresses import address
from .problems import error_of, no_answer
from .reading import json_object
from .resending import Resending

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Less than the 5 s after which the one-machine server closes an idle connection: what is sent into a connection that
# is just being closed is lost, and sending it again takes its time.
_KEEP_ALIVE_S = 3.0
_CONNECT_S = 10.0
_KEY = re.compile("[!-~]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """resource: as the API's routes have it, with its names in braces. idempotency_key: of a POST; where it has none it
    gets one, unless it only asks. held_s: how long the server may hold the answer back, since it was asked to wait."""

    method: str
    resource: str
    path: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = field(default=None, repr=False)  # it holds what users said
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    only_asks: bool = False
    held_s: float = 0.0


class Connection:
    """Calls to one server, over pooled connections. Threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        timeout_s: float = 30.0,
        resending: Resending | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        host = _host(url)
        self.resending = resending or Resending()
        self._base = url.rstrip("/")
        self._timeout_s = timeout_s
        self._http = httpx.Client(
            auth=auth,
            transport=transport,
            trust_env=host not in _LOOPBACK,  # a proxy of the environment has no business on this machine
            headers={"User-Agent": f"agent-memory-client/{__version__}"},
            limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE_S),
        )

    def send(self, call: Call) -> dict[str, Any]:
        """The answer's body, also one that was kept from an earlier call with the same key. Raises an error of
        `agent_memory.domain.errors`: of the problem that was answered, `Unreachable` where none was,
        `UnreadableAnswer`."""
        url = self._base + address(call.resource, call.path, call.query)
        headers = {**call.headers, **_idempotency(call)}  # once for all attempts
        return json_object(self.resending(partial(self._once, call, url, headers)))

    def close(self) -> None:
        self._http.close()

    def _once(self, call: Call, url: str, headers: Mapping[str, str]) -> httpx.Response:
        content = None if call.body is None else _json(call.body)
        headers = {**headers, **({"Content-Type": "application/json"} if content is not None else {})}
        timeout = httpx.Timeout(self._timeout_s + call.held_s, connect=min(_CONNECT_S, self._timeout_s))
        try:
            response = self._http.request(call.method, url, content=content, headers=headers, timeout=timeout)
        except httpx.RequestError as error:
            raise no_answer(error) from error
        except httpx.InvalidURL as error:
            raise TooLarge("The ids and filters make an address that is too long.") from error
        if not response.is_success:
            raise error_of(response)
        return response


def given(**fields: Any) -> dict[str, Any]:
    """Those that were given: in this API None says the same as absence."""
    return {name: value for name, value in fields.items() if value is not None}


def if_match(version: int | None) -> dict[str, str]:
    """The header that says which version is to stand, where one is given."""
    return {} if version is None else {"If-Match": f'"{version}"'}


def _idempotency(call: Call) -> dict[str, str]:
    if call.method != "POST" or (call.only_asks and call.idempotency_key is None):
        return {}
    key = uuid4().hex if call.idempotency_key is None else call.idempotency_key
    if not _KEY.fullmatch(key):  # here, since what a header refuses is quoted by whoever refuses it
        raise ValueError("idempotency_key takes 1 to 128 visible ASCII characters")
    return {"Idempotency-Key": key}


def _host(url: str) -> str:
    try:
        base = httpx.URL(url)
        if base.scheme in ("http", "https") and base.host and not base.query and not base.fragment:
            return base.host
    except httpx.InvalidURL:
        pass
    raise ValueError("url takes the address of the API, http:// or https://, without a query")


def _json(body: Mapping[str, Any]) -> bytes:
    """UTF-8; with escapes where a lone surrogate stands in it, so that the server can name its place."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), default=_plain).encode()


def _plain(value: object) -> Any:
    """Times as ISO 8601, mappings and sequences of any kind as objects and lists."""
    match value:
        case datetime():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return list(value)
        case _:
            raise TypeError(f"a value of type {type(value).__name__} is no JSON")
