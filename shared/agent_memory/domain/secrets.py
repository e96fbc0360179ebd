"""Finds secrets in a text, and takes them out of what is kept (GT-1, HI-7).

Known shapes and labelled values: it does not find a secret that has neither. Knows what of a match is talk, a
placeholder, a look-up or a documentation key. Leaves what secrets look like to `secret_patterns.py`.
"""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from . import secret_patterns
from .text import without_lone_surrogates


class Find(NamedTuple):
    """A secret in a text: from `start` to before `end`."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Find]:
    """In order, none overlapping another. Linear in the text, whatever it is."""
    readable = without_lone_surrogates(text)  # of the same length; RE2 reads UTF-8
    found = sorted(_found(readable), key=lambda find: (find.start, -find.end))
    apart: list[Find] = []
    for find in found:
        if apart and find.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(find.end, apart[-1].end))
        else:
            apart.append(find)
    return apart


def redacted(text: str) -> tuple[str, list[Find]]:
    """The text with `[removed: <kind>]` in the place of each secret, and where these stood."""
    finds = find_secrets(text)
    pieces, done = [], 0
    for find in finds:
        pieces += [text[done : find.start], f"[removed: {find.kind}]"]
        done = find.end
    return ("".join([*pieces, text[done:]]) if finds else text), finds


def redacted_json(value: Any) -> Any:
    """A JSON value, at most `json_values.MAX_DEPTH` deep, with the secrets of its texts taken out. The name of a text
    counts as its label."""
    match value:
        case str():
            return redacted(value)[0]
        case dict():
            return {redacted(name)[0]: _labelled(name, below) for name, below in value.items()}
        case list():
            return [redacted_json(below) for below in value]
        case _:
            return value


def _labelled(name: str, value: Any) -> Any:
    """A number, too, may be a secret where its name says so."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return redacted_json(value)
    plain = str(value)
    label = f"{name}: "
    quoted = plain if re.search('["\\\\\r\n]', plain) else f'"{plain}"'
    mine = [find for find in find_secrets(f"{label}{quoted}") if find.end > len(label)]
    if mine and mine[0].start <= len(label) + 1:
        return f"[removed: {mine[0].kind}]" if mine[0].end >= len(label) + len(plain) else redacted(plain)[0]
    return redacted(value)[0] if isinstance(value, str) else value


# ---------------------------------------------------------------- matches


def _found(text: str) -> Iterator[Find]:
    for kind, pattern, passes in _compiled():
        for match in pattern.finditer(text):
            parts = {name: at for name, at in pattern.groupindex.items() if match.group(at) is not None}
            said = parts.pop("said", None) is not None
            start, end = match.span(max(parts.values(), default=0))
            value = text[start:end].rstrip(".,:;") if parts else text[start:end]
            end = start + len(value)
            if not _is_code_behind(text, end) and passes(value, said):
                yield Find(kind, start, end)


@cache
def _compiled() -> list[tuple[str, Any, Callable[[str, bool], bool]]]:
    import re2  # here, since it costs a cold start 20 ms and many calls bring no text

    return [(one.kind, re2.compile(one.pattern), _TESTS[one.test]) for one in secret_patterns.SECRETS]


def _is_code_behind(text: str, end: int) -> bool:
    """Whether what was caught is called or looked into: `getenv2(…)`."""
    return text[end : end + 1] in ("(", "[") and text[end - 1 : end].isalnum()


# ---------------------------------------------------------------- tests: (value, was it said in a sentence)

_LEAST_ENTROPY = 2.0  # bits a character: what repeats a few characters is a pattern and no key


def _is_shape(value: str, _: bool) -> bool:
    """A shape of its own is enough, unless it is written to be no key: EXAMPLE, xxxx, 0000."""
    return not _is_documentation(value) and not set(value[-16:]) <= set("xX0.*_-")


def _is_block(value: str, _: bool) -> bool:
    return re.search("[A-Za-z0-9+/]{32}", value) is not None


def _is_token(value: str, said: bool) -> bool:
    """Digits and letters, mixed as chance does; hashes and UUIDs have names enough without being secret."""
    return _is_key(value, said) and not _DIGEST.fullmatch(value)


def _is_key(value: str, _: bool) -> bool:
    if len(value) < 16 or _is_harmless(value):
        return False
    mixed = _has_letter(value) and any(map(str.isdigit, value))
    return entropy(value) >= _LEAST_ENTROPY and (mixed or (len(value) >= 24 and value.isalpha() and _is_jumbled(value)))


def _is_password(value: str, said: bool) -> bool:
    """A password may be a word, but not every word behind the label is one: it has digits or signs in it, or is long
    and assigned."""
    if _is_harmless(value):
        return False
    if " " in value:  # a sentence about it, unless a word of it could be one
        return any(_is_password(word, True) for word in value.split())
    if len(value) < 6:
        return False
    if value.isdigit():
        return not said
    letters = _has_letter(value)
    if letters and (any(map(str.isdigit, value)) or _SIGNS.search(value)):
        return not _ORDINARY.fullmatch(value)
    return not said and len(value) >= 16 and value.isalpha()


def _is_login(value: str, _: bool) -> bool:
    """User and password of basic authentication."""
    try:
        plain = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    _user, colon, password = plain.partition(":")
    return bool(colon and password) and plain.isprintable() and not _is_harmless(password)


def _is_address(value: str, _: bool) -> bool:
    return not _is_harmless(value) and not value.isdigit()


def _is_card(value: str, _: bool) -> bool:
    digits = re.sub("[ -]", "", value)
    groups = [len(group) for group in re.split("[ -]", value)]
    is_grouped = len(groups) == 1 or groups in _CARD_GROUPS
    return is_grouped and len(digits) in _CARD_LENGTHS.get(digits[0], ()) and _checks(digits)


_TESTS: Mapping[secret_patterns.Test, Callable[[str, bool], bool]] = {
    "shape": _is_shape,
    "block": _is_block,
    "token": _is_token,
    "key": _is_key,
    "password": _is_password,
    "login": _is_login,
    "address": _is_address,
    "card": _is_card,
}

# ---------------------------------------------------------------- what is none

_DIGEST = re.compile("(?i)[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DOCUMENTATION = re.compile(r"EXAMPLE(?:KEY)?$|\[removed: ")
_STAND_IN = re.compile(
    r"<.*>|\{.*\}|\[.*\]|[*x.•_-]+|%\w+%|\$\{?[A-Za-z_].*"
    r"|(?:your|my|the|some|an?)[-_ ]?\w*[-_ ]?(?:password|passwd|secret|key|token|value|here|id).*"
    r"|change[-_ ]?(?:me|it|this).*|(?:example|placeholder|redacted|dummy|sample|fake|todo|tbd).*"
    r"|pass(?:word|wd|phrase|code)?[0-9]?|pwd|pw|secret|token|user(?:name)?|admin|none|null|nil|true|false|undefined"
    r"|required|optional|string|number|hidden|masked|empty|unset|unknown|invalid|expired|n/a",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|\.{0,2}/|~/|arn:|op:|vault:|env:|file:|ref\+|secretsmanager|@Microsoft).*", re.DOTALL
)
_CODE = re.compile(
    r"[A-Za-z_$]+(?:(?:\.|::|->|\?\.)[A-Za-z_$]+)+"
    r"|(?:process|import|os|env|config|settings|secrets|self|this|vars?|local|data|github|steps|params|props|req|request|ctx"
    r"|context|args|options|opts|Deno|Bun|ENV|System|app|module|each|input|output|event)(?:\.|::|->)[\w.$]+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
)
_SIGNS = re.compile(r"[!#$%^&*+=?@~|\\/]")
# A number of something, a date, a version, a unit; and words in a row.
_ORDINARY = re.compile(
    r"(?i)[0-9]+(?:[-–.][0-9]+)*\+?[-–]?(?:[a-z]{1,12})|v?[0-9]+(?:\.[0-9a-z]+)+|[a-z]+(?:/[a-z]+)+[!?]*|[a-z'-]+[!?*]+"
)


def _is_documentation(value: str) -> bool:
    return _DOCUMENTATION.search(value) is not None


def _is_harmless(value: str) -> bool:
    """A stand-in, a look-up, a path, a name in code, a documentation key."""
    return any(pattern.fullmatch(value) for pattern in (_STAND_IN, _PATH, _CODE)) or _is_documentation(value)


def _has_letter(value: str) -> bool:
    return any(map(str.isalpha, value))


def _is_jumbled(value: str) -> bool:
    """Whether upper and lower case change within it, as in no word."""
    return len(re.findall("[a-z][A-Z]", value)) >= 3


def entropy(text: str) -> float:
    """Bits a character, by how often each occurs."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


_CARD_LENGTHS = {"2": (16,), "3": (14, 15, 16), "4": (13, 16, 19), "5": (16,), "6": (16, 17, 18, 19)}
_CARD_GROUPS = ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3])


def _checks(digits: str) -> bool:
    """The check digit of Luhn (ISO/IEC 7812-1)."""
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
