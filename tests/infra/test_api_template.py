"""The interface in the templates of both stages: the routes, signed, and refusals of the gateway as problems."""

import json

import needs_node  # noqa: F401
import pytest
from templates import references, text

from agent_memory.runtime.problems import CODES
from agent_memory.runtime.routes import ROUTES
from infra.constructs.api import PROBLEMS


def methods(template):
    """Methods by the way they are called."""
    parts = {
        id: (text(each["ParentId"]), each["PathPart"])
        for id, each in template.of_type("AWS::ApiGateway::Resource").items()
    }

    def path(reference):
        id = reference.strip("${}")
        return f"{path(parts[id][0])}/{parts[id][1]}" if id in parts else ""

    every = template.of_type("AWS::ApiGateway::Method").values()
    return {(each["HttpMethod"], path(text(each["ResourceId"]))): each for each in every}


def test_the_interface_is_the_routes_and_nothing_else(template):
    assert set(methods(template)) == {(route.method, route.resource) for route in ROUTES}


@pytest.mark.rule("GR-5")
def test_no_method_can_be_called_unsigned(template):
    assert {each["AuthorizationType"] for each in methods(template).values()} == {"AWS_IAM"}


def test_each_method_is_answered_by_its_routes_function(template):
    for route in ROUTES:
        uri = methods(template)[route.method, route.resource]["Integration"]["Uri"]
        assert any(f"Memory{route.function.title()}Live" in name for name in references(uri))


@pytest.mark.rule("IF-1")
def test_the_gateways_own_refusals_are_problems_with_a_known_code(template):
    responses = template.of_type("AWS::ApiGateway::GatewayResponse").values()
    assert {each["ResponseType"] for each in responses} == {kind for kind, *_ in PROBLEMS}
    for each in responses:
        body = json.loads(each["ResponseTemplates"]["application/json"])
        assert body["code"] in CODES[body["status"]]
        assert str(body["status"]) == each["StatusCode"]
        assert body["request_id"] == "$context.requestId"
        assert each["ResponseParameters"]["gatewayresponse.header.Content-Type"] == "'application/problem+json'"


def test_every_method_is_throttled_apart_and_the_stage_as_a_whole(template):
    settings = template.the("AWS::ApiGateway::Stage")["MethodSettings"]
    assert len(settings) == len(ROUTES) + 1
    assert all(each["ThrottlingRateLimit"] > 0 and each["ThrottlingBurstLimit"] > 0 for each in settings)


@pytest.mark.rule("IF-1")
def test_the_access_log_holds_neither_queries_nor_bodies(template):
    stage = template.the("AWS::ApiGateway::Stage")
    logged = set(json.loads(stage["AccessLogSetting"]["Format"]).values())
    assert logged & {"$context.path", "$context.requestOverride.querystring", "$context.customDomain"} == set()
    assert all("query" not in each.lower() and "body" not in each.lower() for each in logged)
    assert {each.get("LoggingLevel", "OFF") for each in stage["MethodSettings"]} == {"OFF"}
