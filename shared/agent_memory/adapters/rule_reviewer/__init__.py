"""The reviewer of a machine without a model: keeps what users say in so many words, by rules.

Knows no meaning. `phrases.py` reads the phrases of each language from its file, `sentences.py` finds the user's own
statements, `proposing.py` makes candidates of them, `deciding.py` compares those with what is known. Whatever no rule
fits is left alone: to skip costs one memory, to guess costs the trust in all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_memory.domain.ports import Correction, Said

from .deciding import decisions
from .proposing import candidates

RULES = "rules"


class RuleReviewer:
    """A `Reviewer` that always answers, and the same to the same. A correction changes nothing about it."""

    @property
    def kind(self) -> str:
        return RULES

    @property
    def model(self) -> str:
        return RULES

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return _said({"candidates": candidates(asked)})

    def decide(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        return _said({"decisions": decisions(asked)})


def _said(answer: Mapping[str, Any]) -> Said:
    return Said(json.dumps(answer, ensure_ascii=False))
