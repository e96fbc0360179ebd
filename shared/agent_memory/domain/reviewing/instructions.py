"""Texts for the model of a review, as they lie in files: the reasons stand beside the sentences, and are not sent."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_COMMENT = re.compile("<!--.*?-->\n?", re.DOTALL)


@cache
def instructions_in(path: Path) -> str:
    return _COMMENT.sub("", path.read_text("utf-8")).strip()
