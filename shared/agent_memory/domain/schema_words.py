"""A JSON Schema in words: `{"type": "integer", "minimum": 1, "maximum": 50}` is "a whole number from 1 to 50".

Knows the part of JSON Schema that pydantic writes for our models, and how to walk down in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from . import durations, instants

Schema = Mapping[str, Any]

_FORMATS = {"date-time": instants.TAKES, "duration": durations.TAKES}
_PLAIN = {"boolean": "true or false", "null": "null"}
_REF = "#/$defs/"


@dataclass(frozen=True, slots=True)
class Node:
    """One place of a schema, references followed. `defs`: the definitions of the whole."""

    schema: Schema
    defs: Mapping[str, Schema]

    @classmethod
    def of(cls, schema: Schema, defs: Mapping[str, Schema]) -> Node:
        while "$ref" in schema:
            schema = {**defs[schema["$ref"].removeprefix(_REF)], **{k: v for k, v in schema.items() if k != "$ref"}}
        return cls(schema, defs)

    def alternatives(self) -> list[Node]:
        """What may stand here: itself, where the schema leaves no choice. null is as good as absent, so never one."""
        options = self.schema.get("anyOf") or self.schema.get("oneOf") or []
        nodes = [Node.of(option, self.defs) for option in options]
        return [node for node in nodes if node.schema.get("type") != "null"] or [self]

    def fields(self) -> list[str]:
        names = (name for node in self.alternatives() for name in node.schema.get("properties", {}))
        return list(dict.fromkeys(names))

    def child(self, step: str | int) -> Node:
        """The place below, by name or position; a node that says nothing where the schema does not."""
        below = (_below(node.schema, step) for node in self.alternatives())
        found = [schema for schema in below if isinstance(schema, Mapping)]
        return Node.of(found[0] if len(found) == 1 else {"anyOf": found}, self.defs)

    def names(self) -> Node:
        """What the names of an object's own values take."""
        for node in self.alternatives():
            if "propertyNames" in node.schema:
                return Node.of(node.schema["propertyNames"], self.defs)
            for pattern in node.schema.get("patternProperties", {}):
                return Node({"type": "string", "pattern": pattern}, self.defs)
        return Node({"type": "string"}, self.defs)

    def tags(self) -> dict[str, Node]:
        """The alternatives by the value that tells them apart; empty where nothing does."""
        mapping = self.schema.get("discriminator", {}).get("mapping", {})
        return {tag: Node.of({"$ref": ref}, self.defs) for tag, ref in mapping.items()}

    def words(self) -> str:
        """What may stand here, as the end of "takes …"."""
        if self.tags():
            return "an object"
        return " or ".join(dict.fromkeys(_words(node) for node in self.alternatives()))


@lru_cache(maxsize=64)
def schema_of(model: type[BaseModel]) -> Node:
    """The schema of what the model takes. Kept: pydantic takes milliseconds to write one."""
    schema = model.model_json_schema()
    return Node.of(schema, schema.get("$defs", {}))


def _below(schema: Schema, step: str | int) -> Any:
    if isinstance(step, int):
        return schema.get("items")
    if step in schema.get("properties", {}):
        return schema["properties"][step]
    return next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))


def _words(node: Node) -> str:
    schema = node.schema
    if "enum" in schema or "const" in schema:
        return _choice(schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "integer":
            return "a whole number" + _range(schema)
        case "number":
            return "a number" + _range(schema)
        case "string":
            return _FORMATS.get(schema.get("format", ""), "text" + _length(schema) + _form(schema))
        case "array":
            return f"a list{_count(schema)}" + _each(node.child(0))
        case "object":
            return _object(node)
        case plain:
            return _PLAIN.get(str(plain), "another value")


def _choice(values: list[Any]) -> str:
    spelled = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return spelled[0] if len(spelled) == 1 else f"one of {', '.join(spelled)}"


def _range(schema: Schema) -> str:
    return f" from {schema['minimum']:g} to {schema['maximum']:g}" if "maximum" in schema else ""


def _length(schema: Schema) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if most is None:
        return ""
    return f" of {least} to {most:,} characters" if least else f" of at most {most:,} characters"


def _form(schema: Schema) -> str:
    return f" of the form {schema['pattern'].strip('^$')}" if "pattern" in schema else ""


def _count(schema: Schema) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if most is None:
        return ""
    return f" of {least} to {most}" if least else f" of at most {most}"


def _each(item: Node) -> str:
    if not item.schema:
        return ""
    return " objects" if item.fields() else f", each {item.words()}"


def _object(node: Node) -> str:
    if names := ", ".join(node.fields()):
        return f"an object with the fields {names}"
    most = node.schema.get("maxProperties")
    return f"an object of at most {most} names" if most is not None else "an object"
