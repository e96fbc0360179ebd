"""Embeddings from Amazon Titan Text Embeddings V2 on Bedrock.

Knows the model's question and answer, and what an error code says of a text; leaves retries and timeouts to botocore
and the floor to `kept_floor.py`. boto3 is imported, and the client made, at the first call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any

from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.ports import Embedded
from agent_memory.domain.words import is_blank

TITAN_V2 = "amazon.titan-embed-text-v2:0"
TITAN_DIMENSIONS = (256, 512, 1024)

_AT_ONCE = 8  # the model takes one text a call
# It takes 8,192 tokens and 50,000 characters; a character is seldom more than one token, and shorter parts are found
# better, so far below.
_WINDOW = 4_000
_PLAIN = "memory"


class TitanModel:
    """An `Embedder` but for the floor. client: makes a `bedrock-runtime` client, called once, at the first text."""

    def __init__(
        self, *, model: str = TITAN_V2, dimensions: int = 1024, client: Callable[[], Any] | None = None
    ) -> None:
        if dimensions not in TITAN_DIMENSIONS:
            raise ValueError(f"{TITAN_V2} gives {', '.join(map(str, TITAN_DIMENSIONS))} dimensions.")
        self._model = model
        self._dimensions = dimensions
        self._make_client = client or _client
        self._client: Any = None
        self._making = Lock()
        self._works = False

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def window(self) -> int:
        return _WINDOW

    def knows(self, text: str) -> bool:
        """True: it was taught more than 100 languages."""
        return True

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        asked = [i for i, text in enumerate(texts) if not is_blank(text)]
        if not asked:
            return Embedded([None] * len(texts), tokens=0, cached=True)
        answers = self._all([texts[i][:_WINDOW] for i in asked])
        if not self._works and not any(answers):
            self._check_that_it_works()
        vectors: list[list[float] | None] = [None] * len(texts)
        for i, answer in zip(asked, answers, strict=True):
            vectors[i] = answer[0] if answer else None
        return Embedded(vectors, tokens=sum(answer[1] for answer in answers if answer), cached=False)

    def _all(self, texts: Sequence[str]) -> list[tuple[list[float], int] | None]:
        """In order; the first failure ends it, and the calls that have not begun are not made."""
        ask = partial(self._ask, self._connected())
        if len(texts) == 1:
            return [ask(texts[0])]
        with ThreadPoolExecutor(min(_AT_ONCE, len(texts)), thread_name_prefix="titan") as threads:
            try:
                return list(threads.map(ask, texts))
            except EmbedderUnavailable:
                threads.shutdown(cancel_futures=True)
                raise

    def _connected(self) -> Any:
        from botocore.exceptions import BotoCoreError

        with self._making:
            if self._client is None:
                try:
                    self._client = self._make_client()
                except BotoCoreError as error:  # no region, say
                    raise EmbedderUnavailable(f"Bedrock cannot be called: {type(error).__name__}") from None
            return self._client

    def _ask(self, client: Any, text: str) -> tuple[list[float], int] | None:
        """A vector and the tokens read; None where the model refuses this text."""
        from botocore.exceptions import BotoCoreError, ClientError

        body = json.dumps({"inputText": text, "dimensions": self._dimensions, "normalize": True})
        try:
            response = client.invoke_model(
                modelId=self._model, body=body, contentType="application/json", accept="application/json"
            )
            answer = response["body"].read()
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code == "ValidationException":
                return None
            raise EmbedderUnavailable(f"Bedrock answered {code}") from None
        except BotoCoreError as error:
            raise EmbedderUnavailable(f"Bedrock did not answer: {type(error).__name__}") from None
        vector, tokens = self._read(answer)
        self._works = True
        return vector, tokens

    def _read(self, answer: bytes) -> tuple[list[float], int]:
        try:
            body = json.loads(answer)
            vector, tokens = [float(x) for x in body["embedding"]], int(body["inputTextTokenCount"])
        except (ValueError, TypeError, KeyError, OverflowError):
            raise EmbedderUnavailable("Bedrock gave no vector") from None
        if len(vector) != self._dimensions:
            raise EmbedderUnavailable(f"Bedrock gave {len(vector)} dimensions, not {self._dimensions}")
        return vector, tokens

    def _check_that_it_works(self) -> None:
        """A wrong model id is a `ValidationException` too, for every text."""
        if self._ask(self._connected(), _PLAIN) is None:
            raise EmbedderUnavailable("Bedrock refuses every text")


def _client() -> Any:
    import boto3
    from botocore.config import Config

    # Two tries of at most 4 s each, and the pause between, end within 10 s.
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        retries={"mode": "standard", "total_max_attempts": 2},
        max_pool_connections=_AT_ONCE,
    )
    return boto3.client("bedrock-runtime", config=config)
