"""The CDK app: `npx cdk synth -c stage=dev`. Each stage is a stack, `AgentMemory-<stage>`, beside the account's own."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")  # Node 20 does

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from infra.account import AccountStack
from infra.bundling import BundlingError
from infra.memory_stack import MemoryStack
from infra.review import accept
from infra.stages import StageError, StageSettings, stage_named


def build(app: App, *stages: StageSettings) -> list[MemoryStack]:
    account = AccountStack(app, "AgentMemory-account")
    stacks = [MemoryStack(app, f"AgentMemory-{stage.name}", stage=stage) for stage in stages]
    for stack in stacks:
        stack.add_stack_dependency(account)
        Tags.of(stack).add("agent-memory-stage", stack.memory.stage.name)
    accept(account, *stacks)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return stacks


def main() -> None:
    app = App()
    given = {name: app.node.try_get_context(name) for name in ("customer_key_arn", "alarm_topic_arn")}
    try:
        build(app, stage_named(app.node.try_get_context("stage"), given))
    except (StageError, BundlingError) as error:
        sys.exit(f"agent-memory: {error}")
    app.synth()


if __name__ == "__main__":
    main()
