"""What a recall asks for when it is given messages and not a query (RL-7).

Knows which messages speak. Leaves to others what a word is and whether a query is blank (`words.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .block import strip_blocks
from .cutting import cut
from .folding import is_invisible
from .messages import Message

MAX_CHARACTERS = 2000
_SEPARATOR = "\n"


def query_of(messages: Sequence[Message]) -> str:
    """The newest message of the user, then older ones of user and agent, newest first, while 2,000 characters last.

    messages: oldest first. Blocks that a recall rendered are cut out first, so a message that holds nothing else is
    none. Skill loads and retrievals are nobody's words. "" where the user said nothing."""
    query = ""
    for text in _said(messages):
        room = MAX_CHARACTERS - len(query) - len(_SEPARATOR) * bool(query)
        piece = cut(text, room, sentences=False)
        query = _SEPARATOR.join(filter(None, (query, piece)))
        if len(piece) < len(text):
            break
    return query


def _said(messages: Sequence[Message]) -> Iterator[str]:
    """Texts that are not blank, newest first, beginning with one of the user's."""
    has_begun = False
    for message in reversed(messages):
        if message.purpose == "message" and (message.role == "user" or (has_begun and message.role == "agent")):
            text = strip_blocks(message.text).strip()
            if not is_invisible(text):
                has_begun = True
                yield text
