"""The settings of each stage, typed, all in this file; those that contradict each other are refused.

A stage is one whole deployment: its own tables, search domain, functions and interface. Several stages live in one
account and region, since no resource has a name that two of them would share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from agent_memory.runtime.settings import (
    DEFAULT_EMBEDDER,
    DEFAULT_REVIEWER,
    SettingsError,
    embedder_settings,
    reviewer_settings,
)

LOG_DAYS = (1, 7, 14, 30, 90, 365)


class StageError(Exception):
    """A setting is missing, unknown, or contradicts another; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSize:
    """zones: availability zones over which the data nodes are spread evenly. managers: nodes that only keep the
    cluster's state; 0, or 3 so that two of them are a majority. disk_gib: of each data node."""

    node_type: str
    nodes: int
    zones: int
    disk_gib: int
    manager_type: str | None = None
    managers: int = 0

    def __post_init__(self) -> None:
        if self.zones not in (1, 2, 3) or self.nodes < 1 or self.nodes % self.zones:
            raise StageError(
                f"search.nodes: {self.nodes} nodes cannot be spread evenly over {self.zones} zones (1 to 3)."
            )
        if self.managers not in (0, 3) or bool(self.managers) != bool(self.manager_type):
            raise StageError("search.managers takes 0, or 3 together with search.manager_type.")
        if self.zones == 3 and not self.managers:
            raise StageError(
                "search.managers: three zones need 3 managers, else the loss of a zone can lose the quorum."
            )
        if self.disk_gib < 10:
            raise StageError("search.disk_gib: a gp3 volume of a domain takes at least 10 GiB.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Requests a second, and how many at one moment; of the whole stage, and of one method of one path."""

    rate: int
    burst: int
    method_rate: int
    method_burst: int

    def __post_init__(self) -> None:
        if not 0 < self.method_rate <= self.rate or not 0 < self.method_burst <= self.burst:
            raise StageError("throttle: a method takes at least 1 and at most as many requests as the stage.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSettings:
    """retained: tables, domain and logs stay when the stack goes, and the tables refuse to be deleted.
    log_days: how long logs are kept. backup_days: how far back a table can be restored to any second.
    embedder_min_score: the floor of the model's cosines; None: each process measures it at its first use.
    reviewer: who reviews turns: a model that takes a JSON schema for its answer, by its name or that of an inference
    profile (which calls it in several regions), or `rules`, which cost nothing and understand little.
    concurrency: the most instances of a function at once, by its name. They are reserved: an account with the initial
    quota of 10 can have none.
    private: the domain and the functions lie in a network of their own (`constructs/network.py` says what it costs).
    customer_key_arn: of a KMS key for tables and domain. alarm_topic_arn: of an SNS topic that every alarm tells."""

    name: str
    retained: bool
    search: SearchSize
    throttle: Throttle
    log_days: int
    backup_days: int = 35
    embedder: str = DEFAULT_EMBEDDER
    embedder_dimensions: int = 1024
    embedder_min_score: float | None = None
    reviewer: str = DEFAULT_REVIEWER
    concurrency: Mapping[str, int] = field(default_factory=dict)
    private: bool = False
    customer_key_arn: str | None = None
    alarm_topic_arn: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9]{0,11}", self.name):
            raise StageError("name: a stage is named by 1 to 12 of a-z and 0-9, a letter first.")
        if not 1 <= self.backup_days <= 35:
            raise StageError("backup_days: point-in-time recovery reaches back 1 to 35 days.")
        if self.retained and self.search.zones < 2:
            raise StageError("retained, search.zones: what is to be kept is not kept in one zone.")
        if self.log_days not in LOG_DAYS:
            raise StageError(f"log_days: CloudWatch keeps logs for {', '.join(map(str, LOG_DAYS))} days.")
        if any(number < 1 for number in self.concurrency.values()):
            raise StageError("concurrency: 0 would switch a function off; leave it out for no limit.")
        for name, service in (("customer_key_arn", "kms"), ("alarm_topic_arn", "sns")):
            if (arn := getattr(self, name)) and not re.match(f"arn:[a-z-]+:{service}:", arn):
                raise StageError(f"{name}: takes the ARN of {service}.")
        self._check_embedder()
        self._check_reviewer()

    def _check_embedder(self) -> None:
        if not self.embedder.startswith("bedrock:"):
            raise StageError("embedder: the deployment takes bedrock:<model>; it keeps no key of another server.")
        try:
            embedder_settings(self.embedder, dimensions=self.embedder_dimensions)
        except SettingsError as error:
            raise StageError(f"embedder: {error}") from error

    def _check_reviewer(self) -> None:
        if self.reviewer != "rules" and not re.fullmatch(r"bedrock:[\w.-]+(:\d+)?", self.reviewer):
            raise StageError(
                "reviewer: the deployment takes bedrock:<model> or rules; it keeps no key of another server."
            )

    @property
    def reviewer_model(self) -> str | None:
        """None: no model reviews."""
        return reviewer_settings(self.reviewer).target or None

    @property
    def embedder_model(self) -> str:
        return embedder_settings(self.embedder, dimensions=self.embedder_dimensions).target


DEV = StageSettings(
    name="dev",
    retained=False,
    search=SearchSize(node_type="t3.small.search", nodes=1, zones=1, disk_gib=10),
    throttle=Throttle(rate=100, burst=200, method_rate=50, method_burst=100),
    log_days=7,
)

PROD = StageSettings(
    name="prod",
    retained=True,
    search=SearchSize(
        node_type="r7g.large.search",
        nodes=3,
        zones=3,
        disk_gib=100,
        manager_type="m7g.medium.search",
        managers=3,
    ),
    throttle=Throttle(rate=1000, burst=2000, method_rate=500, method_burst=1000),
    log_days=90,
    # One search takes 20 ms of the nodes and their queues are short: 100 recalls and 100 tool calls at once are what
    # three nodes of two cores still answer in time. People look into all that an agent has, which asks more of the
    # nodes than a turn does: 20 of them at once leave the turns theirs. Upkeep is one at a time, so that no two drain
    # the same commits.
    concurrency={"recall": 100, "records": 20, "tools": 100, "upkeep": 1},
)

STAGES: Mapping[str, StageSettings] = {stage.name: stage for stage in (DEV, PROD)}

_OVERRIDABLE = ("customer_key_arn", "alarm_topic_arn")


def stage_named(name: str | None, given: Mapping[str, str | None] | None = None) -> StageSettings:
    """The stage, with what belongs to an account (`customer_key_arn`, `alarm_topic_arn`) as given from outside."""
    if not name:
        raise StageError(f"The setting `stage` is missing: give -c stage={' or -c stage='.join(STAGES)}.")
    if name not in STAGES:
        raise StageError(f"The setting `stage` takes {' or '.join(STAGES)}.")
    stage = STAGES[name]
    values = {each.name: getattr(stage, each.name) for each in fields(stage)}
    return StageSettings(**values | {key: given[key] for key in _OVERRIDABLE if given and given.get(key)})
