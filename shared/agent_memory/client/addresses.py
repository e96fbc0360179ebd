"""Paths and query strings, escaped so that a server, a proxy and a signature all read the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from agent_memory.domain.errors import NotFound

_NO_PART = ("", ".", "..")  # cannot be escaped: whoever reads the path makes another one of it


def address(resource: str, path: Mapping[str, object], query: Mapping[str, Any]) -> str:
    """The resource (`/v1/agents/{agent}/memories`) with its names filled in, and the query string behind it.

    query: None is left out; a list stands once for each of its values; times are written in ISO 8601.
    Raises `NotFound` for a part that no path can carry."""
    filled = resource.format_map({name: _part(str(value)) for name, value in path.items()})
    pairs = "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in _pairs(query))
    return f"{filled}?{pairs}" if pairs else filled


def _part(text: str) -> str:
    if text in _NO_PART:
        raise NotFound("There is no such path: an id in it does not have the form of one.")
    return _escaped(text)


def _pairs(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in query.items():
        several = isinstance(value, Sequence) and not isinstance(value, str)
        for one in value if several else [value]:
            if one is not None:
                yield name, _text(one)


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


def _escaped(text: str) -> str:
    """All but the unreserved characters of RFC 3986, a space as %20: the form that SigV4 signs. A lone surrogate goes
    out as bytes that are no UTF-8, for the server to refuse."""
    return quote(text, safe="", errors="surrogatepass")
