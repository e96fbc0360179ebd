"""What a review asks its model, as the JSON objects of API.md, section 6.

Knows what the model is shown of the agent, the turn and the records. Leaves to the adapters how it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ..configuration import AgentConfig
from ..cutting import cut
from ..scopes import TurnIds
from ..tool_schemas import PURPOSES
from ..tools import savable_kinds, savable_scopes
from .compared import Compared, Neighbour
from .instructions import instructions_in

MAX_NEIGHBOUR_CHARACTERS = 2000  # of its content: five of 16,000 beside each candidate would fill a model's window


def candidates_asked(
    config: AgentConfig, ids: TurnIds, window: Sequence[Mapping[str, Any]], *, now: datetime, time_zone: str
) -> dict[str, Any]:
    """For the candidates of one window of messages. Offered are only the scopes to which the turn has ids."""
    scopes = [scope for scope in savable_scopes(config) if ids.place(scope)]
    return {
        "now": now.astimezone(ZoneInfo(time_zone)).isoformat(timespec="seconds"),
        "time_zone": time_zone,
        "kinds": list(savable_kinds(config, None)),
        "labels": {name: label.description for name, label in config.memory.labels.items()},
        "scopes": {scope.value: PURPOSES[scope] for scope in scopes},
        "instructions": config.memory.extraction.prompt or default_instructions(),
        "messages": [dict(message) for message in window],
    }


def decisions_asked(compared: Sequence[Compared]) -> dict[str, Any]:
    """For the decisions on candidates beside what is near them."""
    return {"candidates": [_candidate(each) for each in compared]}


def default_instructions() -> str:
    """What a review keeps where the configuration does not say."""
    return instructions_in(Path(__file__).with_name("what_to_keep.md"))


def _candidate(compared: Compared) -> dict[str, Any]:
    candidate = compared.candidate
    neighbours = [_neighbour(each) for each in compared.neighbours]
    return {
        "candidate": compared.number,
        **candidate.as_json(),
        "lesson": candidate.lesson,
        "neighbours": neighbours,
    }


def _neighbour(near: Neighbour) -> dict[str, Any]:
    names = ("id", "summary", "content", "kind", "scope", "cosine", "writable")
    return {**{name: getattr(near, name) for name in names}, "content": _shortened(near.content)}


def _shortened(content: str | None) -> str | None:
    if content is None or len(content) <= MAX_NEIGHBOUR_CHARACTERS:
        return content
    return f"{cut(content, MAX_NEIGHBOUR_CHARACTERS)} … [cut]"
