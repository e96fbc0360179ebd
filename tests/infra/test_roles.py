"""The role of each function against what its handlers call: granted and never used fails, used and never granted too.

The calls are recorded (`recorded.py`) while `scenario.py` drives every route, the stream and the schedule. What Lambda
itself does with a function's role (logs, traces, the stream, the queue of failures) no handler calls: it is listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import needs_node  # noqa: F401
import pytest
from recorded import SEARCH
from resolved import Resolved, statements
from scenario import MACHINE, TABLES, Recorded, recorded
from templates import Synthesised

from agent_memory.runtime.routes import ROUTES
from infra.roles import NEEDS

BY_LAMBDA = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}
BY_THE_STREAM = {f"dynamodb:{verb}" for verb in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")}
BY_THE_STREAM |= {f"sqs:{verb}" for verb in ("GetQueueAttributes", "GetQueueUrl", "SendMessage")}  # as CDK grants it

Uses = Mapping[str, set[tuple[str, str]]]


@pytest.fixture(scope="module")
def granted(synthesised: Synthesised) -> Uses:
    """What each function's role allows to its handler: actions on tables' names, paths of the domain, models, the state
    machine; and what the domain's own roles let it search."""
    deployed = Resolved(synthesised.dev.body)
    return {
        each["Handler"].split(".")[1]: {*_grants(deployed, each["Role"].rpartition("/")[2]), *_searches(deployed, each)}
        for each in deployed.of_type("AWS::Lambda::Function").values()
        if each["Handler"].startswith("functions.")
    }


@pytest.fixture(scope="module")
def driven() -> Recorded:
    return recorded()


@pytest.mark.rule("GR-2")
@pytest.mark.parametrize("function", sorted(NEEDS))
def test_a_function_may_do_what_its_handlers_call_and_no_more(function: str, granted: Uses, driven: Recorded) -> None:
    may, does = granted[function], driven.uses[function]
    never_granted = sorted(use for use in does if not any(_covers(grant, use) for grant in may))
    never_used = sorted(grant for grant in may if not any(_covers(grant, use) for use in does))
    assert (never_granted, never_used) == ([], [])


def test_every_route_is_driven_and_every_post_with_a_key_too(driven: Recorded) -> None:
    assert {route for route, _ in driven.called} == set(ROUTES)
    assert {route for route, is_keyed in driven.called if is_keyed} == {r for r in ROUTES if r.method == "POST"}


def test_lambda_itself_does_the_same_with_every_role_and_reads_the_stream_with_one(synthesised: Synthesised) -> None:
    deployed = Resolved(synthesised.dev.body)
    for function in deployed.of_type("AWS::Lambda::Function").values():
        if function["Handler"].startswith("functions."):
            role = function["Role"].rpartition("/")[2]
            others = {action for action, _ in _allowed(deployed, role) if not _is_a_handlers(action)}
            extra = BY_THE_STREAM if ".index." in function["Handler"] else set()
            assert others == BY_LAMBDA | extra


def _is_a_handlers(action: str) -> bool:
    return action.split(":")[0] in ("dynamodb", "es", "bedrock", "states") and action not in BY_THE_STREAM


def _allowed(deployed: Resolved, role: str) -> list[tuple[str, str]]:
    found = [statement for document in deployed.policies_of(role) for statement in statements(document)]
    return [(action, arn) for each in found for action in each["Action"] for arn in each["Resource"]]


def _grants(deployed: Resolved, role: str) -> list[tuple[str, str]]:
    return [(action, _named(arn)) for action, arn in _allowed(deployed, role) if _is_a_handlers(action)]


def _named(arn: str) -> str:
    service, resource = arn.split(":", 5)[2::3]
    match service:
        case "dynamodb":
            return next(name for name in TABLES if name in resource.removeprefix("table/MemoryTables"))
        case "es":
            return resource.partition("/")[2].partition("/")[2]
        case "states":
            assert resource.startswith("stateMachine:MemoryTurnEndMachine")
            return MACHINE
        case _:
            kind, _, model = resource.partition("/")
            assert (service, kind) == ("bedrock", "foundation-model")
            return model


def _searches(deployed: Resolved, function: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    (given,) = (each["Roles"] for each in deployed.of_type("AWS::CloudFormation::CustomResource").values())
    for role in json.loads(given).values():
        for permissions in role["index_permissions"] if function["Role"] in role["backend_roles"] else ():
            if SEARCH in permissions["allowed_actions"]:
                yield from ((SEARCH, pattern) for pattern in permissions["index_patterns"])


def _covers(grant: tuple[str, str], use: tuple[str, str]) -> bool:
    return grant[0] == use[0] and fnmatchcase(use[1], grant[1])
