"""The OpenAPI document, made from the routes and the models that check what they take (IF-3)."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agent_memory import __version__
from agent_memory.domain.tools import TOOLS

from . import receipts
from .openapi_responses import HEADERS, responses
from .requests import NoQuery, Query
from .routes import ROUTES, Route
from .shapes import ANSWERS, Problem

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"
_ULID = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
_PATH: dict[str, Schema] = {
    "agent": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    "turn": {"type": "string", "pattern": _ULID},
    "id": {"type": "string", "pattern": _ULID},
    "n": {"type": "integer", "minimum": 1},
    "tool": {"type": "string", "enum": list(TOOLS)},
}
_SECURITY: dict[str, Schema] = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "On one machine: a token of the principals file. Without that file nobody is asked.",
    },
    "sigv4": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "In AWS: Signature Version 4, of the service execute-api.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
}


@cache
def document() -> dict[str, Any]:
    bodies = [route.body for route in ROUTES if route.body]
    models: list[type[BaseModel]] = list(dict.fromkeys([*bodies, *ANSWERS.values(), Problem]))
    references, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    named = {model: references[model, "validation"] for model in models}
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.resource, {})[route.method.lower()] = _operation(route, named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Memory",
            "version": __version__,
            "description": "Long-term memory and searchable session history for AI agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "security": [*({name: []} for name in _SECURITY), {}],
        "components": {
            "schemas": definitions["$defs"],
            "headers": dict(HEADERS),
            "securitySchemes": _SECURITY,
        },
    }


def _operation(route: Route, named: dict[type[BaseModel], Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "tags": [route.function],
        "parameters": [*_in_path(route), *_in_query(route.query), *_in_headers(route)],
        "responses": responses(route, named),
    }
    if route.grants:
        operation["description"] = f"Grant: {' or '.join(route.grants)}."
    if route.body:
        content = {"application/json": {"schema": named[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _in_path(route: Route) -> list[Schema]:
    return [{"name": name, "in": "path", "required": True, "schema": _PATH[name]} for name in route.parameters]


def _in_query(query: type[Query]) -> list[Schema]:
    if query is NoQuery:
        return []
    schema = query.model_json_schema(ref_template=_REF)
    return [_parameter(name, dict(field)) for name, field in schema["properties"].items()]


def _parameter(name: str, schema: Schema) -> Schema:
    if "additionalProperties" in schema:
        return _labels(schema)
    plain = _without_null({key: value for key, value in schema.items() if key not in ("title", "description")})
    return {"name": name, "in": "query", "required": False, "description": schema["description"], "schema": plain}


def _labels(schema: Schema) -> Schema:
    """`label.<name>`: a parameter for each name, which is how OpenAPI writes out an object that is exploded."""
    values = {"propertyNames": {"pattern": "^label[.]"}, "additionalProperties": schema["additionalProperties"]}
    told = {"name": "labels", "in": "query", "required": False, "description": schema["description"]}
    return {**told, "style": "form", "explode": True, "schema": {"type": "object", **values}}


def _without_null(schema: Schema) -> Schema:
    """A query string knows no null: a parameter is there or not."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    plain = {name: value for name, value in schema.items() if name != "anyOf" and value is not None}
    if len(options) == 1:
        return {**options[0], **plain}
    return {**plain, "anyOf": options} if options else plain


def _in_headers(route: Route) -> list[Schema]:
    taken = []
    if route.conditional:
        told = 'The version that must stand, quoted, such as "3".'
        taken.append(_header("If-Match", told, required="if_match_required" in route.codes and route.method == "POST"))
    if route.operation == "configure":
        taken.append(_header("If-None-Match", "`*`: only where there is none yet."))
    if route.method == "POST":
        told = "A call that is sent again with its key, within 24 hours, gets the first answer; nothing is done twice."
        pattern = {"type": "string", "pattern": f"^{receipts.FORM}$"}
        taken.append(_header(receipts.HEADER, told, schema=pattern))
    return taken


def _header(name: str, description: str, *, required: bool = False, schema: Schema | None = None) -> Schema:
    told = {"name": name, "in": "header", "required": required, "description": description}
    return {**told, "schema": schema or {"type": "string"}}
