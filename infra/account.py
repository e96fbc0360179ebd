"""What an account has once in a region, whatever its stages: the role with which API Gateway writes access logs.

A stack of its own, since the last stage to write that setting would win, and the first to go would break the others.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from constructs import Construct

_WRITES = "service-role/AmazonAPIGatewayPushToCloudWatchLogs"


class AccountStack(Stack):
    def __init__(self, scope: Construct, id: str, **more: Any) -> None:
        super().__init__(scope, id, **more)
        writes = iam.ManagedPolicy.from_aws_managed_policy_name(_WRITES)  # the one that API Gateway checks for
        gateway = iam.ServicePrincipal("apigateway.amazonaws.com")
        role = iam.Role(self, "ApiLogs", assumed_by=gateway, managed_policies=[writes])
        apigateway.CfnAccount(self, "Account", cloud_watch_role_arn=role.role_arn)
