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


def build(app: App, stage: StageSettings) -> MemoryStack:
    account = AccountStack(app, "AgentMemory-account")
    stack = MemoryStack(app, f"AgentMemory-{stage.name}", stage=stage)
    stack.add_stack_dependency(account)
    Tags.of(stack).add("agent-memory-stage", stage.name)
    accept(account, stack)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return stack


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
