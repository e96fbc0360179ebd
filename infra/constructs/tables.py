"""The two tables. Records outlive execution state, and IAM by table is the stronger fence, so there are two.

Knows keys, stream, backup and encryption; what lies in them the code knows (`store/keys.py`). The names are
CloudFormation's, so that two stages, and a table restored beside the old one, never collide.
"""

from __future__ import annotations

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.stages import StageSettings

TTL_ATTRIBUTE = "expires_ttl"


class Tables(Construct):
    """memory: records, configurations and what the index has not shown; its stream carries keys alone, since the
    indexer reads the table itself. execution: turns, messages and transcripts. key: that of the customer, if any."""

    def __init__(self, scope: Construct, id: str, *, stage: StageSettings) -> None:
        super().__init__(scope, id)
        self.key = kms.Key.from_key_arn(self, "Key", stage.customer_key_arn) if stage.customer_key_arn else None
        self.memory = self._table("Memory", stage, stream=dynamodb.StreamViewType.KEYS_ONLY)
        self.execution = self._table("Execution", stage)

    @property
    def stream_arn(self) -> str:
        arn = self.memory.table_stream_arn
        assert arn is not None  # made above
        return arn

    def _table(self, id: str, stage: StageSettings, stream: dynamodb.StreamViewType | None = None) -> dynamodb.Table:
        string = dynamodb.AttributeType.STRING
        return dynamodb.Table(
            self,
            id,
            partition_key=dynamodb.Attribute(name="pk", type=string),
            sort_key=dynamodb.Attribute(name="sk", type=string),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            stream=stream,
            time_to_live_attribute=TTL_ATTRIBUTE,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True, recovery_period_in_days=stage.backup_days
            ),
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if self.key else dynamodb.TableEncryption.DEFAULT,
            encryption_key=self.key,
            deletion_protection=stage.retained,
            removal_policy=RemovalPolicy.RETAIN if stage.retained else RemovalPolicy.DESTROY,
        )

    def key_conditions(self) -> dict[str, dict[str, str]]:
        """The customer's key may be used through DynamoDB alone."""
        return {"StringEquals": {"kms:ViaService": f"dynamodb.{Aws.REGION}.amazonaws.com"}}
