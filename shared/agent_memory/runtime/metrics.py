"""Every metric of the product, by name and unit: the functions count them, the deployment's alarms watch them.

They are written as lines of the log (embedded metric format), below a namespace that each deployment has for itself. No
metric has an id as a dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NAMESPACE = "AGENT_MEMORY_METRICS_NAMESPACE"  # of the environment


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: Literal["Count", "Seconds"]


UNINDEXED = Metric("UnindexedCommits", "Count")  # commits that no search shows yet, as upkeep finds them
OLDEST_UNINDEXED = Metric("OldestUnindexedCommit", "Seconds")  # how long the oldest of them has waited; 0 without any
REFUSED = Metric("RecordsRefusedByIndex", "Count")  # they stay recallable from the table
UNEMBEDDED = Metric("RecordsWithoutVector", "Count")  # found by words alone until the model answers
RECALLS = Metric("Recalls", "Count")
DEGRADED = Metric("DegradedRecalls", "Count")  # answered without the index, or without the model
