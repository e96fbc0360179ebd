"""A call as an operation sees it, and the answer it gives; both free of HTTP's own spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from agent_memory.operations.configure import Expected

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call:
    """path: the ids in it, checked for their form; body and query: checked by the route's models."""

    path: Mapping[str, str]
    body: BaseModel | None
    query: BaseModel
    expected: Expected
    caller: str

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
