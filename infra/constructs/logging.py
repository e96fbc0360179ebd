"""A group of logs that lives as long as the stage says."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.stages import StageSettings

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def log_group(scope: Construct, id: str, stage: StageSettings) -> logs.LogGroup:
    removal = RemovalPolicy.RETAIN if stage.retained else RemovalPolicy.DESTROY
    return logs.LogGroup(scope, id, retention=_RETENTION[stage.log_days], removal_policy=removal)
