"""The tools as a model is offered them: one JSON Schema each, in three wrappers (CF-8).

The schemas are those of the inputs' own models, made plain (models trip over references and alternatives) and narrowed
to what the agent's configuration allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, assert_never

from .configuration import AgentConfig
from .messages import Speaker
from .precedence import PLATFORM_KINDS
from .schema_words import Node, Schema, schema_of
from .scopes import Scope
from .tool_inputs import MAX_LABEL_CHARACTERS
from .tools import TOOLS, offered_tools, savable_scopes

Dialect = Literal["anthropic", "openai", "bedrock"]

PURPOSES = {
    Scope.SESSION: "a temporary choice agreed in this conversation",
    Scope.WORKFLOW: "conventions and lessons that a flow repeats",
    Scope.USER: "personal preferences",
    Scope.AGENT: "what every session may know",
    Scope.PLATFORM: "policy for all, needs approval",
}

_OUTER = ("description", "default", "format")  # stand beside the alternatives, not in them
_KEPT = (
    "type",
    "description",
    "enum",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)


def tool_schemas(config: AgentConfig, dialect: Dialect, audience: Speaker = "agent") -> list[dict[str, Any]]:
    """The offered tools, in the order of `TOOLS`."""
    return [_wrapped(dialect, name, *_tool(name, config)) for name in offered_tools(config, audience)]


def _wrapped(dialect: Dialect, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    match dialect:
        case "anthropic":
            return {"name": name, "description": description, "input_schema": schema}
        case "openai":
            function = {"name": name, "description": description, "parameters": schema}
            return {"type": "function", "function": function}
        case "bedrock":
            return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": schema}}}
        case _:
            assert_never(dialect)


def _tool(name: str, config: AgentConfig) -> tuple[str, dict[str, Any]]:
    """Its description, and the schema of its input."""
    root = schema_of(TOOLS[name])
    arguments = {argument: _plain(root.child(argument)) for argument in root.fields()}
    narrowed = {argument: _narrowed(name, argument, plain, config) for argument, plain in arguments.items()}
    return " ".join(root.schema["description"].split()), {
        "type": "object",
        "properties": {argument: plain for argument, plain in narrowed.items() if plain is not None},
        "required": list(root.schema.get("required", [])),
        "additionalProperties": False,
    }


def _plain(node: Node) -> dict[str, Any]:
    """An argument without references, titles and alternatives (null means absent, so it is none)."""
    chosen = node.alternatives()[0]
    schema = {**chosen.schema, **{key: node.schema[key] for key in _OUTER if key in node.schema}}
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("default"):  # not null, "" or an empty list: those say nothing
        plain["default"] = schema["default"]
    if plain.get("type") == "array":
        plain["items"] = _plain(chosen.child(0))
    return plain


def _narrowed(tool: str, argument: str, plain: Schema, config: AgentConfig) -> dict[str, Any] | None:
    """The argument as this agent may use it, or None where it may not."""
    match argument:
        case "kind" if tool == "add_memory":
            return _kinds_to_save(plain, config)
        case "kind":  # no enum: kinds that an earlier version declared can still be searched for (CF-3)
            return _described(plain, f"Declared are {', '.join(config.kinds)}.")
        case "labels":
            return _labels(plain, config)
        case "scope":
            return _scope(plain, savable_scopes(config))
        case "pinned" if config.memory.pinned is None:
            return None
        case "limit" if tool == "search_memory":
            return _described(plain, f"Default {config.memory.search.max_results}.")
        case _:
            return dict(plain)


def _kinds_to_save(plain: Schema, config: AgentConfig) -> dict[str, Any]:
    scopes = savable_scopes(config)
    declared = config.kinds if scopes != [Scope.PLATFORM] else []
    platform = [kind for kind in PLATFORM_KINDS if Scope.PLATFORM in scopes and kind not in declared]
    told = f"One of {', '.join(declared or platform)}."
    if declared and platform:
        told += f" With scope platform one of {', '.join(PLATFORM_KINDS)}."
    return _described(plain, told, enum=[*declared, *platform])


def _labels(plain: Schema, config: AgentConfig) -> dict[str, Any] | None:
    if not config.memory.labels:
        return None
    names = {
        name: {"type": "string", "description": label.description, "minLength": 1, "maxLength": MAX_LABEL_CHARACTERS}
        for name, label in config.memory.labels.items()
    }
    return {**plain, "properties": names, "additionalProperties": False}


def _scope(plain: Schema, scopes: Sequence[Scope]) -> dict[str, Any] | None:
    if all(scope is Scope.SESSION for scope in scopes):
        return None
    purposes = "; ".join(f"{scope}: {PURPOSES[scope]}" for scope in scopes)
    return _described(plain, f"{purposes}. Default {scopes[0]}.", enum=[scope.value for scope in scopes])


def _described(plain: Schema, more: str, **keywords: Any) -> dict[str, Any]:
    return {**plain, "description": f"{plain['description']} {more}", **keywords}
