"""The OpenAPI document, made from the routes and the models that check what they take (IF-3)."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agent_memory import __version__
from agent_memory.domain.tools import TOOLS

from . import problems, receipts
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
_EVERYWHERE = (400, 401, 403, 404, 405, 413, 429, 503)
_ETAG = {"ETag": {"description": "The version, quoted.", "schema": {"type": "string"}}}
_WITH_ETAG = frozenset(
    {
        "configure",
        "get_config",
        "get_memory",
        "insert_memory",
        "delete_memory",
        "restore_memory",
        "get_platform_memory",
        "insert_platform_memory",
        "delete_platform_memory",
        "decide_platform_memory",
    }
)
_REPLAYED = {
    receipts.REPLAYED: {
        "description": "`true`: the answer of the first call with this key.",
        "schema": {"const": "true"},
    }
}
_OF_KEYS = ("in_progress", "idempotency_mismatch")


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
        "components": {"schemas": definitions["$defs"]},
    }


def _operation(route: Route, named: dict[type[BaseModel], Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "tags": [route.function],
        "parameters": [*_in_path(route), *_in_query(route.query), *_in_headers(route)],
        "responses": {**_successes(route, named), **_problems(route, named[Problem])},
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
    if "additionalProperties" in schema:  # `label.<name>`: a parameter for each name, whose values these are
        schema = {**schema["additionalProperties"], "description": schema["description"]}
    plain = _without_null({key: value for key, value in schema.items() if key not in ("title", "description")})
    return {"name": name, "in": "query", "required": False, "description": schema["description"], "schema": plain}


def _without_null(schema: Schema) -> Schema:
    """A query string knows no null: a parameter is there or not."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    plain = {name: value for name, value in schema.items() if name != "anyOf" and value is not None}
    if len(options) == 1:
        return {**options[0], **plain}
    return {**plain, "anyOf": options} if options else plain


def _in_headers(route: Route) -> list[Schema]:
    text: Schema = {"type": "string"}
    taken: dict[str, tuple[str, Schema]] = {}
    if route.conditional:
        taken["If-Match"] = 'The version to follow, quoted, such as "3".', text
        taken["If-None-Match"] = "`*`: only where there is none yet.", text
    if route.method == "POST":
        told = "For 24 hours, the same key with an equal body is answered as the first time, and has no second effect."
        taken[receipts.HEADER] = told, {"type": "string", "pattern": f"^{receipts.FORM}$"}
    return [
        {"name": name, "in": "header", "required": False, "description": description, "schema": schema}
        for name, (description, schema) in taken.items()
    ]


def _successes(route: Route, named: dict[type[BaseModel], Schema]) -> dict[str, Any]:
    content = {"application/json": {"schema": named[ANSWERS[route.operation]]}}
    headers = (_ETAG if route.operation in _WITH_ETAG else {}) | (_REPLAYED if route.method == "POST" else {})
    named_headers = {"headers": headers} if headers else {}
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": content, **named_headers}
        for status in route.success
    }


def _problems(route: Route, reference: Schema) -> dict[str, Any]:
    content = {problems.CONTENT_TYPE: {"schema": reference}}
    codes: dict[int, list[str]] = {status: [] for status in _EVERYWHERE}
    for code in (*route.codes, *(_OF_KEYS if route.method == "POST" else ())):
        codes.setdefault(problems.status_of_code(code), []).append(code)
    return {
        str(status): {"description": _described(status, own), "content": content}
        for status, own in sorted(codes.items())
    }


def _described(status: int, codes: list[str]) -> str:
    phrase = HTTPStatus(status).phrase
    return f"{phrase}: {', '.join(codes)}" if codes else phrase
