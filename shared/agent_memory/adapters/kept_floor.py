"""Gives a model its floor: the one that was set, else the one that ships, else one measured at first use (CF-6).

Leaves measuring to `domain.floor`, and where to keep it to a file, the table, or the memory of the process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

from agent_memory.domain.floor import MEASURED, measured_floor
from agent_memory.domain.ports import Embedded


class FloorlessModel(Protocol):
    """An `Embedder` but for the floor."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def window(self) -> int: ...

    def knows(self, text: str) -> bool: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded: ...


class KeptFloors(Protocol):
    """Floors by model and dimensions."""

    def get(self, name: str) -> float | None: ...

    def put(self, name: str, floor: float) -> None: ...


class FloorFile:
    """Floors by model and dimensions, in a JSON file that is written whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> float | None:
        floor = self._read().get(name)
        return float(floor) if isinstance(floor, (int, float)) else None

    def put(self, name: str, floor: float) -> None:
        beside = self._path.with_name(self._path.name + ".new")
        beside.write_text(json.dumps(self._read() | {name: floor}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(beside, self._path)

    def _read(self) -> dict[str, object]:
        """A file that is missing or spoilt is empty: what it held is measured again."""
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}


class WithFloor:
    """The model as a whole `Embedder`. floor: as set by the owner. kept: where a measured one is
    kept; None: in this process."""

    def __init__(self, inner: FloorlessModel, *, floor: float | None = None, kept: KeptFloors | None = None) -> None:
        self._inner = inner
        self._floor = MEASURED.get(inner.model) if floor is None else floor
        self._kept = kept
        self._measuring = Lock()

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def window(self) -> int:
        return self._inner.window

    @property
    def floor(self) -> float:
        """Raises `EmbedderUnavailable` where it must be measured and the model does not answer."""
        with self._measuring:
            if self._floor is None:
                self._floor = self._kept_or_measured()
            return self._floor

    def knows(self, text: str) -> bool:
        return self._inner.knows(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        return self._inner.embed(texts, query=query)

    def _kept_or_measured(self) -> float:
        if self._kept is None:
            return measured_floor(self._inner)
        name = f"{self._inner.model}/{self._inner.dimensions}"
        floor = self._kept.get(name)
        if floor is None:
            floor = measured_floor(self._inner)
            self._kept.put(name, floor)
        return floor
