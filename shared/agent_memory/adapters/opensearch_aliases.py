"""Which index of OpenSearch is searched and which are filled: an alias over numbered indices, and a second alias,
`-next`, over the index that is being filled to take its place.

While the second alias stands, every change is written behind both; so an index that is filled from the table meanwhile
misses nothing. What is written, and how, `opensearch` knows.
"""

from __future__ import annotations

import re
from typing import Any

from opensearchpy import OpenSearch, RequestError

from ..domain.errors import IndexUnavailable
from .opensearch_client import mapped_errors
from .opensearch_documents import index_body


class Aliases:
    """model: part of an index's name, since vectors of two models do not compare."""

    def __init__(self, client: OpenSearch, alias: str, *, model: str, dimensions: int) -> None:
        self._client = client
        self._dimensions = dimensions
        self._stem = f"{alias}-{re.sub('[^a-z0-9]+', '-', model.lower()).strip('-')}"
        self.current = alias
        self.next = f"{alias}-next"

    def exists(self) -> bool:
        """Whether an index for this model is searched."""
        return any(map(self._is_ours, self._standing()[self.current]))

    def targets(self) -> list[str]:
        """The aliases that a change is to be written behind. Raises `IndexUnavailable` where the only index is another
        model's: it would refuse the vectors for good."""
        standing = self._standing()
        is_other = bool(standing[self.current]) and not any(map(self._is_ours, standing[self.current]))
        if standing[self.next]:
            return [self.next] if is_other else [self.current, self.next]
        if is_other:
            raise IndexUnavailable("the search index is another model's; a new one has to be made")
        return [self.current]

    def fresh(self) -> str:
        """A new, empty index in the place of the one that is searched, which is deleted; gives its name. Whoever
        searches meanwhile sees the old one or the new one."""
        with mapped_errors():
            old = self._standing()[self.current]
            name = self._create()
            self._change({"add": {"index": name, "alias": self.current}}, *map(_removal, old))
        return name

    def start_next(self) -> str:
        """The index behind `-next`, a new one where there is none for this model; gives its name."""
        with mapped_errors():
            standing = self._standing()[self.next]
            if ours := [name for name in standing if self._is_ours(name)]:
                return ours[0]
            name = self._create()
            self._change({"add": {"index": name, "alias": self.next}}, *map(_removal, standing))
        return name

    def finish_next(self) -> None:
        """Have the index behind `-next` searched, and delete the one that was; nothing where there is none."""
        with mapped_errors():
            standing = self._standing()
            if not standing[self.next]:
                return
            self._client.indices.refresh(index=self.next)
            name = standing[self.next][0]
            moved = [{"add": {"index": name, "alias": self.current}}, {"remove": {"index": name, "alias": self.next}}]
            self._change(*moved, *map(_removal, set(standing[self.current]) - {name}))

    def _standing(self) -> dict[str, list[str]]:
        """Names of the indices behind both aliases. One request: a name with a star may stand for nothing, where one
        without may not."""
        with mapped_errors():
            answer = self._client.indices.get_alias(name=f"{self.current}*")
        standing: dict[str, list[str]] = {self.current: [], self.next: []}
        for name, told in sorted(answer.items()) if isinstance(answer, dict) else ():
            for alias in told.get("aliases", ()) if isinstance(told, dict) else ():
                if alias in standing:
                    standing[alias].append(name)
        return standing

    def _is_ours(self, name: str) -> bool:
        return name.rpartition("-")[0] == self._stem

    def _change(self, *actions: dict[str, Any]) -> None:
        self._client.indices.update_aliases(body={"actions": list(actions)})

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


def _removal(name: str) -> dict[str, Any]:
    return {"remove_index": {"index": name}}
