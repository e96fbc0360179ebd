"""The index follows the table: consumes the memory table's stream (keys only, inserts of unindexed marks).

A record is a hint that something changed; what stands in the table decides. When the index does not answer, the error
is raised: Lambda keeps the batch, and the shard waits. A commit that a fault of ours keeps from the index is logged and
counted, and holds up nothing: it stays on the table's list, so searches read it along and upkeep tries it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.domain.ports import Key
from agent_memory.operations.index import index_each
from agent_memory.runtime.indexing import tell
from agent_memory.runtime.lambda_handler import lambda_handler
from agent_memory.runtime.wiring import services
from agent_memory.store.keys import UNINDEXED


def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Reports as failed what was not tried since the index stopped answering on the way: Lambda resumes there."""
    numbers: dict[Key, str] = {}
    for record in event["Records"]:
        if key := _commit_of(record):
            numbers.setdefault(key, record["dynamodb"]["SequenceNumber"])
    indexed = index_each(services(), list(numbers))
    tell(indexed)
    return {"batchItemFailures": [{"itemIdentifier": numbers[key]} for key in indexed.waiting]}


def _commit_of(record: Mapping[str, Any]) -> Key | None:
    """The key of an inserted mark; None for whatever else a stream without its filter would bring."""
    keys = record["dynamodb"]["Keys"]
    key = Key("memory", keys["pk"]["S"], keys["sk"]["S"])
    return key if record["eventName"] == "INSERT" and key.sort.startswith(UNINDEXED) else None


handler = lambda_handler(handle)
