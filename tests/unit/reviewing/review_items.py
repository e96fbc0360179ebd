"""Builders of what a review reads and decides on; a test says only what matters to it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from agent_memory.domain.configuration import AgentConfig, parse_config
from agent_memory.domain.reviewing.candidates import Candidate
from agent_memory.domain.reviewing.compared import Compared, Neighbour

NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)
SAID_AT = "2026-05-12T08:00:00.000Z"


def agent(
    *, read: Any = ("session",), write: Any = ("session",), labels: Any = ("room",), **memory: Any
) -> AgentConfig:
    described = {name: {"number": 5 + n, "description": f"The {name} it is about."} for n, name in enumerate(labels)}
    scope = {"read": list(read), "write": list(write)}
    return parse_config({"memory": {"enabled": True, "scope": scope, "labels": described, **memory}})


def message(text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    """As the transcript keeps it."""
    more = {"calls": []} if role == "agent" else {}
    more |= {"call_id": "c1", "tool": "look_up", "is_error": False} if role == "tool" else {}
    common = {"conversation": "agent", "purpose": "message", "truncated": False, "said_at": SAID_AT}
    return {"role": role, "text": text, **common, **more, **fields}


def proposed(summary: Any = "The depot closes at noon.", **fields: Any) -> dict[str, Any]:
    """A candidate as a model gives it."""
    return {"retracts": False, "summary": summary, "kind": "fact", **fields}


def answer(*values: Any, name: str = "candidates") -> str:
    return json.dumps({name: list(values)})


def candidate(summary: str = "The depot closes at noon.", **fields: Any) -> Candidate:
    return Candidate(**{"retracts": False, "summary": summary, "kind": "fact", **fields})


def near(id: str = "01", summary: str = "The depot closes at one.", **fields: Any) -> Neighbour:
    given = {"version": 1, "content": None, "kind": "fact", "scope": "session", "cosine": 0.9}
    return Neighbour(id=id, summary=summary, **{**given, "writable": True, "protected": False, **fields})


def compared(*neighbours: Neighbour, number: int = 0, **fields: Any) -> Compared:
    return Compared(number, candidate(**fields), neighbours)
