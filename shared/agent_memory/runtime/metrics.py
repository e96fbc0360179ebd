"""Every metric of the product, by name, unit and meaning: the functions count them, the deployment's alarms watch them.

They are written as lines of the log (CloudWatch's embedded metric format), below a namespace that each deployment has
for itself, without dimensions: no id is one, and the namespace names the stage. Where the environment names no
namespace, as on one machine, nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NAMESPACE = "AGENT_MEMORY_METRICS_NAMESPACE"  # of the environment


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: Literal["Count", "Seconds"]
    meaning: str


RECALLS = Metric("Recalls", "Count", "recalls that were answered")
DEGRADED = Metric("DegradedRecalls", "Count", "of these, answered without the index, without the model, or behind")
DEGRADED_BY = {
    "embedder_down": Metric("RecallsWithoutModel", "Count", "the embedding model did not answer: by words alone"),
    "index_down": Metric("RecallsWithoutIndex", "Count", "the index did not answer: the newest records of the table"),
    "index_behind": Metric("RecallsBehind", "Count", "a scope had more unindexed changes than are ranked along"),
}
COMMITS = Metric("Commits", "Count", "turns committed")
CHANGES = Metric("ChangesPerTurn", "Count", "records that a committed turn saved, superseded or deleted")
CONFLICTS = Metric("Conflicts", "Count", "changes of committed turns that met what another turn had changed")
REVIEWS = Metric("Reviews", "Count", "turns whose review has ended, well or not")
REVIEWS_FAILED = Metric("ReviewsFailed", "Count", "of these, failed: the turn is committed, what it said waits")
TIMED_OUT = Metric("TurnsTimedOut", "Count", "turns left open for 24 hours, as upkeep writes their end down")
INDEXED = Metric("IndexedCommits", "Count", "commits that a search shows now")
REFUSED = Metric("RecordsRefusedByIndex", "Count", "they stay recallable from the table")
BROKEN = Metric("CommitsNotIndexable", "Count", "a fault of ours kept the index from them; tried again by upkeep")
UNEMBEDDED = Metric("RecordsWithoutVector", "Count", "saved while the model did not answer: found by words until then")
EMBEDDER_UNAVAILABLE = Metric("EmbedderUnavailable", "Count", "calls that did without the embedding model")
UNINDEXED = Metric("UnindexedCommits", "Count", "commits that no search shows yet, as upkeep finds them")
OLDEST_UNINDEXED = Metric("OldestUnindexedCommit", "Seconds", "how long the oldest of them has waited; 0 without any")
THROTTLED = Metric("ThrottledCalls", "Count", "calls answered 429, since their agent sends too many")


def write(values: Mapping[Metric, int] | Mapping[Metric, float]) -> None:
    """One line of the log with all of them. Those of one call belong together: each line costs its storage."""
    namespace = os.environ.get(NAMESPACE)
    if not namespace or not values:
        return
    from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

    # Without a service: that would be a dimension, which each alarm would have to name as well.
    provider = AmazonCloudWatchEMFProvider(namespace=namespace, service="")
    for metric, value in values.items():
        provider.add_metric(metric.name, metric.unit, value)
    provider.flush_metrics()
