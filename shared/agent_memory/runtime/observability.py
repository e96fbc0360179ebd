"""Logs: JSON, one line an event, the message a constant, data as fields; ids, counts and durations alone.

The standard library's logging: powertools' Logger brings botocore and 40 ms of start-up with it, for the same line.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import Any

_log = logging.getLogger("agent_memory")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": record.levelname,
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03}",
            "message": record.getMessage(),
        }
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False, default=str)


def configure_logging(level: int = logging.INFO) -> None:
    """To standard error; twice is as good as once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    _log.handlers[:] = [handler]
    _log.propagate = False
    _log.setLevel(level)


def info(message: str, **fields: Any) -> None:
    _write(logging.INFO, message, fields)


def warning(message: str, **fields: Any) -> None:
    """Degraded, but answered."""
    _write(logging.WARNING, message, fields)


def error(message: str, **fields: Any) -> None:
    """Someone should look."""
    _write(logging.ERROR, message, fields)


def where(error: BaseException) -> dict[str, Any]:
    """What an exception was and where it came from, without its text, which may quote what a caller sent."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return {"error": type(error).__name__, "frames": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


def _write(level: int, message: str, fields: dict[str, Any]) -> None:
    if _log.isEnabledFor(level):
        _log.log(level, message, extra={"fields": fields})
