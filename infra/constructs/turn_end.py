"""The state machine `TurnEnd`: reviews a turn and commits it, also where its review fails (EX-6).

Each execution is one end, named `<turn>-<try>` (`adapters/step_functions.py`), so that a second start of the same is
none. Its states hold two ids and nothing that was said. What a step has done stands in the tables: an execution that is
begun once more, by upkeep or a workflow of the owner's, goes on from there.
"""

from __future__ import annotations

import json
from typing import Any

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.function import SIZES, MemoryFunction, allow
from infra.constructs.logging import log_group
from infra.stages import StageSettings

# What passes by itself: something did not answer (the product's own errors), or Lambda did not. Any other error is a
# fault of ours, which would cost a model's calls once more and come again.
OUTSIDE = ("EmbedderUnavailable", "IndexUnavailable", "ReviewerUnavailable", "StoreUnavailable")
OF_LAMBDA = (
    "Lambda.AWSLambdaException",
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.SdkClientException",
    "Lambda.ServiceException",
    "Lambda.TooManyRequestsException",
    "Lambda.Unknown",  # out of memory
    "Sandbox.Timedout",
    "States.Timeout",
)
# At most 5, 20 and 60 s, and anything below: a quota of the model, by the minute, is there again.
REVIEW_TRIES = {"IntervalSeconds": 5, "BackoffRate": 4, "MaxAttempts": 3}
# At most 2, 4, … 60 s: some 3 minutes. After that upkeep begins it again.
COMMIT_TRIES = {"IntervalSeconds": 2, "BackoffRate": 2, "MaxAttempts": 7}
LONGEST_PAUSE_S = 60
# A conversation of many windows takes some minutes. One that takes longer is begun anew by upkeep, once an hour, and
# goes on with the next window.
TIMEOUT_S = 3600
_ANSWER_S = 30  # longer than the function may run, for its start and its answer

_IDS = {"agent_id.$": "$.agent_id", "turn_id.$": "$.turn_id"}


class TurnEnd(Construct):
    def __init__(
        self, scope: Construct, id: str, *, stage: StageSettings, review: MemoryFunction, commit: MemoryFunction
    ) -> None:
        super().__init__(scope, id)
        arns = review.callable.function_arn, commit.callable.function_arn
        service = iam.ServicePrincipal(
            "states.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        )
        role = iam.Role(self, "Role", assumed_by=service)
        for arn in arns:
            allow(role, ["lambda:InvokeFunction"], arn)
        self.machine = sfn.StateMachine(
            self,
            "Machine",
            # Not `Stack.to_json_string`, which leaves out what is null: a caught error would replace the ids.
            definition_body=sfn.DefinitionBody.from_string(json.dumps(definition(*arns))),
            role=role,
            logs=sfn.LogOptions(
                destination=log_group(self, "Logs", stage), level=sfn.LogLevel.ERROR, include_execution_data=False
            ),
            tracing_enabled=True,
        )

    def let_begin(self, role: iam.IRole) -> None:
        allow(role, ["states:StartExecution"], self.machine.state_machine_arn)


def definition(review: str, commit: str) -> dict[str, Any]:
    """In Amazon States Language. review, commit: the functions' ARNs."""
    # Committed as failed, a turn never asks to look again.
    failed = {"Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "CommitUnreviewed"}]}
    again = {"Variable": "$.look_again", "BooleanEquals": True, "Next": "Review"}
    return {
        "StartAt": "Review",
        "TimeoutSeconds": TIMEOUT_S,
        "States": {
            "Review": _step("review", review, REVIEW_TRIES, then="Commit") | failed,
            "Commit": _step("commit", commit, COMMIT_TRIES, then="IsDone"),
            "IsDone": {"Type": "Choice", "Choices": [again], "Default": "Done"},
            "CommitUnreviewed": _step("commit", commit, COMMIT_TRIES, then="Done", review_failed=True),
            "Done": {"Type": "Succeed"},
        },
    }


def _step(function: str, arn: str, tries: dict[str, int], *, then: str, **told: bool) -> dict[str, Any]:
    retry = {
        "ErrorEquals": [*OUTSIDE, *OF_LAMBDA],
        **tries,
        "MaxDelaySeconds": LONGEST_PAUSE_S,
        "JitterStrategy": "FULL",
    }
    return {
        "Type": "Task",
        "Resource": f"arn:{Aws.PARTITION}:states:::lambda:invoke",
        "Parameters": {"FunctionName": arn, "Payload": {**_IDS, **told}},
        "OutputPath": "$.Payload",
        "TimeoutSeconds": SIZES[function].timeout_s + _ANSWER_S,
        "Retry": [retry],
        "Next": then,
    }
