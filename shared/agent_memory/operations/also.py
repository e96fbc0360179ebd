"""What a caller has written along with an operation's effect: how an answer is kept in the transaction that makes it
true (IF-2).

An operation of a POST takes `also: Also[Result] = nothing`, and puts what it gives *behind* its own writes, since
operations tell by position which of their conditions failed. It is called with the result as it will be once the
transaction stands, perhaps several times, since operations try again. An operation that writes nothing, or nothing that
a repetition must find, need not call it: the answer is then kept afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from agent_memory.domain.ports import Write

R = TypeVar("R")

Also = Callable[[R], Sequence[Write]]


def nothing(_: object) -> Sequence[Write]:
    """For callers that add nothing."""
    return ()
