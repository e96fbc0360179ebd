"""Logs: JSON, one line an event, the message a constant, data as fields; ids, counts and durations alone.

Lines are formatted by powertools' Logger, which is set up on the standard library's logger of the same name; it is
imported by `configure_logging`, since it brings botocore with it. Without that call only warnings and errors are told,
as plain text, as the standard library does.
"""

from __future__ import annotations

import logging
import traceback
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools.logging import Logger

SERVICE = "agent-memory"
_log = logging.getLogger(SERVICE)


def configure_logging(stream: IO[str] | None = None) -> Logger:
    """To the stream, or to standard output, where Lambda reads JSON. The level is the environment's
    (POWERTOOLS_LOG_LEVEL, or Lambda's own setting), INFO without one. Twice is as good as once."""
    from aws_lambda_powertools.logging import Logger

    logger = Logger(service=SERVICE, stream=stream, utc=True, use_rfc3339=True)
    _log.propagate = False
    return logger


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
        _log.log(level, message, extra=fields, stacklevel=3)  # the line is the caller's
