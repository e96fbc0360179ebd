"""One Lambda function with a role of its own, whose verbs `infra.roles` names.

Knows the runtime, sizes, logs and tracing. There is no snapshot of a started function (SnapStart): it would freeze the
clock and the random numbers that ids are made of, and costs money while nobody calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import bundling
from infra.constructs.logging import log_group
from infra.stages import StageSettings

ALIAS = "live"


@dataclass(frozen=True, slots=True)
class Size:
    memory_mib: int
    timeout_s: int


# Lambda gives processor by memory, a whole one at 1,769 MiB: a start, and the ranking of a recall, are nothing but
# processor, and 1,024 MiB take half the time of 512 for the same price. API Gateway answers within 29 s; 20 s are the
# longest that the store (10 + 4), the search (3) and the model (3) take together, and a turn may be waited for 25 s.
# `write` and `activity` compute little, but are called so seldom that nearly each call of theirs is a start.
DEFAULT = Size(memory_mib=1024, timeout_s=20)
SIZES: Mapping[str, Size] = {
    "agents": Size(memory_mib=512, timeout_s=20),
    "turns": Size(memory_mib=1024, timeout_s=29),
    "commit": Size(memory_mib=512, timeout_s=120),  # some eight calls of the store, each 14 s at the most
    "index": Size(memory_mib=1024, timeout_s=120),  # a bulk that waits for the refresh may take 30 s, twice
    # Two questions to the model and a correction of each (EX-2), each with two tries of 62 s: 500 s. 64 texts to embed,
    # eight at once, with two tries of 4 s: 64 s. Beside them a search, and the store: 150 s. It waits far more than it
    # computes, so it has little memory.
    "review": Size(memory_mib=512, timeout_s=720),
    "upkeep": Size(memory_mib=512, timeout_s=240),  # ends before the next one begins, 300 s later
}


class MemoryFunction(Construct):
    """callable: the alias that everything outside calls; a deployment moves it, and it can be moved back."""

    def __init__(self, scope: Construct, id: str, *, name: str, stage: StageSettings, vpc: ec2.IVpc | None) -> None:
        super().__init__(scope, id)
        self.name = name
        self._stage = stage
        self._vpc = vpc
        self._logs = log_group(self, "Logs", stage)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self._logs.grant_write(self.role)
        if vpc:
            self._join_network()

    def build(self, layer: lambda_.ILayerVersion, environment: Mapping[str, str]) -> None:
        """Make the function. Apart from the role, since the domain's policy names the roles and the environment names
        the domain."""
        size = SIZES.get(self.name, DEFAULT)
        self.function = lambda_.Function(
            self,
            "Function",
            code=lambda_.Code.from_asset(str(bundling.code(self.name))),
            handler=f"functions.{self.name}.handler.handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            layers=[layer],
            role=self.role,
            environment=dict(environment),
            memory_size=size.memory_mib,
            timeout=Duration.seconds(size.timeout_s),
            reserved_concurrent_executions=self._stage.concurrency.get(self.name),
            tracing=lambda_.Tracing.ACTIVE,
            logging_format=lambda_.LoggingFormat.JSON,
            log_group=self._logs,
            vpc=self._vpc,
        )
        self.callable = lambda_.Alias(self, "Live", alias_name=ALIAS, version=self.function.current_version)

    def _join_network(self) -> None:
        """Lambda makes the network interfaces with the function's role, and IAM knows no narrower resource for it."""
        verbs = ("CreateNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets", "DeleteNetworkInterface")
        more = ("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses")
        allow(self.role, [f"ec2:{verb}" for verb in (*verbs, *more)], "*")


def allow(role: iam.IRole, actions: Sequence[str], on: str, conditions: Mapping[str, object] | None = None) -> None:
    statement = iam.PolicyStatement(actions=list(actions), resources=[on], conditions=conditions)
    role.add_to_principal_policy(statement)
