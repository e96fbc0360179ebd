"""Turns, people and faults at once, in any order, against a plain model of the rules (`tests/soak`), on both editions.
`make soak` does the same for long."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from moto import mock_aws
from soak.running import on_one_machine, soak
from soak.stage import Stage, in_aws
from table_fixtures import OneByOne, create_tables

from agent_memory.adapters.opensearch_client import connect

STEPS, STEPS_IN_AWS = 2_000, 40  # moto looks at the whole table at each query
SEED = 5

pytestmark = pytest.mark.rule(
    "TU-1", "TU-3", "TU-4", "TU-5", "TU-6", "TU-8", "SC-2", "SC-3", "SC-4", "SC-6", "RC-3", "RC-5", "RC-6", "CF-9",
    "TL-2", "TL-3", "TL-4", "PN-1", "PN-2", "PN-3", "PV-1", "PV-2", "PV-3", "RL-1", "RL-2", "RK-5", "GR-3", "GR-4",
    "GR-8", "GR-9", "IF-2",
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Each fault is told as a warning: thousands of lines, which no failure needs."""
    caplog.set_level(logging.CRITICAL, "agent-memory")


def test_turns_people_and_faults_in_any_order_leave_what_the_rules_say() -> None:
    outcome = soak(SEED, STEPS, on_one_machine)
    assert not outcome.violations, "\n".join(outcome.lines())


def test_they_do_so_in_dynamodb_and_opensearch(dynamodb_connection: Any, opensearch_url: str) -> None:
    node, alias = connect(opensearch_url), f"soak-{uuid4().hex[:12]}"

    @contextmanager
    def stage() -> Iterator[Stage]:
        with mock_aws():
            client = OneByOne(dynamodb_connection)
            create_tables(client, "Memory", "Execution")
            with Stage(in_aws(client, node, alias)) as stage:
                yield stage

    outcome = soak(SEED, STEPS_IN_AWS, stage)
    node.indices.delete(index=f"{alias}*", ignore_unavailable=True)
    assert not outcome.violations, "\n".join(outcome.lines())
