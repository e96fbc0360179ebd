"""Everything that can go wrong, in one tree; each class has a stable `code`, and says whether to send the call again.

    AgentMemoryError
    ├── Refused                  the caller's fault: the answer names it
    │   ├── InvalidRequest       400  a body or a query with faults, all of them at once
    │   ├── Unauthenticated      401
    │   ├── Forbidden            403
    │   ├── NotFound             404  also what the caller may not see
    │   ├── MethodNotAllowed     405
    │   ├── Conflict             409  codes of their own: turn_not_open, outcome_differs, …
    │   ├── VersionMismatch      412  with the version that stands
    │   ├── TooLarge             413
    │   ├── NotAllowed           422  well formed and not allowed; codes of their own
    │   ├── IfMatchRequired      428
    │   └── Throttled            429  retryable
    ├── ToolRefused              200  a tool's call that the model reads the refusal of
    ├── ConditionFailed               a write found another state than it was told to (never shown to a caller)
    ├── Unavailable              503  retryable: something outside did not answer
    │   ├── EmbedderUnavailable
    │   ├── IndexUnavailable
    │   ├── ReviewerUnavailable
    │   ├── StoreUnavailable
    │   └── Unreachable               the server itself did not answer (only a client sees it)
    └── UnreadableAnswer              what answered is no server of this product (only a client sees it)

`runtime.problems` alone turns them into HTTP. No message holds memory text or a refused value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .ports import Item


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with what was sent: where (`memory.scope.read[0]`), a stable code, and what the place takes."""

    path: str
    code: str
    message: str


class AgentMemoryError(Exception):
    """Base of all errors of the product. The last two a client reads from the answer that brought the error."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    request_id: str | None = None
    retry_after_s: float | None = None


class Refused(AgentMemoryError):
    """The caller asked for what is not to be had. `code` may be given where a status has several."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        faults: Sequence[Fault] = (),
        current: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.faults = list(faults)
        self.current = current
        if code:
            self.code = code  # type: ignore[misc]


class InvalidRequest(Refused):
    code = "invalid_request"


class Unauthenticated(Refused):
    code = "unauthenticated"


class Forbidden(Refused):
    code = "forbidden"


class NotFound(Refused):
    code = "not_found"


class MethodNotAllowed(Refused):
    code = "method_not_allowed"


class Conflict(Refused):
    code = "conflict"


class VersionMismatch(Refused):
    code = "version_mismatch"


class TooLarge(Refused):
    code = "too_large"


class NotAllowed(Refused):
    code = "not_allowed"


class IfMatchRequired(Refused):
    code = "if_match_required"


class Throttled(Refused):
    code = "throttled"
    retryable = True


class ToolRefused(AgentMemoryError):
    """A tool's call that is not carried out. The model reads `message`: what is allowed instead."""

    def __init__(
        self, code: str, message: str, argument: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]
        self.message = message
        self.argument = argument
        self.details = dict(details or {})


class ConditionFailed(AgentMemoryError):
    """Nothing was written. `positions`: which writes of the transaction failed, from 0, ascending;
    `current`: the item that stands there now, by position (None: no item)."""

    code = "condition_failed"

    def __init__(self, current: Mapping[int, Item | None]) -> None:
        self.positions = sorted(current)
        self.current = dict(current)
        super().__init__(f"conditions failed at {self.positions}")


class Unavailable(AgentMemoryError):
    code = "unavailable"
    retryable = True


class EmbedderUnavailable(Unavailable):
    """The embedding model did not answer."""


class IndexUnavailable(Unavailable):
    """The search index did not answer."""


class ReviewerUnavailable(Unavailable):
    """The model of reviews did not answer, or refused to."""


class StoreUnavailable(Unavailable):
    """The table did not answer, or stayed contended through all retries."""


class Unreachable(Unavailable):
    """A client got no answer. was_sent: whether the call may have been carried out all the same."""

    def __init__(self, message: str, *, was_sent: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class UnreadableAnswer(AgentMemoryError):
    """A client was answered something that no server of this product says: most likely the address is another's."""

    code = "unreadable_answer"
