"""The gate's patterns of the product's own: RE2 syntax, whose matching takes linear time whatever the text (GT-3)."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)
def fault_of(pattern: str) -> str | None:
    """Why it is no RE2 pattern (without quoting it), or None where it is one. The pattern can be encoded in UTF-8."""
    import re2  # here, since few configurations have patterns and the import costs a cold start 20 ms

    options = re2.Options()
    options.log_errors = False  # RE2 would write the pattern to standard error
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    """RE2's message up to the colon, behind which it quotes the pattern."""
    reason = error.args[0] if error.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return text.partition(":")[0] or "invalid"
