"""One effect and one answer for a call that comes twice with one Idempotency-Key (IF-2): the line of each POST handler.

    return once(call, partial(add, services(), …), lambda added: Answer(201, shown(added)))

The first function is the operation, which takes the keyword `also` (`operations.also`); the second makes the answer of
its result, asks nobody, and may be called more than once. So the answer is kept in the transaction of the effect: a
call whose answer was lost, by whatever fault, was not carried out, or finds its answer. What was answered without such
a transaction (what stood already, say) is kept afterwards; what is refused, and `unavailable`, frees the key.

Leaves to `store.receipts` what lies in the table.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, assert_never

from agent_memory.domain.errors import ConditionFailed, Conflict, NotAllowed, Unavailable
from agent_memory.domain.ports import Write
from agent_memory.operations.also import Also, nothing
from agent_memory.operations.services import Services
from agent_memory.store import keys
from agent_memory.store.receipts import Asked, Claim, Differs, Kept, Running

from .calls import Answer, Call, IdempotencyKey
from .wiring import services

R = TypeVar("R")
S = TypeVar("S", covariant=True)

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
FORM = "[!-~]{1,128}"
TAKES = "1 to 128 visible ASCII characters"


class Operation(Protocol[S]):
    """Gives the result that it handed to `also` in the transaction that stands, or an unequal one where it made no such
    transaction."""

    def __call__(self, *, also: Also[S]) -> S: ...


def once(call: Call, operation: Operation[R], answer: Callable[[R], Answer]) -> Answer:
    """The answer to the call, made now or kept from before. Raises `Conflict` (in_progress) while the same call runs,
    `NotAllowed` (idempotency_mismatch) where the key came with another body, and what the operation raises."""
    if call.key is None:
        return answer(operation(also=nothing))
    asked = asked_of(call, call.key)
    ports = services()
    now = ports.clock.now()
    found = ports.receipts.claim(asked, ports.ids.new(now), now)
    match found:
        case Claim():
            return _Once(ports, found, answer).run(operation)
        case Kept():
            return _replayed(found.packed)
        case Running():
            raise _in_progress()
        case Differs():
            message = f"This {HEADER} came with another body before: take a new key for another call."
            raise NotAllowed(message, code="idempotency_mismatch")
        case _:
            assert_never(found)


def key_of(text: str, body: Any) -> IdempotencyKey | None:
    """The key with what it was sent with, None where the text is no key. body: JSON values."""
    return IdempotencyKey(text, _hash([text, _canonical(body)])) if re.fullmatch(FORM, text) else None


def asked_of(call: Call, key: IdempotencyKey) -> Asked:
    """Its row lies with the turn that the call is about, else with the agent."""
    agent, turn = call.path.get("agent"), call.path.get("turn")
    hashed = _hash([call.caller, call.method, call.resource, sorted(call.path.items()), key.text])
    partition = keys.turn_partition(agent, turn) if agent and turn else keys.receipts(agent, hashed)
    return Asked(partition, hashed, key.body)


class _Once(Generic[R]):
    """Carries a claimed call out."""

    def __init__(self, services: Services, claim: Claim, answer: Callable[[R], Answer]) -> None:
        self._services = services
        self._claim = claim
        self._answer = answer
        self._told: tuple[R, Answer] | None = None  # the result last handed to `also`, with its answer

    def run(self, operation: Operation[R]) -> Answer:
        try:
            result = operation(also=self._also)
            if self._told and self._told[0] == result and _is_kept(self._told[1]):
                return self._told[1]
            return self._keep(self._answer(result))
        except ConditionFailed as failed:
            self._check_claim()  # another one took the call over: that is the condition which failed
            self._release()
            raise failed
        except BaseException:
            self._release()
            raise

    def _also(self, result: R) -> Sequence[Write]:
        if self._told:
            self._check_claim()  # the operation tries again: perhaps since the claim is lost, which it cannot know
        answer = self._answer(result)
        self._told = result, answer
        return self._services.receipts.kept(self._claim, _packed(answer), self._now()) if _is_kept(answer) else ()

    def _keep(self, answer: Answer) -> Answer:
        if _is_kept(answer):
            self._services.receipts.keep(self._claim, _packed(answer), self._now())
        else:
            self._release()
        return answer

    def _check_claim(self) -> None:
        if not self._services.receipts.holds(self._claim):
            raise _in_progress()

    def _release(self) -> None:
        with suppress(Unavailable):  # then the lease ends by itself
            self._services.receipts.release(self._claim, self._now())

    def _now(self) -> datetime:
        return self._services.clock.now()


def _in_progress() -> Conflict:
    message = f"A call with this {HEADER} is being carried out: send it again for its answer."
    running = Conflict(message, code="in_progress")
    running.retry_after_s = 1.0
    return running


def _is_kept(answer: Answer) -> bool:
    error = answer.body.get("error")
    is_unavailable = isinstance(error, dict) and error.get("code") == Unavailable.code
    return 200 <= answer.status < 300 and not is_unavailable


# ---------------------------------------------------------------- answers as bytes


def _packed(answer: Answer) -> bytes:
    text = json.dumps([answer.status, dict(answer.headers), answer.body], ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode())


def _replayed(packed: bytes) -> Answer:
    status, headers, body = json.loads(zlib.decompress(packed))
    return Answer(status, body, {**headers, REPLAYED: "true"})


# ---------------------------------------------------------------- calls as hashes


def _hash(values: Any) -> str:
    """Of JSON values. What was hashed holds the key, so a body cannot be guessed from the row alone."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """The same for equal JSON values: 1.0 is 1. At most 72 levels deep (`json_text`)."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _canonical(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    return value
