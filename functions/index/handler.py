"""The index follows the table: consumes the memory table's stream (keys only, inserts of unindexed marks).

A record is a hint that something changed; what stands in the table decides. When the index does not answer, the error
is raised: Lambda keeps the batch, and the shard waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.domain.ports import Key
from agent_memory.operations.index import index_commits
from agent_memory.runtime import observability as log
from agent_memory.runtime.wiring import services
from agent_memory.store.keys import UNINDEXED


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer of a function that reports failed items; as long as one failure is that of all, there are none."""
    commits = [key for record in event["Records"] if (key := _commit_of(record))]
    indexed = index_commits(services(), commits)
    log.info("indexed", commits=indexed.commits, refused=len(indexed.refused or ()), unembedded=indexed.unembedded)
    for id, reason in (indexed.refused or {}).items():
        log.error("record not indexed", id=id, reason=reason)
    return {"batchItemFailures": []}


def _commit_of(record: Mapping[str, Any]) -> Key | None:
    """The key of an inserted mark; None for whatever else a stream without its filter would bring."""
    keys = record["dynamodb"]["Keys"]
    key = Key("memory", keys["pk"]["S"], keys["sk"]["S"])
    return key if record["eventName"] == "INSERT" and key.sort.startswith(UNINDEXED) else None
