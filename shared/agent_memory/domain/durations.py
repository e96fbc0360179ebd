"""A length of time as configurations spell it: `30s`, `15m`, `12h`, `30d`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .bodies import takes

MAX_DAYS = 36_500  # a hundred years from now is still a date that every part can hold
TAKES = f"a duration such as 30s, 15m, 12h or 30d, at most {MAX_DAYS}d"

_SPELLING = re.compile("([1-9][0-9]{0,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Duration:
    """Kept and answered as it was spelled (`24h` and `1d` are two texts); added to a moment it gives a moment."""

    text: str
    span: timedelta = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Raises ValueError for another spelling, and beyond `MAX_DAYS`."""
        parts = _SPELLING.fullmatch(text)
        if parts is None:
            raise ValueError(TAKES)
        seconds = int(parts[1]) * _SECONDS[parts[2]]  # not a timedelta yet: ten digits of days overflow it
        if seconds > MAX_DAYS * 86_400:
            raise ValueError(TAKES)
        return cls(text, timedelta(seconds=seconds))

    def __radd__(self, moment: datetime) -> datetime:
        return moment + self.span

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelled = core_schema.to_string_ser_schema()
        return core_schema.no_info_plain_validator_function(_duration, serialization=spelled)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "format": "duration", "pattern": f"^{_SPELLING.pattern}$"}


def _duration(given: object) -> Duration:
    if isinstance(given, Duration):
        return given
    try:
        return Duration.parse(given if isinstance(given, str) else "")
    except ValueError as error:
        raise takes(TAKES) from error
