"""Reviews by a model on Amazon Bedrock, through its Converse operation.

Knows the shapes of question and answer, and which answers are none; leaves retries and time to botocore, what the model
is told to `review_tasks.py`, and what it said to the review. boto3 is imported, and the client made, at the first call.
No error holds anything that was said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.domain.ports import Correction, Said

from .review_tasks import TIMEOUT_S, Task, deciding, proposing

_MOST_TOKENS = 8_000  # of an answer: what the smaller models give, and some 60 candidates
_CUT = ("max_tokens", "model_context_window_exceeded")
_WHOLE = ("end_turn", "stop_sequence", "malformed_model_output")  # the last may be readable all the same
# Others refuse a request with a cache point. Below the model's least length (1,024 to 4,096 tokens) it does nothing.
_CACHING = re.compile(r"(^|[./])(anthropic\.claude|amazon\.nova)-")


class BedrockReviewer:
    """A `Reviewer`. model: an id, or the id or ARN of an inference profile; it has to take a JSON schema for
    its output. client: makes a `bedrock-runtime` client, called once, at the first question."""

    def __init__(self, model: str, *, client: Callable[[], Any] | None = None) -> None:
        self._model = model
        self._make_client = client or _client
        self._client: Any = None
        self._making = Lock()

    @property
    def kind(self) -> str:
        return "bedrock"

    @property
    def model(self) -> str:
        return self._model

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._ask(proposing(asked, correction))

    def decide(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._ask(deciding(asked, correction))

    def _ask(self, task: Task) -> Said:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._connected().converse(**self._request(task))
        except ClientError as error:
            raise ReviewerUnavailable(f"Bedrock answered {error.response.get('Error', {}).get('Code', '')}") from None
        except BotoCoreError as error:  # no region, no credentials, no connection
            raise ReviewerUnavailable(f"Bedrock did not answer: {type(error).__name__}") from None
        return _said(answer)

    def _connected(self) -> Any:
        with self._making:
            if self._client is None:
                self._client = self._make_client()
            return self._client

    def _request(self, task: Task) -> dict[str, Any]:
        schema = {"name": task.name, "schema": json.dumps(task.schema)}
        return {
            "modelId": self._model,
            "system": [{"text": task.system}, *self._cache_point()],
            "messages": [{"role": message.role, "content": [{"text": message.text}]} for message in task.messages],
            "inferenceConfig": {"maxTokens": _MOST_TOKENS},
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}},
        }

    def _cache_point(self) -> list[dict[str, Any]]:
        return [{"cachePoint": {"type": "default"}}] if _CACHING.search(self._model) else []


def _said(answer: Mapping[str, Any]) -> Said:
    stop = answer.get("stopReason")
    if stop not in _CUT + _WHOLE:
        raise ReviewerUnavailable(f"the reviewing model gave no answer: {stop}")
    blocks = answer.get("output", {}).get("message", {}).get("content", [])
    # A model that reasons says so in blocks of another kind.
    text = "".join(block.get("text", "") for block in blocks)
    return Said(text, *_counted(answer.get("usage", {})), is_cut=stop in _CUT)


def _counted(usage: Mapping[str, int]) -> tuple[int, int]:
    """Read and written. What was read from the cache, or into it, is counted beside the input."""
    read = sum(usage.get(name, 0) for name in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"))
    return read, usage.get("outputTokens", 0)


def _client() -> Any:
    import boto3
    from botocore.config import Config

    # Two tries: who is throttled hears it at once, and who hears nothing has waited two minutes.
    config = Config(connect_timeout=2, read_timeout=TIMEOUT_S, retries={"mode": "standard", "total_max_attempts": 2})
    return boto3.client("bedrock-runtime", config=config)
