"""The JSON Schemas of the review's two answers, as strict modes of models take them: every property required, nothing
beside them, null for what is not stated, and no keyword that some models refuse. Bounds are checked on reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tool_inputs import AddMemory
from .candidates import CANDIDATES
from .decisions import DECISIONS

MEMORY_CANDIDATES = "memory_candidates"
MEMORY_DECISIONS = "memory_decisions"

Schema = dict[str, Any]

_RETRACTS = "true: only that something known is wrong or to be forgotten; the summary then says what."
_MEMORY_ID = "The id of the neighbour to replace or delete, or that says it already; else null."
_ACTION = (
    "A fact: add, replace the neighbour that it corrects, or skip when a neighbour says it already. One that retracts:"
    " delete a neighbour, or skip."
)


def candidates_schema(asked: Mapping[str, Any]) -> Schema:
    """asked: of `candidates_asked`; its kinds, scopes and labels are all that there are."""
    fields = {
        "retracts": {"type": "boolean", "description": _RETRACTS},
        "summary": _described("summary", {"type": "string"}),
        "content": _or_null("content", {"type": "string"}),
        "kind": _described("kind", {"type": "string", "enum": list(asked["kinds"])}),
        "labels": _or_null("labels", _labels(asked["labels"])),
        "scope": _or_null("scope", {"type": "string", "enum": list(asked["scopes"])}),
        "memory_key": _or_null("memory_key", {"type": "string"}),
        "priority": _or_null("priority", {"type": "integer"}),
        "occurred_at": _or_null("occurred_at", {"type": "string"}),
        "expires_at": _or_null("expires_at", {"type": "string"}),
    }
    choices = {"labels": asked["labels"], "scope": asked["scopes"]}
    return _list_of(CANDIDATES, {name: schema for name, schema in fields.items() if choices.get(name, True)})


def decisions_schema(asked: Mapping[str, Any]) -> Schema:
    """The same whatever is asked: of numbers and ids it does not say which, since models take seconds to prepare for a
    schema that they have not seen."""
    fields: dict[str, Schema] = {
        "candidate": {"type": "integer"},
        "action": {"type": "string", "enum": ["add", "replace", "delete", "skip"], "description": _ACTION},
        "memory_id": {**_nullable({"type": "string"}), "description": _MEMORY_ID},
        "reason": {"type": "string", "description": "Why, in one sentence."},
    }
    return _list_of(DECISIONS, fields)


def _list_of(name: str, fields: Mapping[str, Schema]) -> Schema:
    return _object({name: {"type": "array", "items": _object(fields)}})


def _object(fields: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def _labels(descriptions: Mapping[str, str]) -> Schema:
    return _object(
        {name: {**_nullable({"type": "string"}), "description": text} for name, text in descriptions.items()}
    )


def _or_null(name: str, schema: Schema) -> Schema:
    return _described(name, _nullable(schema))


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _described(name: str, schema: Schema) -> Schema:
    """The field is that of `add_memory`, so it is described in the same words."""
    return {**schema, "description": AddMemory.model_fields[name].description}
