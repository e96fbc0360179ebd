"""How a grant becomes a policy. What each grant opens is `test_grant_matrix.py`'s."""

import re
from dataclasses import replace
from typing import get_args

import needs_node  # noqa: F401
import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template as Assertions
from hypothesis import given
from hypothesis import strategies as st
from templates import Template, listed, text

from agent_memory.runtime.grants import ALL_AGENTS, PLATFORM_AGENT
from agent_memory.runtime.routes import ROUTES, Route
from infra.grants import (
    ALL,
    MAX_AGENTS,
    PLATFORM,
    SELECT,
    Grant,
    Granter,
    GrantError,
    Opening,
    openings,
    parts_of,
    path_pattern,
    tag_patterns,
    tag_value,
)

ID = "01J00000000000000000000000"
DELETE = Route("DELETE", "/v1/agents/{agent}/memories/{id}", "records", "delete", "", grants=("SELECT+UPDATE",))
PLATFORM_LIST = Route("GET", "/v1/platform/memories", "records", "list", "", grants=("SELECT",))
AGENT_IDS = st.from_regex("[A-Za-z0-9_-]{1,64}", fullmatch=True).filter(lambda id: id != PLATFORM_AGENT)


def matches(pattern, said):
    """As IAM compares: `*` any characters, `?` one."""
    spelled = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(spelled, said, re.DOTALL) is not None


def path_of(route, agent="support"):
    return "/".join(
        {"{agent}": agent, "{turn}": ID, "{id}": ID, "{n}": "1", "{tool}": "add_memory"}.get(part, part)
        for part in route.resource.split("/")
    )


# ------------------------------------------------------------ what is opened


@pytest.mark.rule("GR-1")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_pattern_matches_its_own_route_and_no_other_of_its_method(route):
    others = [path_of(other) for other in ROUTES if other.method == route.method and other is not route]
    for agent in ("support", ALL_AGENTS):
        pattern = path_pattern(route, agent)
        assert matches(pattern, path_of(route))
        assert not any(matches(pattern, other) for other in others)


@pytest.mark.rule("GR-1", "SC-5")
@given(AGENT_IDS, AGENT_IDS)
def test_a_pattern_of_one_agent_matches_no_other_agent(granted, other):
    for route in ROUTES:
        if "agent" in route.parameters:
            assert matches(path_pattern(route, granted), path_of(route, other)) == (granted == other)


def test_what_needs_two_grants_is_opened_by_either_on_condition_of_the_other():
    path = f"/v1/agents/support/memories/{'?' * 26}"
    assert openings(["UPDATE"], "support", [DELETE]) == [Opening("DELETE", path, SELECT[::-1])]
    assert openings(SELECT, "support", [DELETE]) == [Opening("DELETE", path, ("UPDATE",))]
    assert openings([*SELECT, "UPDATE"], "support", [DELETE]) == [Opening("DELETE", path)]
    assert openings(["RUN"], "support", [DELETE]) == []


@pytest.mark.rule("GR-1")
def test_platform_is_opened_by_its_own_name_alone():
    assert openings(SELECT, ALL_AGENTS, [PLATFORM_LIST]) == []
    assert openings(SELECT, "support", [PLATFORM_LIST]) == []
    assert openings(SELECT, PLATFORM_AGENT, [PLATFORM_LIST]) == [Opening("GET", "/v1/platform/memories")]


def test_a_route_of_no_agent_takes_a_grant_for_all():
    status = next(route for route in ROUTES if route.operation == "get_status")
    assert openings(["OPERATE"], "support", [status]) == []
    assert openings(["OPERATE"], ALL_AGENTS, [status]) == [Opening("GET", "/v1/status")]


@given(st.lists(AGENT_IDS, min_size=1, max_size=3, unique=True), AGENT_IDS)
def test_a_tag_tells_of_the_agents_in_it_and_of_no_other(agents, asked):
    said = any(matches(pattern, tag_value("abcde12345", agents)) for pattern in tag_patterns("abcde12345", asked))
    assert said == (asked in agents)


def test_a_tag_of_all_tells_of_every_agent_but_not_of_platform_and_not_of_another_deployment():
    value = tag_value("abcde12345", ALL)
    assert any(matches(pattern, value) for pattern in tag_patterns("abcde12345", "support"))
    assert not any(matches(pattern, value) for pattern in tag_patterns("abcde12345", PLATFORM_AGENT))
    assert not any(matches(pattern, value) for pattern in tag_patterns("fghij67890", "support"))


# ------------------------------------------------------------ in a template


class Granted:
    """A stack with an interface, a role, and a granter."""

    def __init__(self):
        self.stack = Stack(App(), "Granted")
        api = apigateway.RestApi(self.stack, "Api", cloud_watch_role=False)
        api.root.add_method("GET")
        self.granter = Granter("dev-12345678", api)
        self.role = iam.Role(self.stack, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))

    def template(self):
        return Template(Assertions.from_stack(self.stack).to_json())


@pytest.fixture
def granted():
    return Granted()


def test_a_grant_is_paths_below_the_stage_of_this_interface(granted):
    granted.granter.give(granted.role, ["CONFIGURE"], ["support"])
    resources = [
        text(each) for _, statement in granted.template().statements() for each in listed(statement["Resource"])
    ]
    assert all(":execute-api:" in each and "${Api" in each and "/v1/" in each for each in resources)
    assert any(each.endswith("/PUT/v1/agents/support/config") for each in resources)
    assert not any("*" in each for each in resources)


def test_half_of_select_is_allowed_on_condition_of_a_tag_that_the_other_half_sets(granted):
    for half in SELECT:
        granted.granter.give(granted.role, [half], ["support"])
    template = granted.template()
    reading = "/GET/v1/agents/support/memories"
    conditions = [statement["Condition"] for _, statement in template.statements() if reading in str(statement)]
    tags = {tag["Key"] for tag in template.the("AWS::IAM::Role")["Tags"]}
    assert tags == {f"agent-memory/dev-12345678/{half}" for half in SELECT}
    assert {key for each in conditions for key in each["StringLike"]} == {f"aws:PrincipalTag/{tag}" for tag in tags}


def test_a_role_has_one_tag_for_each_part_however_often_it_is_given(granted):
    granted.granter.give(granted.role, ["UPDATE"], ["support"])
    granted.granter.give(granted.role, ["UPDATE"], ["sales"])
    (role,) = granted.template().of_type("AWS::IAM::Role").values()
    assert [text(tag["Value"]).partition("::")[2] for tag in role["Tags"]] == ["support:sales:"]


def test_a_role_takes_all_grants_of_as_many_agents_as_it_may_be_given(granted):
    agents = [f"agent-{n}".ljust(243 // MAX_AGENTS - 1, "x") for n in range(MAX_AGENTS)]  # as long as a tag can tell
    for grant in get_args(Grant):
        granted.granter.give(granted.role, parts_of([grant]), agents)
    managed = granted.template().of_type("AWS::IAM::ManagedPolicy")
    assert 0 < len(managed) <= 10  # a role's, by IAM's quota


@pytest.mark.parametrize("agents", ["support", [], ["sup*"], ["a/b"], ["x"] * (MAX_AGENTS + 1)])
def test_agents_that_cannot_be_are_refused(granted, agents):
    with pytest.raises(GrantError):
        granted.granter.give(granted.role, ["RUN"], agents)


def test_a_service_is_no_caller(granted):
    with pytest.raises(GrantError, match="role"):
        granted.granter.give(iam.ServicePrincipal("lambda.amazonaws.com"), ["RUN"], ALL)


def test_a_role_of_elsewhere_is_granted_what_needs_no_tag(granted):
    role = iam.Role.from_role_arn(granted.stack, "Elsewhere", "arn:aws:iam::111122223333:role/desk")
    granted.granter.give(role, [*SELECT], PLATFORM)
    assert any("openapi.json" in str(statement) for _, statement in granted.template().statements())


@pytest.mark.rule("GR-1")
def test_what_is_given_together_needs_no_tag_so_a_role_of_elsewhere_may_delete(granted):
    role = iam.Role.from_role_arn(granted.stack, "Elsewhere", "arn:aws:iam::111122223333:role/editor")
    granted.granter.give(role, parts_of(["SELECT", "UPDATE"]), ["support"])
    outright = [statement for _, statement in granted.template().statements() if "Condition" not in statement]
    assert "/DELETE/v1/agents/support/memories/" in str(outright)


def test_a_grant_that_there_is_not_is_refused():
    with pytest.raises(GrantError, match="DELETE"):
        parts_of(["SELECT", "DELETE"])


def test_the_interfaces_own_description_comes_with_any_grant():
    outright = [opening.path for opening in openings(["INSERT"], "support") if not opening.missing]
    assert outright == ["/v1/openapi.json"]
    assert replace(DELETE, grants=()).grants == ()
