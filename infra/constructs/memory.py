"""All of Agent Memory as one construct, for a stack of its own (`MemoryStack`) or one of the owner's.

    memory = AgentMemory(self, "Memory", stage=PROD)
    memory.grant_run(harness, agents=["support"])
    memory.grant_select(desk, agents=["support"])

Knows how the parts meet. What a grant opens stands in `infra.grants`, what a function may do in `infra.roles`.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from agent_memory.runtime import metrics, settings
from agent_memory.runtime.grants import SELECT_HALVES
from infra import bundling
from infra.constructs.alarms import Alarms
from infra.constructs.api import Api
from infra.constructs.function import MemoryFunction, allow
from infra.constructs.indexing import Indexing
from infra.constructs.search import Search
from infra.constructs.tables import Tables
from infra.constructs.turn_end import TurnEnd
from infra.constructs.upkeep import Upkeep
from infra.grants import PLATFORM, Grant, Granter, On, parts_of, turn_end_statements
from infra.models import may_call
from infra.roles import MAINTENANCE, NEEDS, Needs
from infra.stages import StageSettings


class AgentMemory(Construct):
    """vpc: a network with isolated subnets and endpoints for DynamoDB and the model (`private_network`); None: the
    functions lie outside of any, and the domain has a public address (`constructs/search.py` says why)."""

    def __init__(self, scope: Construct, id: str, *, stage: StageSettings, vpc: ec2.IVpc | None = None) -> None:
        super().__init__(scope, id)
        self.stage = stage
        self.tables = Tables(self, "Tables", stage=stage)
        self.search = Search(self, "Search", stage=stage, vpc=vpc)
        self.functions = {
            name: MemoryFunction(self, name.title(), name=name, stage=stage, vpc=vpc) for name in sorted(NEEDS)
        }
        for function in self.functions.values():
            self._allow(function.role, NEEDS[function.name])
        self.search.build()
        self._build_functions()
        self.indexing = Indexing(self, "Indexing", tables=self.tables, index=self.functions["index"])
        self.upkeep = Upkeep(self, "Schedule", upkeep=self.functions["upkeep"])
        self.api = Api(self, "Api", stage=stage, functions=self.functions)
        self.alarms = Alarms(
            self,
            "Alarms",
            stage=stage,
            namespace=self._namespace,
            functions=self.functions,
            api=self.api,
            search=self.search,
            turn_end=self.turn_end,
            queues={"IndexingFailed": self.indexing.failed, "UpkeepFailed": self.upkeep.failed},
        )
        self._granter = Granter(f"{stage.name}-{self.node.addr[-8:]}", self.api.rest)

    # ------------------------------------------------------------ grants

    def grant_run(self, grantee: iam.IGrantable, *, agents: Sequence[str]) -> None:
        """Turns and tools of these agents (ids, or `ALL`)."""
        self._granter.give(grantee, ["RUN"], agents)

    def grant_select(
        self, grantee: iam.IGrantable, *, agents: Sequence[str], on: Sequence[On] = ("indexes", "document")
    ) -> None:
        """Listing, searching and reading records and transcripts. Half of it opens nothing until the other half is
        given too."""
        self._granter.give(grantee, [SELECT_HALVES[half] for half in on], agents)

    def grant_update(self, grantee: iam.IGrantable, *, agents: Sequence[str]) -> None:
        """Deleting and restoring records, together with SELECT."""
        self._granter.give(grantee, ["UPDATE"], agents)

    def grant_insert(self, grantee: iam.IGrantable, *, agents: Sequence[str]) -> None:
        """Saving records, together with SELECT."""
        self._granter.give(grantee, ["INSERT"], agents)

    def grant_configure(self, grantee: iam.IGrantable, *, agents: Sequence[str]) -> None:
        """Configurations of these agents."""
        self._granter.give(grantee, ["CONFIGURE"], agents)

    def grant_operate(self, grantee: iam.IGrantable, *, agents: Sequence[str]) -> None:
        """Events, clean-ups, merges and usage of these agents; with `ALL` also what names no agent, as the status."""
        self._granter.give(grantee, ["OPERATE"], agents)

    def grant_approve(self, grantee: iam.IGrantable) -> None:
        """Approving and writing platform memory."""
        self._granter.give(grantee, ["APPROVE"], PLATFORM)

    def grant_together(self, grantee: iam.IGrantable, grants: Sequence[Grant], *, agents: Sequence[str]) -> None:
        """Several at once, as `["SELECT", "UPDATE"]`: what takes them all opens outright, without tags. So also to a
        role of another app, whose tags this one cannot set."""
        self._granter.give(grantee, parts_of(grants), agents)

    def grant_turn_end(self, grantee: iam.IGrantable) -> None:
        """Let a workflow of the owner's (the role of its state machine) have turns reviewed and committed as a step of
        its own, and wait for it: `arn:aws:states:::states:startExecution.sync:2`, with `turn_end.machine` and the input
        `{"agent_id": …, "turn_id": …}` of a turn whose end was called (`grant_run`). It commits what is ending and
        nothing else; but ids alone say whose turn that is, so the grant is for every agent. A turn that another
        execution is at may be reviewed by both; it is committed once."""
        for statement in turn_end_statements(self.turn_end.machine):
            grantee.grant_principal.add_to_principal_policy(statement)

    def grant_maintenance(self, role: iam.IRole) -> None:
        """Let a person's role run `agent-memory reindex` and `redrive`. It reaches the memory table and the domain
        without the interface: for operators, and nobody else has it unless it is given here."""
        self._allow(role, MAINTENANCE)

    # ------------------------------------------------------------ wiring

    def _allow(self, role: iam.IRole, needs: Needs) -> None:
        for table, verbs in ((self.tables.memory, needs.memory), (self.tables.execution, needs.execution)):
            if verbs:
                allow(role, [f"dynamodb:{verb}" for verb in verbs], table.table_arn)
        self.search.open(role, needs)
        reviewing = self.stage.reviewer_model if needs.reviews else None
        for model in ([self.stage.embedder_model] if needs.embeds else []) + ([reviewing] if reviewing else []):
            for statement in may_call(model):
                role.add_to_principal_policy(statement)
        if key := self.tables.key:
            allow(role, [f"kms:{verb}" for verb in KEY_VERBS], key.key_arn, self.tables.key_conditions())

    def _build_functions(self) -> None:
        layer = lambda_.LayerVersion(
            self,
            "Layer",
            code=lambda_.Code.from_asset(str(bundling.layer())),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[lambda_.Architecture.ARM_64],
        )
        environment, functions = self._environment(), self.functions
        steps = {name: functions[name] for name in ("review", "commit")}
        for step in steps.values():
            step.build(layer, environment)
        self.turn_end = TurnEnd(self, "TurnEnd", stage=self.stage, **steps)
        begins = {settings.TURN_END: self.turn_end.machine.state_machine_arn}
        for name in sorted(functions.keys() - steps.keys()):
            ends = NEEDS[name].ends
            functions[name].build(layer, environment | (begins if ends else {}))
            if ends:
                self.turn_end.let_begin(functions[name].role)

    def _environment(self) -> dict[str, str]:
        stage = self.stage
        floor = {} if stage.embedder_min_score is None else {settings.EMBEDDER_MIN_SCORE: str(stage.embedder_min_score)}
        return {
            settings.MEMORY_TABLE: self.tables.memory.table_name,
            settings.EXECUTION_TABLE: self.tables.execution.table_name,
            settings.OPENSEARCH_URL: self.search.endpoint,
            settings.OPENSEARCH_SIGNED: "es",
            settings.EMBEDDER: stage.embedder,
            settings.EMBEDDER_DIMENSIONS: str(stage.embedder_dimensions),
            settings.REVIEWER: stage.reviewer,
            metrics.NAMESPACE: self._namespace,
        } | floor

    @property
    def _namespace(self) -> str:
        return f"AgentMemory/{self.stage.name}-{self.node.addr[-8:]}"


KEY_VERBS = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo")
"""What a caller of an encrypted table needs of its key (DynamoDB's guide on encryption at rest)."""
