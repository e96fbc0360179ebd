"""The schedule of the function `upkeep`: every 5 minutes it takes up what was left waiting."""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.function import MemoryFunction
from infra.constructs.indexing import failure_queue

EVERY_MINUTES = 5


class Upkeep(Construct):
    """failed: calls that the scheduler could not make; a run that fails is told by the function's own errors."""

    def __init__(self, scope: Construct, id: str, *, upkeep: MemoryFunction) -> None:
        super().__init__(scope, id)
        self.failed: sqs.Queue = failure_queue(self, "Failed")
        caller = iam.ServicePrincipal(
            "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        )
        role = iam.Role(self, "Role", assumed_by=caller)
        arn = upkeep.callable.function_arn
        role.add_to_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[arn]))
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.failed.queue_arn]))
        types = scheduler.CfnSchedule
        schedule = types(
            self,
            "Schedule",
            schedule_expression=f"rate({EVERY_MINUTES} minutes)",
            flexible_time_window=types.FlexibleTimeWindowProperty(mode="OFF"),
            target=types.TargetProperty(
                arn=arn,
                role_arn=role.role_arn,
                input="{}",
                # The next run does the same: a call that is late by more than one is not made.
                retry_policy=types.RetryPolicyProperty(
                    maximum_event_age_in_seconds=EVERY_MINUTES * 60, maximum_retry_attempts=2
                ),
                dead_letter_config=types.DeadLetterConfigProperty(arn=self.failed.queue_arn),
            ),
        )
        schedule.node.add_dependency(role)
        self._let_scheduler_send(role)

    def _let_scheduler_send(self, role: iam.Role) -> None:
        self.failed.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ArnPrincipal(role.role_arn)],
                actions=["sqs:SendMessage"],
                resources=[self.failed.queue_arn],
            )
        )
