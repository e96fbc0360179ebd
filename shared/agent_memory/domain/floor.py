"""The floor of a model: the least cosine at which a record has to do with a question.

Knows the fixed sentences (`data/unrelated.json`) and the floors that were measured with them; leaves keeping a floor
that was measured at first use to its caller.

The sentences: 50 records on as many everyday matters in 20 languages, each with a question that it answers and shares
hardly a word with, in its own language and in English. So every record is related to its question, and unrelated to
the 49 others.

How the shipped floors were measured, as cosines of question and record (not of two records, which lie higher):

| model | related, own language | related, English question | unrelated | floor | related kept | unrelated let through |
|---|---|---|---|---|---|---|
| multilingual-e5-small, 4 bits | .836 ± .027 | .809 ± .023 | .749 ± .030 | .76 | 100 %, 100 % | 35 % |
| all-MiniLM-L6-v2, 8 bits, English records | .443 ± .146 | | .041 ± .072 | .18 | 100 % | 6 % |

The first model's two heaps overlap, since its vectors share one strong direction. The share kept less the share let
through is greatest at .785, which loses 6 and 15 % of the answers and lets 11 % of the unrelated through; a memory that
is lost costs more than one that is shown last, so .76 ships, which loses none of them. Long texts of another language
lie lower (English questions on Chinese paragraphs: .77 ± .03): who asks across languages sets `min_score` to .70. Where
the heaps lie well apart, as for the second model, the mean of the unrelated + 2 deviations is enough.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from math import fsum, sqrt
from types import MappingProxyType
from typing import NamedTuple, Protocol

from .errors import EmbedderUnavailable
from .ports import Embedded

MULTILINGUAL_E5_SMALL = "multilingual-e5-small-q4"
ALL_MINILM_L6 = "all-MiniLM-L6-v2-int8"

MEASURED: Mapping[str, float] = MappingProxyType({MULTILINGUAL_E5_SMALL: 0.76, ALL_MINILM_L6: 0.18})

_DEVIATIONS = 2  # above the mean lie some 3 to 5 % of the unrelated pairs


class Embeds(Protocol):
    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded: ...


class Sentence(NamedTuple):
    """A record, a question that it alone answers, and that question in English."""

    language: str
    record: str
    question: str
    english: str


@cache
def sentences() -> tuple[Sentence, ...]:
    text = resources.files(__package__).joinpath("data", "unrelated.json").read_text(encoding="utf-8")
    return tuple(Sentence(**one) for one in json.loads(text))


def measured_floor(embedder: Embeds) -> float:
    """A floor for a model that nobody measured: mean + 2 deviations of the cosines between the English questions and
    the records that do not answer them, three decimals.

    English against all languages, because to a model of one language all texts of a script it never learned look
    alike, and would lift the floor. Two calls of the model. Raises `EmbedderUnavailable`."""
    fixed = sentences()
    questions = _vectors(embedder, [one.english for one in fixed], query=True)
    records = _vectors(embedder, [one.record for one in fixed], query=False)
    cosines = [
        _dot(question, record)
        for i, question in enumerate(questions)
        for j, record in enumerate(records)
        if i != j and question is not None and record is not None
    ]
    if not cosines:
        raise EmbedderUnavailable("the model refused every sentence that its floor is measured with")
    mean = fsum(cosines) / len(cosines)
    deviation = sqrt(fsum((x - mean) ** 2 for x in cosines) / len(cosines))
    return round(min(1.0, mean + _DEVIATIONS * deviation), 3)


def _vectors(embedder: Embeds, texts: Sequence[str], *, query: bool) -> list[list[float] | None]:
    return embedder.embed(texts, query=query).vectors


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return fsum(x * y for x, y in zip(a, b, strict=True))
