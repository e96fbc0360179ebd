"""Reviews by a model behind a server that speaks OpenAI's protocol: `POST <base>/chat/completions`.

Knows the shapes of question and answer, and which answers are none; leaves retries and time to `json_server.py`, what
the model is told to `review_tasks.py`, and what it said to the review. No error holds anything that was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.domain.ports import Correction, Said

from .json_server import JsonAnswer, JsonServer, Silent
from .review_tasks import TIMEOUT_S, Task, deciding, proposing

_NO_SCHEMA = (400, 422)  # what servers say to a `response_format` that they do not know; nothing else is tried


class OpenAIReviewer:
    """A `Reviewer`. base_url: up to and with its `/v1`; key: sent as a bearer token. timeout_s: for each question,
    retries and pauses included."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        pause_s: float = 0.2,
    ) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._server = JsonServer(base_url, key=key, pause_s=pause_s)

    @property
    def kind(self) -> str:
        return "openai"

    @property
    def model(self) -> str:
        return self._model

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._ask(proposing(asked, correction))

    def decide(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return self._ask(deciding(asked, correction))

    def _ask(self, task: Task) -> Said:
        try:
            answer = self._server.post("/chat/completions", self._body(task), until=monotonic() + self._timeout_s)
        except Silent as silent:
            raise ReviewerUnavailable(f"the reviewing server did not answer: {silent}") from None
        if answer.status != 200:
            raise ReviewerUnavailable(_refusal(answer))
        return _said(answer.body)

    def _body(self, task: Task) -> dict[str, Any]:
        """No temperature and no limit of length: some models refuse the one, and the other has two names."""
        said = [{"role": message.role, "content": message.text} for message in task.messages]
        return {
            "model": self._model,
            "messages": [{"role": "system", "content": task.system}, *said],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": task.name, "strict": True, "schema": task.schema},
            },
        }


def _refusal(answer: JsonAnswer) -> str:
    hint = "; it may not take a json_schema as response_format" if answer.status in _NO_SCHEMA else ""
    return f"the reviewing server answered {answer.status}{hint}"


def _said(body: Any) -> Said:
    try:
        choice = body["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text = message.get("content")
        refused = bool(message.get("refusal")) or finish == "content_filter"
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ReviewerUnavailable("the reviewing server gave no message") from None
    if refused:
        raise ReviewerUnavailable("the reviewing model refused to answer")
    if not isinstance(text, str | None):
        raise ReviewerUnavailable("the reviewing server gave a message that is no text")
    return Said(
        text or "", _counted(body, "prompt_tokens"), _counted(body, "completion_tokens"), is_cut=finish == "length"
    )


def _counted(body: Mapping[str, Any], name: str) -> int:
    """What the server counted; 0 where it does not say."""
    usage = body.get("usage")
    tokens = usage.get(name) if isinstance(usage, dict) else None
    return tokens if type(tokens) is int and tokens >= 0 else 0
