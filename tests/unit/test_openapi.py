"""The OpenAPI document: every route is in it, every reference leads somewhere, nothing is in it that is not built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_memory.runtime.openapi import document
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
def test_every_reference_leads_to_a_schema() -> None:
    named = {each["$ref"] for each in walk(DOCUMENT) if isinstance(each.get("$ref"), str)}
    assert named
    for reference in named:
        assert reference.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]


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


@pytest.mark.rule("IF-3", "CF-2")
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


def test_fields_are_described_where_they_need_it() -> None:
    text = json.dumps(DOCUMENT)
    assert "only when facts from one session's data may inform all that read it" in text
    query = {p["name"]: p["schema"] for p in OPERATIONS["list_memories"]["parameters"] if p["in"] == "query"}
    assert query["limit"] == {"default": 50, "maximum": 200, "minimum": 1, "type": "integer"}
    assert query["label.<name>"]["type"] == "string"
    assert "null" not in json.dumps(query)


@pytest.mark.rule("IF-3")
def test_what_is_not_built_is_not_in_it() -> None:
    begin = DOCUMENT["components"]["schemas"]["BeginBody"]["properties"]
    assert "replay_of" not in begin
    assert not [path for path in DOCUMENT["paths"] if "dev" in path or path.endswith(("/review", "/events"))]
    tools = next(p for p in OPERATIONS["call_tool"]["parameters"] if p["name"] == "tool")
    assert tools["schema"]["enum"] == ["search_memory", "add_memory", "read_memory", "delete_memory"]


def test_the_document_is_json_and_says_its_version() -> None:
    assert json.loads(json.dumps(DOCUMENT, allow_nan=False))["openapi"].startswith("3.1.")
