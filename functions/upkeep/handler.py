"""What is done every few minutes, by schedule: see `runtime.upkeep`.

A run ends in time by itself; what is not done by then is the next run's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_memory.runtime.lambda_handler import lambda_handler
from agent_memory.runtime.upkeep import run

RESERVE_MS = 45_000  # for the last step of a job: a page that is embedded and told may take as long


class RunFailed(Exception):
    """By a fault of ours, which is logged: the function's errors count it, and an alarm watches them."""


def handle(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    broken = run(lambda: context is None or context.get_remaining_time_in_millis() > RESERVE_MS)
    if broken:
        raise RunFailed(", ".join(broken))
    return {}


handler = lambda_handler(handle)
