"""From which cosine on two records are near: so alike that one may repeat, correct or take back the other (EX-2).

Knows the models that ship and how it follows from the floor of another; leaves the floor to `floor.py`. It lies above
the floor, since that is of a question and its answer, and two records of one matter lie closer together.

How the shipped ones were measured: on 26 pairs of a record and a statement that corrects, repeats or retracts it, in
7 languages (16 English pairs for the second model), against the unrelated records of `data/unrelated.json`.

| model | pairs | lowest pair | unrelated | near | pairs kept | unrelated let through |
|---|---|---|---|---|---|---|
| multilingual-e5-small, 4 bits | .902 ± .043 | .827 | .789 ± .032 | .82 | 100 % | 17 % |
| all-MiniLM-L6-v2, 8 bits, English | .610 ± .153 | .324 | .030 ± .082 | .30 | 100 % | 0 % |

A pair that is missed leaves a contradiction in the memory; an unrelated record that is let through costs some tokens of
a call, and at most five are. So no pair may be missed. Of the way from the floor to 1 they lie at .25 and .15; a sixth
of it would have kept all pairs of both, and is taken for a model that nobody measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from .floor import ALL_MINILM_L6, MULTILINGUAL_E5_SMALL

NEAR: Mapping[str, float] = MappingProxyType({MULTILINGUAL_E5_SMALL: 0.82, ALL_MINILM_L6: 0.30})

_PART = 1 / 6  # of the way from the floor to 1


class HasFloor(Protocol):
    @property
    def model(self) -> str: ...

    @property
    def floor(self) -> float: ...


def near_of(embedder: HasFloor) -> float:
    """Three decimals. Raises `EmbedderUnavailable` where the floor has to be measured and the model does not answer."""
    shipped = NEAR.get(embedder.model)
    return _derived(embedder.floor) if shipped is None else shipped


def _derived(floor: float) -> float:
    """A floor below 0 is one that an owner set to cut nothing; it says nothing of the model."""
    least = max(0.0, floor)
    return round(least + (1 - least) * _PART, 3)
