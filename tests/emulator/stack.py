"""The stack of the stage dev, and beside it a role for each kind of caller and a workflow of the owner's, granted by
the product's own methods."""

from __future__ import annotations

import json
import os
from pathlib import Path

from node_js import give_up, node_missing

HOUSE = Path(__file__).parents[2]
STACK = "AgentMemory-dev"
CALLERS = ("Harness", "Desk", "Editor", "Steward", "Half", "Configurer", "Operator", "Stranger")


def synthesise(folder: Path, *, agent: str, other: str) -> None:
    """Into a folder, as `cdk synth` would. Skips the test without Node."""
    if reason := node_missing():
        give_up(reason)
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
    from aws_cdk import App, CfnOutput
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_stepfunctions as sfn

    from infra.grants import ALL, PLATFORM
    from infra.memory_stack import MemoryStack
    from infra.stages import DEV

    context = json.loads((HOUSE / "cdk.json").read_text("utf-8"))["context"]
    app = App(outdir=str(folder), context=context)
    stack = MemoryStack(app, STACK, stage=DEV)
    roles = {name: iam.Role(stack, name, assumed_by=iam.AccountRootPrincipal()) for name in CALLERS}
    for name, role in roles.items():
        CfnOutput(stack, f"{name}Role", value=role.role_arn)
    memory = stack.memory
    memory.grant_run(roles["Harness"], agents=[agent])
    memory.grant_select(roles["Desk"], agents=[agent])
    # Together, since the emulator knows no tags of a caller.
    memory.grant_together(roles["Editor"], ["SELECT", "UPDATE", "INSERT"], agents=[agent])
    memory.grant_together(roles["Steward"], ["SELECT", "UPDATE", "APPROVE"], agents=PLATFORM)
    memory.grant_select(roles["Half"], agents=[agent], on=["document"])
    memory.grant_configure(roles["Configurer"], agents=[agent])
    memory.grant_operate(roles["Operator"], agents=ALL)
    memory.grant_select(roles["Stranger"], agents=[other])
    memory.grant_run(roles["Stranger"], agents=[other])
    role = iam.Role(stack, "WorkflowRole", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
    body = sfn.DefinitionBody.from_string(json.dumps(workflow(memory.turn_end.machine.state_machine_arn)))
    machine = sfn.StateMachine(stack, "Workflow", definition_body=body, role=role)
    memory.grant_turn_end(role)
    CfnOutput(stack, "WorkflowArn", value=machine.state_machine_arn)
    app.synth()


def workflow(turn_end: str) -> dict[str, object]:
    """It has a turn reviewed and committed, and waits for that."""
    end = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": {
            "StateMachineArn": turn_end,
            "Input": {"agent_id.$": "$.agent_id", "turn_id.$": "$.turn_id"},
        },
        "OutputPath": "$.Output",
        "End": True,
    }
    return {"StartAt": "EndTurn", "States": {"EndTurn": end}}
