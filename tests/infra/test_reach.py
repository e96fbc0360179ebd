"""Who reaches the tables and the search domain: the functions, each by the verbs of its own role, and nobody else,
whatever grants he holds; proved on the synthesised policies by an offline evaluator. `Scan` is for nobody.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import needs_node  # noqa: F401
import pytest
from evaluator import Principal, Request, evaluate, install
from granted import deployment, principal_of
from resolved import ACCOUNT, REGION, Document, Resolved, statements

from agent_memory.runtime.routes import ROUTES
from infra.roles import ALIASES, NEEDS
from infra.stages import DEV

READS = ["BatchGetItem", "ConditionCheckItem", "GetItem", "PartiQLSelect", "Query"]
WRITES = ["BatchWriteItem", "DeleteItem", "PartiQLDelete", "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"]
TABLE = ["CreateBackup", "DeleteTable", "DescribeTable", "ExportTableToPointInTime", "UpdateTable", "UpdateTimeToLive"]
SEARCH = [f"es:ESHttp{verb}" for verb in ("Delete", "Get", "Head", "Patch", "Post", "Put")]
SECURITY = "_plugins/_security/api/roles/x"
SEARCHING = ("_msearch",)
PATHS = (
    *("", "_search", "_bulk", "_all", "_aliases", "_alias/memories", "_cat/indices", "_cluster/settings", "_reindex"),
    *("memories", "memories/_search", "memories/_bulk", "memories/_doc/1", "memories/_delete_by_query"),
    *("history", "history/_search", "history/_bulk", "history-x-1/_doc/1"),
    *("memories-x-1", "memories-x-1/_doc/1", "memories-x-1/_search"),
)


@pytest.fixture(scope="module")
def deployed() -> Resolved:
    install()
    return deployment()


@pytest.fixture(scope="module")
def roles(deployed: Resolved) -> Mapping[str, Principal]:
    """Every role of the deployment, and of some two hundred callers."""
    return {id: principal_of(deployed, id) for id in deployed.of_type("AWS::IAM::Role")}


@pytest.fixture(scope="module")
def functions(deployed: Resolved) -> dict[str, str]:
    """Logical ids of the functions' roles, with the functions' names."""
    found = deployed.of_type("AWS::Lambda::Function").values()
    handlers = {each["Role"].rpartition("/")[2]: each["Handler"].split(".") for each in found}
    return {role: name for role, (package, name, *_) in handlers.items() if package == "functions"}


@pytest.mark.rule("GR-2")
def test_each_route_is_served_by_a_function_with_a_role_of_its_own(functions: dict[str, str]) -> None:
    assert sorted(functions.values()) == sorted(NEEDS)
    assert {route.function for route in ROUTES} <= set(functions.values())


@pytest.mark.rule("GR-1", "GR-2")
def test_only_functions_reach_the_tables_each_by_its_own_verbs(
    deployed: Resolved, roles: Mapping[str, Principal], functions: dict[str, str]
) -> None:
    tables = [deployed.arn(id) for id in deployed.of_type("AWS::DynamoDB::Table")]
    assert len(tables) == 2
    resources = [*tables, *(f"{arn}/index/any" for arn in tables)]
    cells = list(itertools.product(roles, [*READS, *WRITES, "Scan"], resources))
    answers = evaluate(ACCOUNT, roles, [Request(role, f"dynamodb:{verb}", arn) for role, verb, arn in cells])
    reached = {cell for cell, answer in zip(cells, answers, strict=True) if answer}
    assert reached == {
        (role, verb, arn)
        for role, name in functions.items()
        for arn in tables
        for verb in (NEEDS[name].execution if "Execution" in arn else NEEDS[name].memory)
    }
    assert not [cell for cell in reached if cell[1] == "Scan"]


def test_nobody_changes_removes_or_copies_a_table(deployed: Resolved, roles: Mapping[str, Principal]) -> None:
    arns = [deployed.arn(id) for id in deployed.of_type("AWS::DynamoDB::Table")]
    cells = itertools.product(roles, TABLE, arns)
    assert not any(evaluate(ACCOUNT, roles, [Request(role, f"dynamodb:{verb}", arn) for role, verb, arn in cells]))


@pytest.mark.rule("GR-2")
def test_only_functions_that_search_or_index_reach_the_domain(
    deployed: Resolved, roles: Mapping[str, Principal], functions: dict[str, str]
) -> None:
    (domain,) = deployed.of_type("AWS::OpenSearchService::Domain").values()
    arn = f"arn:aws:es:{REGION}:{ACCOUNT}:domain/{domain['DomainName']}/"
    either = {id: with_policy_of(domain["AccessPolicies"], role) for id, role in roles.items()}
    cells = list(itertools.product(roles, SEARCH, (*PATHS, *SEARCHING, SECURITY)))
    answers = evaluate(ACCOUNT, either, [Request(role, action, arn + path) for role, action, path in cells])
    reached = {cell for cell, answer in zip(cells, answers, strict=True) if answer}

    (master,) = {role for role, _, path in reached if path == SECURITY}
    assert {cell for cell in reached if cell[0] not in functions} == {(master, "es:ESHttpPut", SECURITY)}
    assert {functions[role] for role, _, _ in reached if role != master} == {
        name for name, needs in NEEDS.items() if needs.searches or needs.indexes
    }
    for role, action, path in reached:
        if role != master and not NEEDS[functions[role]].indexes:
            assert (action, path) == ("es:ESHttpPost", "_msearch")
    for closed in (
        "",
        "_all",
        "_bulk",
        "_search",
        "_reindex",
        "memories/_doc/1",
        "memories/_search",
        "history/_search",
    ):
        assert closed not in {path for _, _, path in reached}


@pytest.mark.rule("GR-1", "GR-2")
def test_only_functions_that_end_turns_begin_executions_and_no_caller_does(
    deployed: Resolved, roles: Mapping[str, Principal], functions: dict[str, str]
) -> None:
    (machine,) = (deployed.arn(id) for id in deployed.of_type("AWS::StepFunctions::StateMachine"))
    answers = evaluate(ACCOUNT, roles, [Request(role, "states:StartExecution", machine) for role in roles])
    begin = {role for role, answer in zip(roles, answers, strict=True) if answer}
    assert {functions.get(role) for role in begin} == {name for name, needs in NEEDS.items() if needs.ends}


@pytest.mark.rule("GR-2", "EX-8")
def test_the_reviewers_model_is_called_by_the_function_that_reviews_alone(
    roles: Mapping[str, Principal], functions: dict[str, str]
) -> None:
    arn = f"arn:aws:bedrock:{REGION}::foundation-model/{DEV.reviewer_model}"
    verbs = ["InvokeModel", "InvokeModelWithResponseStream"]
    cells = list(itertools.product(roles, verbs, [arn, arn.replace(REGION, "us-east-1"), f"{arn}2"]))
    answers = evaluate(ACCOUNT, roles, [Request(role, f"bedrock:{verb}", model) for role, verb, model in cells])
    (reviews,) = (role for role, name in functions.items() if name == "review")
    allowed = [cell for cell, answer in zip(cells, answers, strict=True) if answer]
    assert allowed == [(reviews, "InvokeModel", arn)]


@pytest.mark.rule("GR-2")
def test_what_paths_leave_open_the_domains_own_roles_close(deployed: Resolved) -> None:
    """A path `memories-*` also spans `memories-x-1/_doc/1`: who indexes still reads no document."""
    (given,) = (each["Roles"] for each in deployed.of_type("AWS::CloudFormation::CustomResource").values())
    own = json.loads(given)
    actions = {
        name: [action for index in role["index_permissions"] for action in index["allowed_actions"]]
        for name, role in own.items()
    }
    assert not [action for action in actions["agent_memory_index"] if "data/read" in action or action == "*"]
    for alias in ALIASES:
        assert actions[f"agent_memory_search_{alias}"] == ["indices:data/read/search"]
        assert own[f"agent_memory_search_{alias}"]["index_permissions"][0]["index_patterns"] == [f"{alias}*"]


def with_policy_of(resource: Document, role: Principal) -> Principal:
    """A role that is also allowed what the policy of a resource allows to it: within an account either is enough."""
    assert all(each["Effect"] == "Allow" for each in statements(resource))
    own = [each for each in statements(resource) if role.arn in arns_of(each)]
    plain = [{key: each[key] for key in ("Effect", "Action", "Resource")} for each in own]
    policies = [*role.policies, *([{"Version": "2012-10-17", "Statement": plain}] if plain else [])]
    return Principal(role.arn, policies, role.context)


def arns_of(statement: Mapping[str, Any]) -> list[str]:
    """Whom it allows, each by the ARN of a role, and nobody by another way."""
    assert list(statement["Principal"]) == ["AWS"]
    given = statement["Principal"]["AWS"]
    return given if isinstance(given, list) else [given]


def test_the_domains_policy_names_roles_of_the_deployment_alone(
    deployed: Resolved, roles: Mapping[str, Principal]
) -> None:
    (domain,) = deployed.of_type("AWS::OpenSearchService::Domain").values()
    named = {arn for statement in statements(domain["AccessPolicies"]) for arn in arns_of(statement)}
    assert named <= {role.arn for role in roles.values()}
