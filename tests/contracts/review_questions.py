"""What a review asks, in its smallest form, and the answers of a model that fit."""

from __future__ import annotations

import json
from typing import Any

from embedding_server import Script

WORDS = (
    "the teapot of Zanzibar"  # stands in every question and answer, so that an error which quotes one gives itself away
)

CANDIDATES: dict[str, Any] = {
    "now": "2026-05-12T10:00:00+02:00",
    "time_zone": "Europe/Berlin",
    "kinds": ["fact", "guidance", "preference"],
    "labels": {},
    "scopes": {"user": "What holds for this user."},
    "instructions": f"Keep what is said of {WORDS}.",
    "messages": [{"role": "user", "text": f"Please remember that {WORDS} is blue.", "at": "2026-05-12T09:59:00+02:00"}],
}
DECISIONS: dict[str, Any] = {
    "candidates": [
        {
            "candidate": 0,
            "retracts": False,
            "summary": f"From now on, {WORDS} is blue.",
            "content": None,
            "kind": "fact",
            "lesson": False,
            "neighbours": [
                {
                    "id": "01HZZZZZZZZZZZZZZZZZZZZZZZ",
                    "summary": f"{WORDS} is red.",
                    "content": None,
                    "kind": "fact",
                    "scope": "user",
                    "cosine": 0.9,
                    "writable": True,
                }
            ],
        }
    ]
}

PROPOSED = {"candidates": [{"retracts": False, "summary": f"{WORDS} is blue.", "kind": "fact"}]}
DECIDED = {
    "decisions": [
        {"candidate": 0, "action": "replace", "memory_id": "01HZZZZZZZZZZZZZZZZZZZZZZZ", "reason": "It changed colour."}
    ]
}


def completion(content: Any, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """As a server of OpenAI's protocol answers."""
    return {
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 90, "completion_tokens": 12, "total_tokens": 102},
    }


def conversed(text: str, *, stop: str = "end_turn", **usage: int) -> dict[str, Any]:
    """As Converse answers."""
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": stop,
        "usage": {"inputTokens": 90, "outputTokens": 12, "totalTokens": 102, **usage},
        "metrics": {"latencyMs": 1},
    }


def reviewing() -> Script:
    """A model that answers well whatever it is asked."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        name = body["response_format"]["json_schema"]["name"]
        return 200, completion(json.dumps(PROPOSED if name == "memory_candidates" else DECIDED))

    return script
