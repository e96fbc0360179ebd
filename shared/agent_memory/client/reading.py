"""From an answer's JSON to a value of its shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from agent_memory.domain.errors import UnreadableAnswer

T = TypeVar("T")

_NOT_OURS = "What answered is not this API, or a version of it that this client cannot read"


def json_object(response: httpx.Response) -> dict[str, Any]:
    """Raises `UnreadableAnswer`, which shows nothing of what was answered."""
    try:
        value = json.loads(response.content)
    except ValueError as error:
        raise UnreadableAnswer(f"{_NOT_OURS}: no JSON, status {response.status_code}.") from error
    if not isinstance(value, dict):
        raise UnreadableAnswer(f"{_NOT_OURS}: no JSON object, status {response.status_code}.")
    return value


def shaped(shape: type[T], value: Mapping[str, Any] | Any) -> T:
    """The value as the dataclass has it; fields that it does not know are passed over. Raises `UnreadableAnswer`."""
    try:
        read: T = _adapter(shape).validate_python(value)
    except ValidationError as error:
        fields = {str(fault["loc"][0]) for fault in error.errors(include_input=False) if fault["loc"]}
        # from None: the text of pydantic's error quotes the answer
        raise UnreadableAnswer(f"{_NOT_OURS}: {shape.__name__}, {', '.join(sorted(fields))}.") from None
    return read


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
