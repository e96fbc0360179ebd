"""The deployment of one stage: Agent Memory with the stage's settings. An owner's own app takes `AgentMemory`."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.constructs.memory import AgentMemory
from infra.constructs.network import private_network
from infra.stages import StageSettings


class MemoryStack(Stack):
    def __init__(self, scope: Construct, id: str, *, stage: StageSettings, **more: Any) -> None:
        super().__init__(scope, id, **more)
        vpc = private_network(self, "Network") if stage.private else None
        self.memory = AgentMemory(self, "Memory", stage=stage, vpc=vpc)
        url = self.memory.api.rest.url
        CfnOutput(self, "Url", value=url, description="where /v1 begins")
        CfnOutput(self, "OpenApi", value=f"{url}v1/openapi.json", description="the interface, for signed callers")
        CfnOutput(self, "MemoryTable", value=self.memory.tables.memory.table_name)
        CfnOutput(self, "ExecutionTable", value=self.memory.tables.execution.table_name)
        CfnOutput(self, "SearchEndpoint", value=self.memory.search.endpoint)
        CfnOutput(self, "TurnEnd", value=self.memory.turn_end.machine.state_machine_arn)
        CfnOutput(self, "FailedBatches", value=self.memory.indexing.failed.queue_url)
