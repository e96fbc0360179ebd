"""Embeddings from a server that speaks OpenAI's protocol: `POST <base>/embeddings`.

Knows the shapes of question and answer, and what a status says of the texts; leaves retries and time to
`json_server.py`, the search for a text that is always refused to `settling.py`, and the model's floor to
`kept_floor.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from math import hypot
from time import monotonic
from typing import Any

from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.ports import Embedded
from agent_memory.domain.words import is_blank

from .json_server import JsonServer, Silent
from .settling import PLAIN, Failure, Refusal, Vector, settle

_MOST_TEXTS = 96
_MOST_CHARACTERS = 100_000  # of one request; OpenAI takes 300,000 tokens
# Some models behind such servers read 512 tokens, which is about so many characters of English, and most read more.
_WINDOW = 2_000
_TIMEOUT_S = 10.0

_GREATEST = 1e150  # of a component: its square is a float still

_REFUSALS = (400, 413, 422)
_KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_SHORTENABLE = "text-embedding-3-"  # `dimensions` is sent to these alone: other servers refuse it
# (name, before what is asked, before what is stored): only where the model's own card asks for it
_PREFIXES = (
    (re.compile(r"(^|[/_-])e5-(small|base|large)", re.IGNORECASE), "query: ", "passage: "),
    (re.compile(r"nomic-embed-text", re.IGNORECASE), "search_query: ", "search_document: "),
)


class OpenAICompatibleModel:
    """An `Embedder` but for the floor. base_url: up to and with its `/v1`; key: sent as a bearer token.

    dimensions: what the answers must have; None: known by the model's name, else learned by asking. timeout_s: for each
    request of at most 96 texts, retries and pauses included."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimensions: int | None = None,
        key: str | None = None,
        window: int = _WINDOW,
        timeout_s: float = _TIMEOUT_S,
        pause_s: float = 0.2,
    ) -> None:
        self._model = model
        self._dimensions = dimensions or _KNOWN_DIMENSIONS.get(model)
        self._shortened = model.startswith(_SHORTENABLE) and dimensions not in (None, _KNOWN_DIMENSIONS.get(model))
        self._window = window
        self._timeout_s = timeout_s
        self._server = JsonServer(base_url, key=key, pause_s=pause_s)
        self._works = False

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        """Raises `EmbedderUnavailable` where it must be learned and the server does not answer."""
        if self._dimensions is None:
            self._ask([PLAIN], 1, until=monotonic() + self._timeout_s, tokens=[])
        assert self._dimensions is not None
        return self._dimensions

    @property
    def window(self) -> int:
        return self._window

    def knows(self, text: str) -> bool:
        """True: nobody told us what the model was taught."""
        return True

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        asked = [i for i, text in enumerate(texts) if not is_blank(text)]
        before = _prefix(self._model, query=query)
        vectors: list[Vector | None] = [None] * len(texts)
        tokens: list[int] = []
        for batch in _batches([(i, before + texts[i][: self._window]) for i in asked]):
            ask = partial(self._ask, until=monotonic() + self._timeout_s, tokens=tokens)
            found = self._asked_alone(batch[0][1], ask) if query and len(batch) == 1 else self._settled(batch, ask)
            for (i, _), vector in zip(batch, found, strict=True):
                vectors[i] = vector
        return Embedded(vectors, tokens=sum(tokens), cached=not asked)

    def _settled(self, batch: Sequence[tuple[int, str]], ask: partial[list[Vector | None]]) -> list[Vector | None]:
        return settle([text for _, text in batch], ask, works=self._works)

    def _asked_alone(self, text: str, ask: partial[list[Vector | None]]) -> list[Vector | None]:
        """A query: someone waits, so a failure is not looked into."""
        try:
            return ask([text], 3)
        except Failure as failure:
            raise EmbedderUnavailable(str(failure)) from None
        except Refusal as refusal:
            if not self._works:
                raise EmbedderUnavailable(str(refusal)) from None
            return [None]

    def _ask(self, texts: Sequence[str], attempts: int, *, until: float, tokens: list[int]) -> list[Vector | None]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self._shortened:
            body["dimensions"] = self._dimensions
        try:
            answer = self._server.post("/embeddings", body, until=until, attempts=attempts)
        except Silent as silent:
            if silent.dropped:
                raise Failure("the embedding server broke the connection off") from None
            raise EmbedderUnavailable(f"the embedding server did not answer: {silent}") from None
        if answer.status in _REFUSALS:
            raise Refusal(f"the embedding server answered {answer.status}")
        if answer.status >= 500:
            raise Failure(f"the embedding server answered {answer.status}")
        if answer.status != 200:
            raise EmbedderUnavailable(f"the embedding server answered {answer.status}")
        vectors = self._vectors(answer.body, len(texts))
        tokens.append(_tokens(answer.body))
        self._works = True
        return vectors

    def _vectors(self, body: Any, count: int) -> list[Vector | None]:
        """The vectors by `index`, of unit length; None for one of length zero, which has no direction."""
        raw = _by_index(body, count)
        lengths = {len(vector) for vector in raw}
        expected = self._dimensions or next(iter(lengths))
        if lengths != {expected}:
            raise EmbedderUnavailable(f"the embedding server gave {sorted(lengths)} dimensions, not {expected}")
        self._dimensions = expected
        return [_unit(vector) for vector in raw]


def _prefix(model: str, *, query: bool) -> str:
    for name, asked, stored in _PREFIXES:
        if name.search(model):
            return asked if query else stored
    return ""


def _batches(numbered: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    characters = 0
    for one in numbered:
        if batch and (len(batch) == _MOST_TEXTS or characters + len(one[1]) > _MOST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += len(one[1])
    if batch:
        yield batch


def _by_index(body: Any, count: int) -> list[list[float]]:
    """The `embedding` of each of `count` texts. A server that gives no `index` is taken to answer in order."""
    data = body.get("data") if isinstance(body, dict) else None
    rows = data if isinstance(data, list) else []
    found = {_index(row, i): row["embedding"] for i, row in enumerate(rows) if _has_vector(row)}
    if len(rows) != count or set(found) != set(range(count)):
        raise EmbedderUnavailable(f"the embedding server gave no vector for each of {count} texts")
    return [found[i] for i in range(count)]


def _index(row: dict[str, Any], place: int) -> int:
    index = row.get("index", place)
    return index if type(index) is int else -1


def _has_vector(row: Any) -> bool:
    vector = row.get("embedding") if isinstance(row, dict) else None
    return isinstance(vector, list) and bool(vector) and all(_is_finite(x) for x in vector)


def _is_finite(value: Any) -> bool:
    """An integer too great for a float is not."""
    return type(value) in (int, float) and -_GREATEST <= value <= _GREATEST


def _unit(vector: Sequence[float]) -> Vector | None:
    length = hypot(*vector)
    return [x / length for x in vector] if length > 0 else None


def _tokens(body: Any) -> int:
    """What the server counted; 0 where it does not say."""
    usage = body.get("usage") if isinstance(body, dict) else None
    counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return counted if type(counted) is int and counted >= 0 else 0
