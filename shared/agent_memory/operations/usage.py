"""What the calls of an agent cost, summed (route 34). Every time that a model was asked counts, also where the answer
was still known and cost nothing (RL-6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agent_memory.domain.times import instant
from agent_memory.store.calls import Called

from .configure import configuration_of
from .services import Services

By = Literal["purpose", "session", "user", "day"]

_KEYS: Mapping[By, Callable[[Called, Mapping[str, Any]], str | None]] = {
    "purpose": lambda _, spent: str(spent["purpose"]),
    "session": lambda called, _: called.session_id,
    "user": lambda called, _: called.user_id,
    "day": lambda called, _: called.at.date().isoformat(),
}


def usage(
    services: Services, agent_id: str, *, since: str | None = None, until: str | None = None, by: By = "purpose"
) -> dict[str, Any]:
    """Of calls with since <= called < until, in the order of their keys; last null, of turns without a session or user.
    Days are UTC's. Raises `NotFound`."""
    configuration_of(services, agent_id)
    key_of = _KEYS[by]
    sums: dict[str | None, dict[str, int]] = {}
    bounds = [instant(text) if text else None for text in (since, until)]
    for called in services.calls.between(agent_id, *bounds):
        for spent in called.usage:
            total = sums.setdefault(key_of(called, spent), {"calls": 0, "input_tokens": 0, "output_tokens": 0})
            total["calls"] += 1
            total["input_tokens"] += spent["input_tokens"]
            total["output_tokens"] += spent["output_tokens"]
    ordered = sorted(sums, key=lambda key: (key is None, key or ""))
    return {"usage": [{"key": key, **sums[key]} for key in ordered]}
