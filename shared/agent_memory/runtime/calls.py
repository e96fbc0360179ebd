"""A call as an operation sees it, and the answer it gives; both free of HTTP's own spelling.

Every handler of a POST makes its answer with `runtime.receipts.once`, in one line, so that a call which comes twice
with one Idempotency-Key has one effect (IF-2). Its operation takes `also`, see `operations.also`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from agent_memory.operations.configure import Expected

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The header's text, and a hash of it and of the body that it came with."""

    text: str
    body: str


@dataclass(frozen=True, slots=True)
class Call:
    """resource: the path as the route writes it; path: the ids in it, checked for their form. body and query: checked
    by the route's models. key: only of a POST that came with one."""

    method: str
    resource: str
    path: Mapping[str, str]
    body: BaseModel | None
    query: BaseModel
    expected: Expected
    caller: str
    key: IdempotencyKey | None = None

    @property
    def agent(self) -> str:
        return self.path["agent"]

    @property
    def turn(self) -> str:
        return self.path["turn"]

    def body_as(self, model: type[M]) -> M:
        assert isinstance(self.body, model)
        return self.body

    def query_as(self, model: type[M]) -> M:
        assert isinstance(self.query, model)
        return self.query


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


def etag(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}
