"""The table of routes: what is built, and that every handler serves what the table says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import functions
from agent_memory.runtime.requests import BeginBody, MemoriesQuery, PageQuery, query_of
from agent_memory.runtime.routes import BODY_BYTES, MESSAGES_BYTES, ROUTES, methods_of
from agent_memory.runtime.shapes import ANSWERS

BUILT = {
    ("PUT", "/v1/agents/{agent}/config"),
    ("GET", "/v1/agents/{agent}/config"),
    ("GET", "/v1/agents/{agent}/config/versions"),
    ("GET", "/v1/agents/{agent}/tools"),
    ("GET", "/v1/agents"),
    ("POST", "/v1/agents/{agent}/turns"),
    ("GET", "/v1/agents/{agent}/turns"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/judgements"),
    ("GET", "/v1/agents/{agent}/executions/{id}"),
    ("GET", "/v1/agents/{agent}/sessions"),
    ("GET", "/v1/agents/{agent}/usage"),
    ("GET", "/v1/agents/{agent}/turns/{turn}"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/messages"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/recall"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/tools/{tool}"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/end"),
    ("POST", "/v1/agents/{agent}/turns/{turn}/review"),
    ("GET", "/v1/agents/{agent}/turns/{turn}/transcript"),
    ("GET", "/v1/agents/{agent}/memories"),
    ("GET", "/v1/agents/{agent}/memories/{id}"),
    ("GET", "/v1/agents/{agent}/memories/{id}/versions"),
    ("GET", "/v1/agents/{agent}/memories/{id}/versions/{n}"),
    ("POST", "/v1/agents/{agent}/memories"),
    ("DELETE", "/v1/agents/{agent}/memories/{id}"),
    ("POST", "/v1/agents/{agent}/memories/{id}/restore"),
    ("GET", "/v1/platform/memories"),
    ("POST", "/v1/platform/memories"),
    ("GET", "/v1/platform/memories/{id}"),
    ("DELETE", "/v1/platform/memories/{id}"),
    ("GET", "/v1/platform/memories/{id}/versions"),
    ("POST", "/v1/platform/memories/{id}/approval"),
    ("GET", "/v1/status"),
    ("GET", "/v1/openapi.json"),
}
HANDLERS = Path(functions.__file__).parent


def test_the_routes_are_those_that_are_built() -> None:
    assert {(route.method, route.resource) for route in ROUTES} == BUILT
    assert len(ROUTES) == len(BUILT)


def test_every_operation_has_one_name_and_one_answer() -> None:
    assert len({route.operation for route in ROUTES}) == len(ROUTES)
    assert {route.operation for route in ROUTES} == set(ANSWERS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_the_function_of_a_route_serves_it(route: Any) -> None:
    handler = import_module(f"functions.{route.function}.handler").handler
    event = {"httpMethod": route.method, "resource": route.resource, "pathParameters": {}}
    answer = handler(event | {"multiValueQueryStringParameters": {"colour": ["red"]}}, None)
    assert answer["statusCode"] == (404 if route.parameters else 400)  # it is found, and refuses ids and parameters
    other = handler(event | {"httpMethod": "PATCH"}, None)
    assert (other["statusCode"], other["headers"]["Allow"]) == (405, ", ".join(methods_of(route.resource)))


def test_every_function_is_in_the_table_or_ends_turns_or_reads_the_stream_or_runs_by_schedule() -> None:
    folders = {path.parent.name for path in HANDLERS.glob("*/handler.py")}
    assert folders == {route.function for route in ROUTES} | {"review", "commit", "index", "upkeep"}


@pytest.mark.parametrize("path", sorted(HANDLERS.glob("*/handler.py")), ids=lambda path: path.parent.name)
def test_a_handler_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 90


@pytest.mark.rule("IF-7")
def test_messages_may_be_larger_than_other_bodies() -> None:
    large = {route.operation for route in ROUTES if route.body_bytes == MESSAGES_BYTES}
    assert large == {"begin_turn", "add_messages", "end_turn"}
    assert {route.body_bytes for route in ROUTES} == {BODY_BYTES, MESSAGES_BYTES}


@pytest.mark.rule("GR-1")
def test_every_route_but_the_document_needs_a_grant() -> None:
    assert [route.operation for route in ROUTES if not route.grants] == ["get_openapi"]


# ---------------------------------------------------------------- queries


def test_labels_are_filtered_by_one_at_a_time() -> None:
    query, faults = query_of(MemoriesQuery, {"label.room": ["Büro #1"], "label.floor": ["2"], "limit": ["7"]})
    assert isinstance(query, MemoriesQuery)
    assert (query.labels, query.limit, faults) == ({"room": "Büro #1", "floor": "2"}, 7, [])


def test_faults_of_labels_stand_at_their_own_names() -> None:
    _, faults = query_of(
        MemoriesQuery, {"label.room": ["x" * 257], "label.<name>": ["y"], "labels": ["z"], "Label.a": ["z"]}
    )
    assert {fault.path: fault.code for fault in faults} == {
        "label.room": "invalid_request",
        "labels": "unknown_field",
        "Label.a": "unknown_field",
    }


def test_defaults_stand_where_nothing_is_given() -> None:
    query, faults = query_of(PageQuery, {})
    assert isinstance(query, PageQuery)
    assert (query.limit, query.after, faults) == (50, None, [])


@pytest.mark.parametrize(
    "zone",
    ["Nowhere", "", "../etc/passwd", "/etc/passwd", "Europe", "Europe/Berlin\u0000", "\ud800", "x" * 65, 5, None],
)
def test_a_time_zone_is_one_that_exists(zone: Any) -> None:

    if zone is None:
        assert BeginBody.model_validate({"time_zone": zone}).time_zone == "UTC"
        return
    with pytest.raises(ValidationError):
        BeginBody.model_validate({"time_zone": zone})


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", None])
def test_an_iana_time_zone_is_taken(zone: str | None) -> None:
    assert BeginBody.model_validate({"time_zone": zone}).time_zone == (zone or "UTC")
