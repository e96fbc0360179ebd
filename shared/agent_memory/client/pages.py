"""Lists as iterators: a page is asked for when the one before has been used up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from .connection import Call, Connection
from .reading import shaped

T = TypeVar("T")


def pages(
    connection: Connection,
    resource: str,
    path: Mapping[str, object],
    query: Mapping[str, Any],
    *,
    items: str,
    shape: type[T],
) -> Iterator[T]:
    """Every item of all pages, in the list's order. A page may be short or empty; only a missing `next` is the end."""
    after: str | None = None
    while True:
        call = Call(method="GET", resource=resource, path=path, query={**query, "after": after})
        page = connection.send(call)
        for item in page.get(items, ()):
            yield shaped(shape, item)
        after = page.get("next")
        if after is None:
            return
