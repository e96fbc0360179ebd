"""An instant that a caller gives: RFC 3339 with an offset, kept to the character. `times.instant` makes it a moment."""

from __future__ import annotations

import re
from datetime import UTC
from typing import Annotated

from pydantic import AfterValidator, Field

from .bodies import takes
from .times import instant

TAKES = "a date and time with an offset, such as 2026-05-12T10:00:00+02:00"

# The upper-case T and Z that RFC 3339 recommends, so that every reader of stored text can parse it. A fraction of more
# than nine digits is no clock's; datetime keeps six, the text keeps all.
_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-5][0-9])"
)


def is_instant(text: str) -> bool:
    """False without an offset, for a date that does not exist, and for one outside the years 1 to 9999 in UTC."""
    if _RFC3339.fullmatch(text) is None:
        return False
    try:
        instant(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def _instant(text: str) -> str:
    if not is_instant(text):
        raise takes(TAKES)
    return text


Instant = Annotated[str, AfterValidator(_instant), Field(json_schema_extra={"format": "date-time"})]
