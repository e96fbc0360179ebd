"""From the memory table's stream to the function `index`, and where what cannot be indexed is kept.

A record of the stream is a hint; `index` reads the table. So a batch that Lambda gives up on loses nothing: its commits
still stand in the table as unindexed, every search reads them along, and upkeep takes them up again. The queue tells
somebody; it holds where in the shard the batch stood, not the records.
"""

from __future__ import annotations

import json

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_lambda_event_sources import SqsDlq
from constructs import Construct

from infra.constructs.function import MemoryFunction, allow
from infra.constructs.tables import Tables

UNINDEXED = "U#"  # how the sort keys of commits that wait for the index begin; a test holds it to `store/keys.py`

BATCH = 100
# An outage of the domain fails each batch as a whole. Retries back off to about a minute, so age is what bounds them;
# the stream itself forgets after 24 hours. From 6 hours on upkeep alone goes on, and the shard is free again.
RETRIES = 1000
MAX_AGE = Duration.hours(6)


class Indexing(Construct):
    def __init__(self, scope: Construct, id: str, *, tables: Tables, index: MemoryFunction) -> None:
        super().__init__(scope, id)
        self.failed = failure_queue(self, "Failed")
        reads = ("DescribeStream", "GetRecords", "GetShardIterator")
        allow(index.role, [f"dynamodb:{verb}" for verb in reads], tables.stream_arn)
        allow(index.role, ["dynamodb:ListStreams"], f"{tables.memory.table_arn}/stream/*")
        allow(index.role, ["sqs:SendMessage"], self.failed.queue_arn)
        self.source = lambda_.EventSourceMapping(
            self,
            "Source",
            target=index.callable,
            event_source_arn=tables.stream_arn,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=BATCH,
            max_batching_window=Duration.seconds(0),  # searches read along what waits, so waiting costs them
            filters=[{"pattern": json.dumps(commit_filter())}],
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=RETRIES,
            max_record_age=MAX_AGE,
            on_failure=SqsDlq(self.failed),
        )


def commit_filter() -> dict[str, object]:
    """Lambda calls, and bills, for the inserts of unindexed commits alone: some one of fifteen writes."""
    return {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": [{"prefix": UNINDEXED}]}}}}


def failure_queue(scope: Construct, id: str) -> sqs.Queue:
    """What nobody could process; kept as long as a queue keeps anything."""
    return sqs.Queue(
        scope,
        id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(14),
    )
