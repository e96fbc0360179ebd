"""A table, and an embedder, that fail when they are told to, and a process that dies in the middle of a call.

The adapters settle unknown outcomes themselves; what is left over at this port is a call that was not carried out, or
was and is answered as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from embedders import HashEmbedder

from agent_memory.domain.errors import EmbedderUnavailable, StoreUnavailable
from agent_memory.domain.ports import Embedded, Table

Kind = Literal["throttle", "lost answer", "kill before", "kill after"]
KINDS: tuple[Kind, ...] = ("throttle", "lost answer", "kill before", "kill after")
_AFTER = ("lost answer", "kill after")  # of a write, which was carried out
_READS, _WRITES = ("get", "get_many", "query"), ("transact", "increment", "write_many")


class Killed(BaseException):
    """The process is gone: no handler of errors sees it."""


@dataclass
class Armed:
    """Strikes at the call of the table that comes after `calls` others."""

    kind: Kind
    calls: int


class FaultyTable:
    """armed: what strikes next, once; struck: what has struck, for the count."""

    def __init__(self, table: Table) -> None:
        self.inner = table
        self.armed: Armed | None = None
        self.struck: list[Kind] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return self._failing(name, method) if name in _READS + _WRITES else method

    def _failing(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            kind = self._strikes(name)
            if kind in ("throttle", "kill before"):
                raise _error(kind)
            answer = method(*arguments, **named)
            if kind:
                raise _error(kind)
            return answer

        return call

    def _strikes(self, name: str) -> Kind | None:
        if self.armed is None:
            return None
        self.armed.calls -= 1
        if self.armed.calls >= 0 or (self.armed.kind in _AFTER and name in _READS):
            return None
        kind, self.armed = self.armed.kind, None
        self.struck.append(kind)
        return kind


def _error(kind: Kind) -> BaseException:
    return Killed() if kind.startswith("kill") else StoreUnavailable(f"a test's fault: {kind}")


class FaultyEmbedder(HashEmbedder):
    down = False

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        if self.down:
            raise EmbedderUnavailable("switched off")
        return super().embed(texts, query=query)
