"""The OpenAPI document: every route is in it, every reference leads somewhere, nothing is in it that is not built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from agent_memory.runtime.openapi import document
from agent_memory.runtime.requests import EventType
from agent_memory.runtime.routes import ROUTES

DOCUMENT = document()
OPERATIONS = {
    operation["operationId"]: operation for methods in DOCUMENT["paths"].values() for operation in methods.values()
}


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for below in value.values():
            yield from walk(below)
    elif isinstance(value, list):
        for below in value:
            yield from walk(below)


@pytest.mark.rule("IF-3")
def test_every_route_is_in_the_document() -> None:
    documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert documented == {(route.method, route.resource) for route in ROUTES}
    assert set(OPERATIONS) == {route.operation for route in ROUTES}


@pytest.mark.rule("IF-3")
def test_every_reference_leads_somewhere() -> None:
    named = {each["$ref"] for each in walk(DOCUMENT) if isinstance(each.get("$ref"), str)}
    assert named
    for reference in named:
        _, components, kind, name = reference.split("/")
        assert name in DOCUMENT[components][kind]


@pytest.mark.rule("IF-3")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_an_operation_tells_what_it_takes_and_answers(route: Any) -> None:
    operation = OPERATIONS[route.operation]
    in_path = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
    assert in_path == route.parameters
    assert all(p["required"] for p in operation["parameters"] if p["in"] == "path")
    assert len({(p["in"], p["name"]) for p in operation["parameters"]}) == len(operation["parameters"])
    assert ("requestBody" in operation) == (route.body is not None)
    for status in route.success:
        assert operation["responses"][str(status)]["content"]["application/json"]["schema"]
    problems = {status: answer for status, answer in operation["responses"].items() if int(status) >= 400}
    assert {"400", "403", "404", "413", "429", "503"} <= set(problems)
    for answer in problems.values():
        assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
    told = " ".join(answer["description"] for answer in problems.values())
    assert all(code in told for code in route.codes)


@pytest.mark.rule("IF-2", "IF-3")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_every_post_takes_an_idempotency_key_and_nothing_else_does(route: Any) -> None:
    operation = document()["paths"][route.resource][route.method.lower()]
    takes = [parameter for parameter in operation["parameters"] if parameter["name"] == "Idempotency-Key"]
    assert len(takes) == (route.method == "POST")
    for status, answer in operation["responses"].items():
        replayed = "Idempotency-Replayed" in answer.get("headers", {})
        assert replayed == (route.method == "POST" and int(status) < 300)
    told = " ".join(answer["description"] for answer in operation["responses"].values())
    assert ("in_progress" in told, "idempotency_mismatch" in told) == (route.method == "POST",) * 2


@pytest.mark.rule("IF-3", "CF-2")
def test_fields_are_described_where_they_need_it() -> None:
    text = json.dumps(DOCUMENT)
    assert "only when facts from one session's data may inform all that read it" in text
    query = {p["name"]: p["schema"] for p in OPERATIONS["list_memories"]["parameters"] if p["in"] == "query"}
    assert query["limit"] == {"default": 50, "maximum": 200, "minimum": 1, "type": "integer"}
    assert query["labels"]["additionalProperties"]["type"] == "string"
    assert "null" not in json.dumps(query)


def headers_of(route: Any, status: int) -> set[str]:
    return set(OPERATIONS[route.operation]["responses"][str(status)]["headers"])


def taken_headers(route: Any) -> dict[str, bool]:
    """Whether each is required."""
    return {p["name"]: p["required"] for p in OPERATIONS[route.operation]["parameters"] if p["in"] == "header"}


@pytest.mark.rule("IF-3", "CF-7", "GR-4", "SC-4")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_conditional_routes_take_the_version_that_others_tell(route: Any) -> None:
    taken = taken_headers(route)
    assert ("If-Match" in taken) == route.conditional
    assert ("If-None-Match" in taken) == (route.operation == "configure")
    assert taken.get("If-Match", False) == (route.operation == "decide_platform_memory")
    if route.conditional:
        assert {"ETag"} <= headers_of(route, route.success[0])


@pytest.mark.rule("IF-3", "IF-7")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_answers_tell_of_their_headers(route: Any) -> None:
    for status in OPERATIONS[route.operation]["responses"]:
        assert "Request-Id" in headers_of(route, int(status))
    assert "WWW-Authenticate" in headers_of(route, 401)
    assert "Allow" in headers_of(route, 405)
    assert "Retry-After" in headers_of(route, 429) & headers_of(route, 503)
    assert all("Location" in headers_of(route, status) for status in route.success if "insert" in route.operation)


@pytest.mark.rule("IF-3")
def test_it_says_how_a_caller_is_known() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert {name for each in DOCUMENT["security"] for name in each} == set(schemes)
    assert (schemes["bearer"]["scheme"], schemes["sigv4"]["name"]) == ("bearer", "Authorization")


@pytest.mark.rule("IF-3", "TR-1")
def test_a_transcript_has_a_shape_for_each_type_of_event() -> None:
    events = DOCUMENT["components"]["schemas"]["Transcript"]["properties"]["events"]["items"]
    assert set(events["discriminator"]["mapping"]) == set(get_args(EventType))


def free_forms(schema: Any, path: str = "") -> Iterator[str]:
    """Where a schema says no more than that an object stands there."""
    if isinstance(schema, dict):
        if schema.get("additionalProperties") is True:
            yield path
        for name, below in schema.items():
            yield from free_forms(below, f"{path}.{name}" if name not in KEYWORDS else path)
    elif isinstance(schema, list):
        for below in schema:
            yield from free_forms(below, path)


KEYWORDS = {"properties", "items", "anyOf", "oneOf", "additionalProperties"}


@pytest.mark.rule("IF-3")
def test_only_what_others_give_the_shape_of_is_free() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert {path for name, schema in schemas.items() for path in free_forms(schema, name)} == {
        "AnthropicTool.input_schema",
        "OpenAiFunction.parameters",
        "BedrockSchema.json",
        "ToolCall.input",
        "OpenApi.info",
        "OpenApi.paths",
        "OpenApi.components",
    }


@pytest.mark.rule("IF-3")
def test_what_is_not_built_is_not_in_it() -> None:
    assert not [path for path in DOCUMENT["paths"] if "dev" in path or path.endswith("/events")]
    tools = next(p for p in OPERATIONS["call_tool"]["parameters"] if p["name"] == "tool")
    assert tools["schema"]["enum"] == ["search_memory", "add_memory", "read_memory", "delete_memory", "search_history"]


def test_the_document_is_json_and_says_its_version() -> None:
    assert json.loads(json.dumps(DOCUMENT, allow_nan=False))["openapi"].startswith("3.1.")
