"""What cdk-nag (AWS Solutions) finds and this deployment keeps, each with its reason, at the resource that it concerns.

Anything else that it finds stops the synthesis. A test fails when an entry here finds nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import Acknowledgment, CfnResource, Stack, Validations
from constructs import IConstruct

from infra.account import AccountStack
from infra.constructs.turn_end import TurnEnd
from infra.memory_stack import MemoryStack
from infra.roles import ALIASES, NEEDS

PACK = "AwsSolutions::AwsSolutions-"

_PATHS = "Indices are numbered behind their alias (memories-<model>-<n>), and the next one has an alias."


Finding = tuple[IConstruct, str, str]
"""Where, the rule (with what it found, for policies), and why it is kept."""


def accept(account: AccountStack, *stacks: MemoryStack) -> None:
    for construct, rule, reason in findings(account, *stacks):
        Validations.of(construct).acknowledge(Acknowledgment(id=PACK + rule, reason=reason))


def findings(account: AccountStack, *stacks: MemoryStack) -> Iterator[Finding]:
    yield from _of_account(account)
    for stack in stacks:
        yield from _of_memory(stack)


def _of_account(account: AccountStack) -> Iterator[Finding]:
    policy = "arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
    role = account.node.find_child("ApiLogs")
    yield role, f"IAM4[Policy::{policy}]", "API Gateway accepts a role for its logs with this policy of AWS alone."


def _of_memory(stack: MemoryStack) -> Iterator[Finding]:
    yield from _of_api(stack)
    yield from _of_functions(stack)
    yield from _of_search(stack)
    memory = stack.memory
    yield from _of_turn_end(memory.turn_end)
    for queue in (memory.indexing.failed, memory.upkeep.failed):
        yield queue, "SQS3", "It is the dead-letter queue; cdk-nag does not see the sources that are no queues."


def _of_api(stack: MemoryStack) -> Iterator[Finding]:
    rest = stack.memory.api.rest
    yield (
        rest,
        "APIG2",
        "The functions validate, and tell all faults at once, which the gateway cannot.",
    )
    yield (
        rest,
        "APIG3",
        "Every caller is signed and throttled; an owner may add a firewall by the stage's ARN.",
    )
    yield rest, "APIG6", "Execution logs would hold queries and bodies (IF-1); the access log holds neither."
    yield rest, "COG4", "Programs call, not people in browsers: every method takes IAM signatures (AWS_IAM)."


def _of_functions(stack: MemoryStack) -> Iterator[Finding]:
    memory = stack.memory
    for function in memory.functions.values():
        yield function, "IAM5[Resource::*]", "X-Ray knows no resource for its traces."
        yield function, "L1", "3.13 is the newest runtime for which all pinned dependencies ship wheels and are tested."
        needs = NEEDS[function.name]
        patterns = ["_alias/{}*"] * needs.indexes + ["{}-*"] * needs.maintains
        for path in (pattern.format(alias) for pattern in patterns for alias in ALIASES):
            yield function, f"IAM5[Resource::{domain_arn(stack)}/{path}]", _PATHS
    table = logical_id(memory.tables.memory)
    stream = f"IAM5[Resource::<{table}.Arn>/stream/*]"
    yield memory.functions["index"], stream, "ListStreams is granted on the table's streams: a new one has a new name."


def _of_turn_end(turn_end: TurnEnd) -> Iterator[Finding]:
    yield turn_end, "IAM5[Resource::*]", "Neither X-Ray's traces nor the delivery of logs have resources in IAM."
    yield turn_end, "SF1", "Errors are logged; of the rest traces and the execution's own history tell, for 90 days."


def _of_search(stack: MemoryStack) -> Iterator[Finding]:
    search, size = stack.memory.search, stack.memory.stage.search
    security = f"IAM5[Resource::{domain_arn(stack)}/_plugins/_security/api/*]"
    yield search, security, "The master role does nothing but make the domain's roles, one path each below this one."
    yield search, "L1", "The same runtime as all functions."
    yield search, "OS3", "Lambda has no addresses to list: the policy names roles and paths instead."
    if not stack.memory.stage.private:
        yield search, "OS1", "A network of its own costs endpoints by the hour; signatures and roles are the fence."
    if not size.managers:
        yield search, "OS4", "One small node is enough for a stage whose index can be rebuilt from the table."
    if size.zones == 1:
        yield search, "OS7", "One node lies in one zone; the stage keeps nothing that must survive a zone."


def domain_arn(stack: MemoryStack) -> str:
    """As cdk-nag writes it."""
    return f"arn:<AWS::Partition>:es:<AWS::Region>:<AWS::AccountId>:domain/{stack.memory.search.name}"


def logical_id(construct: IConstruct) -> str:
    resource = construct.node.default_child
    assert isinstance(resource, CfnResource)
    return Stack.of(construct).get_logical_id(resource)
