"""Turns a text into the words it is found by: the one analyser, for records, for what is not indexed yet, for queries.

Knows the words of scripts with spaces; `folding.py` folds them, `stemming.py` stems them, `stopping.py` knows which say
nothing, and `unspaced.py` cuts the scripts without spaces. Leaves counting and weighing to `ranking.py`. Query syntax
means nothing here: what is no letter or digit parts words, or joins the parts of an address, a number, a name of code.

What a record gives is a superset of what a query gives, so that a text is found by any piece of itself:

| script | a record | a query |
|---|---|---|
| with spaces | each word's stem | the same |
| a name with joints: `e-mail`, `max_results`, `main.py` | its parts, and the whole without joints | the same |
| `maxResults` | the whole and its parts | the whole |
| without spaces: Chinese, Japanese, Thai …; Korean | characters or clusters, and pairs | pairs between stop words |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from .folding import fold, is_invisible, widen
from .stemming import stem
from .stopping import always_stops, is_stop_in, language_of
from .unspaced import CLUSTERED, HAN_AND_KANA, HANGUL, query_tokens, record_tokens

MAX_QUERY_WORDS = 64  # RK-7
MAX_TOKEN_CHARACTERS = 64  # longer ones (keys, blobs) are cut: their beginnings tell them apart

# ---------------------------------------------------------------- the shape of a token

_DENSE = HAN_AND_KANA + HANGUL + CLUSTERED
# Marks that belong to the word they follow (`\w` knows letters and digits alone): the combining blocks, and whole
# Brahmic blocks but for the danda, since their letters and marks alternate.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0963\u0971-\u0df3"
    "\u0f71-\u0f84\u0f8d-\u0fbc\u135d-\u135f\u1b00-\u1b44\ua980-\ua9c0"
)


@cache  # compiling the whole costs 15 ms, which a cold start with English text alone need not pay
def _token(*, is_ascii: bool) -> re.Pattern[str]:
    """One number, joined name, or run of a script without spaces; the group's name says which."""
    letter = r"[^\W_]" if is_ascii else rf"[^\W_{_DENSE}]"
    word = f"{letter}++" if is_ascii else f"(?:{letter}++[{_MARKS}]*+)++"
    name = f"{word}(?:'{word})*+"
    runs = rf"(?P<characters>[{HAN_AND_KANA}]++)|(?P<korean>[{HANGUL}]++)|(?P<clusters>[{CLUSTERED}]++)"
    return re.compile(
        rf"(?P<number>[0-9]++(?:[.,][0-9]++)++)|(?P<name>{name}(?:(?:[-.@&]|_++){name})*+)"
        + ("" if is_ascii else f"|{runs}")
    )


_JOINT = re.compile(r"[-.@&_]+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:\.[0-9]{3})+(?:,[0-9]+)?)")
# From the first letter of a word, or finding none in a long word would take quadratic time.
_CAMEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


# ---------------------------------------------------------------- what others call


def tokens(text: str) -> list[str]:
    """All tokens of a record's text, in order, with repetitions; no stop words that are such in every language.

    Each is 1 to 64 characters long, without white space and controls. At most four for each character of the text
    in its normal form; linear in time. Never raises.
    """
    widened = widen(text)
    humps = [hump for name in _CAMEL.findall(widened) for hump in _HUMP.findall(name)]
    found: list[str] = []
    for kind, piece in _pieces(fold(" ".join((widened, *humps)) if humps else widened)):
        if kind == "name":
            found += filter(None, map(_key, _parts(piece)))
            found += _whole(piece, None)
        elif kind == "number":
            found += _numbers(piece)
        else:
            found += record_tokens(kind, piece)
    return found


def query_words(text: str) -> list[str]:
    """The different words of a query in their order, at most 64 (RK-7); none when it has but stop words or punctuation.

    Each of them is among `tokens` of the same text. Linear in time. Never raises.
    """
    pieces = list(_pieces(fold(widen(text))))
    language = language_of([part for kind, piece in pieces if kind == "name" for part in _parts(piece)])
    words: dict[str, None] = {}
    for kind, piece in pieces:
        if kind == "name":
            words.update((_key(part), None) for part in _parts(piece) if not is_stop_in(language, part))
            words.update(dict.fromkeys(_whole(piece, language)))
        elif kind == "number":
            words.update(dict.fromkeys(_numbers(piece)))
        else:
            words.update(dict.fromkeys(query_tokens(kind, piece)))
    words.pop("", None)
    return list(words)[:MAX_QUERY_WORDS]


def is_blank(text: str) -> bool:
    """Whether a query is no query (RK-4): nothing in it is to be seen."""
    return is_invisible(text)


# ---------------------------------------------------------------- scripts with spaces


def _pieces(folded: str) -> Iterator[tuple[str, str]]:
    return ((match.lastgroup or "", match[0]) for match in _token(is_ascii=folded.isascii()).finditer(folded))


def _parts(name: str) -> list[str]:
    """The words of a joined name, without letters that stand for words (the e of `e-mail`); of one word itself."""
    if name.isalnum():
        return [name[:MAX_TOKEN_CHARACTERS]]
    parts = [_without_clitic(part)[:MAX_TOKEN_CHARACTERS] for part in _JOINT.split(name)]
    return parts if len(parts) == 1 else [part for part in parts if len(part) > 1 or not part.isalpha()]


def _whole(name: str, language: str | None) -> list[str]:
    """The token of a joined name as one word, by which `e-mail` finds `email`; none where all parts are stop words."""
    parts = _JOINT.split(name)
    if len(parts) == 1 or all(always_stops(part) or is_stop_in(language, part) for part in parts):
        return []
    return [stem("".join(parts).replace("'", "")[:MAX_TOKEN_CHARACTERS])]


_ENGLISH_CLITICS = frozenset(("s", "m", "d", "ll", "re", "ve"))
_ELISIONS = frozenset(
    ("jusqu", "lorsqu", "puisqu", "quelqu", "aujourd", "dell", "all", "nell", "sull", "dall", "quell")
)


def _without_clitic(word: str) -> str:
    """The word before or behind an apostrophe: `what's` what, `l'eau` eau, `İstanbul'da` istanbul, `don't` dont."""
    head, apostrophe, tail = word.partition("'")
    if not apostrophe or tail == "t" or "\u0400" <= word[0] <= "\u052f":  # п'ять is one word
        return word.replace("'", "")
    if tail in _ENGLISH_CLITICS:
        return head
    if len(head) <= 2 or head in _ELISIONS:
        return tail.replace("'", "")
    return head if len(tail) <= 3 else word.replace("'", "")


@lru_cache(maxsize=1 << 15)  # about 5 MB when full
def _key(word: str) -> str:
    """What a word is found by, empty for one that is a stop word wherever it stands."""
    return "" if always_stops(word) else stem(word)


def _numbers(piece: str) -> list[str]:
    """1,000 and 1.000 are 1000; 3,14 is 3.14; 1,2,3 are three numbers; 2.19.1 stays."""
    if _THOUSANDS.fullmatch(piece):
        decimal = piece[-1 - len(re.split("[.,]", piece)[-1])] if "." in piece and "," in piece else ""
        whole, _, fraction = piece.rpartition(decimal) if decimal else (piece, "", "")
        digits = re.sub("[.,]", "", whole) + (f".{fraction}" if fraction else "")
        return [digits[:MAX_TOKEN_CHARACTERS]]
    parts = piece.split(",")
    pair = ["".join((parts[0], ".", parts[1]))] if len(parts) == 2 and "." not in piece else parts
    return [number[:MAX_TOKEN_CHARACTERS] for number in pair]
