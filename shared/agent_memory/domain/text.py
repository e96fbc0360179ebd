"""Which characters a text may hold, by the place it stands in.

Knows lone surrogates, line breaks, control and refused characters and the shape of ids. Leaves to others: lengths of
fields (the models), secrets and orders to the model (the gate), words (the analyser). Everything here is linear in the
text.
"""

from __future__ import annotations

import re

MAX_ID_CHARACTERS = 128
LINE_BREAKS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # of a pattern's class: where str.splitlines splits

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # json.loads joins pairs, so whatever is left stands alone
_LINE_BREAK = re.compile(f"[{LINE_BREAKS}]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # exactly the category Cc, which is closed for good (Unicode stability)
# Controls but tab and line feed; what turns the direction of writing; noncharacters. Tag characters spell hidden text,
# unless they stand behind a black flag: then they name the region whose flag it is.
_NONCHARACTERS = "".join(f"{chr(0x10000 * plane + 0xFFFE)}{chr(0x10000 * plane + 0xFFFF)}" for plane in range(17))
_REFUSED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u206f\ufdd0-\ufdef\U000e0000-\U000e007f" + _NONCHARACTERS + "]"
)
_REGION_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
_AGENT_ID = re.compile("[A-Za-z0-9_-]{1,64}")


def has_lone_surrogate(text: str) -> bool:
    """Whether it holds half of a pair, which no encoding can carry."""
    return _LONE_SURROGATE.search(text) is not None


def has_line_break(text: str) -> bool:
    """Any of Unicode's line breaks, not \\n alone: a model reads them all as the end of a line."""
    return _LINE_BREAK.search(text) is not None


def has_control(text: str) -> bool:
    """Whether it holds a character of the category Cc."""
    return _CONTROL.search(text) is not None


def has_refused(text: str) -> bool:
    """Whether it holds a character that no memory takes, in whatever place of it (GT-2)."""
    return _REFUSED.search(_REGION_FLAG.sub("", text)) is not None


def is_agent_id(text: str) -> bool:
    """Safe in a path; `platform` is kept for the memory of the whole deployment."""
    return _AGENT_ID.fullmatch(text) is not None and text != "platform"


def is_given_id(text: str) -> bool:
    """An id of a session, a workflow, a user or a run, as the harness names it: compared whole, by code points."""
    return 1 <= len(text) <= MAX_ID_CHARACTERS and not has_control(text) and not has_lone_surrogate(text)


def without_lone_surrogates(text: str) -> str:
    """The text with U+FFFD in their place: for names that a refusal must mention."""
    return _LONE_SURROGATE.sub("\ufffd", text)
