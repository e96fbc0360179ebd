"""A network for a private deployment: isolated subnets in three zones, without a way to the internet.

What the functions call beside the domain needs an endpoint: DynamoDB's costs nothing, those of the models, of Step
Functions and of tracing some 7 US$ a month each in every zone. The account needs the service-linked role of OpenSearch,
once: `aws iam create-service-linked-role --aws-service-name opensearchservice.amazonaws.com`.
"""

from __future__ import annotations

from aws_cdk import Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

ZONES = 3

_SERVICES = {
    "Bedrock": ec2.InterfaceVpcEndpointAwsService.BEDROCK_RUNTIME,
    "StepFunctions": ec2.InterfaceVpcEndpointAwsService.STEP_FUNCTIONS,
    "XRay": ec2.InterfaceVpcEndpointAwsService.XRAY,
}


def private_network(scope: Construct, id: str) -> ec2.Vpc:
    isolated = ec2.SubnetConfiguration(name="Isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=22)
    vpc = ec2.Vpc(
        scope,
        id,
        # By number: of a stack that names no region CDK would take two only.
        availability_zones=[Fn.select(number, Fn.get_azs()) for number in range(ZONES)],
        nat_gateways=0,
        subnet_configuration=[isolated],
        restrict_default_security_group=False,  # its custom resource would bring a function of somebody else's
    )
    vpc.add_flow_log("Flows")
    vpc.add_gateway_endpoint("DynamoDB", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
    # The answer to CloudFormation goes to a bucket of its own.
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    for name, service in _SERVICES.items():
        vpc.add_interface_endpoint(name, service=service)
    return vpc
