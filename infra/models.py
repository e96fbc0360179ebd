"""How IAM names a model of Bedrock: by itself, or behind an inference profile, which calls it in several regions."""

from __future__ import annotations

import re

from aws_cdk import Aws
from aws_cdk import aws_iam as iam

_PROFILE = re.compile(r"(us|us-gov|eu|apac|au|ca|jp|global)\.(?=[a-z0-9]+\.)")  # before the name of the model
_VERBS = ["bedrock:InvokeModel"]  # of the operation Converse, too


def may_call(model: str) -> list[iam.PolicyStatement]:
    """Of a profile: it itself, and its model wherever it is called, though through this profile alone."""
    if not (profile := _PROFILE.match(model)):
        return [iam.PolicyStatement(actions=_VERBS, resources=[_model(model, Aws.REGION)])]
    arn = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}:inference-profile/{model}"
    through = {"StringEquals": {"bedrock:InferenceProfileArn": arn}}
    called = _model(model.removeprefix(profile.group()), "*")
    return [
        iam.PolicyStatement(actions=_VERBS, resources=[arn]),
        iam.PolicyStatement(actions=_VERBS, resources=[called], conditions=through),
    ]


def _model(name: str, region: str) -> str:
    return f"arn:{Aws.PARTITION}:bedrock:{region}::foundation-model/{name}"
