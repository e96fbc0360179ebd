"""Cuts the scripts that put no spaces between words, without a dictionary, so that a text is found by its words.

Knows Chinese, Japanese, Korean by the character; Thai, Lao, Burmese, Khmer by the cluster of a consonant and its
vowels: a *unit*. A record gives its units and all pairs of neighbours, a query only pairs, and a unit by itself only
where it stands between stop words (猫在哪里: cat). So a word of one character is found, and common characters that two
words share by chance (项目, 目录) do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .stopping import always_stops

HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_HAN = "\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN_AND_KANA = _HAN + "\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
# Letters and their marks, without digits and punctuation: Thai, Lao, Burmese, Khmer.
CLUSTERED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd"
)

_LEADING = "\u0e40-\u0e44\u0ec0-\u0ec4"  # vowels written before their consonant
_FOLLOWING = (
    "\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebc\u0ec6-\u0ecd"
    "\u102b-\u1038\u103a-\u103e\u1056-\u1059\u17b4-\u17d1\u17d3\u17dd"
)
_STACKER = "\u1039\u17d2"  # puts the next consonant below
_CLUSTER = re.compile(f"[{_LEADING}]?[^{_LEADING}{_FOLLOWING}{_STACKER}](?:[{_STACKER}].|[{_FOLLOWING}])*|.")
_MAX_UNIT_CHARACTERS = 32  # two of them are a token; no syllable comes near
_STANDS_ALONE = re.compile(f"[{_HAN}{HANGUL}]|..")  # kana and bare consonants mean nothing by themselves


def record_tokens(kind: str, run: str) -> list[str]:
    """Units and pairs of a run of one kind: `characters` (Han and kana), `korean` or `clusters`."""
    units = _units(kind, run)
    alone = [unit for unit in units if (len(units) == 1 or _STANDS_ALONE.match(unit)) and not always_stops(unit)]
    return alone + ["".join(pair) for pair in pairwise(units)]


def query_tokens(kind: str, run: str) -> Iterator[str]:
    """Pairs of neighbours with content and none of them within a longer stop word; and what stands alone.

    A stop word of one unit may be part of a word (目的), so its pair with content counts. All are in `record_tokens`.
    """
    units = _units(kind, run)
    roles = _korean_roles(units) if kind == "korean" else _roles(units)
    roles = [_LONG_STOP, *roles, _LONG_STOP]
    for at, unit in enumerate(units):
        before, here, after = roles[at : at + 3]
        if here == _CONTENT and _CONTENT not in (before, after) and (len(units) == 1 or _STANDS_ALONE.match(unit)):
            yield unit
        if at + 1 < len(units) and _CONTENT in (here, after) and _LONG_STOP not in (here, after):
            yield unit + units[at + 1]


def _units(kind: str, run: str) -> list[str]:
    return [unit[:_MAX_UNIT_CHARACTERS] for unit in _CLUSTER.findall(run)] if kind == "clusters" else list(run)


_CONTENT, _SHORT_STOP, _LONG_STOP = range(3)  # the role of a unit; a long stop word has more than one
_LONGEST_STOP = 8  # units


def _roles(units: list[str]) -> list[int]:
    """The role of each unit: the longest stop word at a place wins."""
    roles: list[int] = []
    while len(roles) < len(units):
        at = len(roles)
        length = next((n for n in range(_LONGEST_STOP, 0, -1) if always_stops("".join(units[at : at + n]))), 0)
        length = min(length, len(units) - at)
        roles += [_LONG_STOP if length > 1 else _SHORT_STOP] * length or [_CONTENT]
    return roles


# Korean parts its words by spaces and hangs particles on them: where, of, to, and, object, topic.
_PARTICLES = re.compile(
    "(?:에서는|에서|에게|까지|부터|처럼|보다|으로|한테|이나|라고|에는|[은는을를의에]|(?<=..)[이가와과도만로])$"
)


def _korean_roles(units: list[str]) -> list[int]:
    run = "".join(units)
    if always_stops(run):
        return [_LONG_STOP] * len(units)
    found = _PARTICLES.search(run, 1)
    kept = found.start() if found else len(units)
    # One syllable before a particle of one may be a word of two (가을 autumn), so their pair counts too.
    return [_CONTENT] * kept + [_SHORT_STOP if len(units) == 2 else _LONG_STOP] * (len(units) - kept)
