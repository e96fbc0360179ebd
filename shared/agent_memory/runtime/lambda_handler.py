"""What is around every Lambda handler: its start, and the fields of its log lines that Lambda alone knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any

from . import wiring
from .observability import configure_logging
from .settings import SettingsError

Event = Mapping[str, Any]
Handle = Callable[[Event, Any], dict[str, Any]]


def lambda_handler(handle: Handle) -> Handle:
    """The handler as Lambda calls it: each line that it logs names the function, the request, and whether it is the
    first. In Lambda all that it works with is made now, while a function that starts has a whole processor. Elsewhere
    (no context) it is the handler alone."""
    if "AWS_LAMBDA_FUNCTION_NAME" not in os.environ:
        return _by_context(handle)
    _prepare()
    return _in_lambda(handle)


def _by_context(handle: Handle) -> Handle:
    @wraps(handle)
    def called(event: Event, context: Any) -> dict[str, Any]:
        return handle(event, context) if context is None else _in_lambda(handle)(event, context)

    return called


def _in_lambda(handle: Handle) -> Handle:
    named: Handle = configure_logging().inject_lambda_context(handle, clear_state=True)
    return named


def _prepare() -> None:
    # The first call answers and logs it; a function that cannot start would only be started again.
    with suppress(SettingsError):
        wiring.wired()
