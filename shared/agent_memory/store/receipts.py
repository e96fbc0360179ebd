"""What is kept of a call that came with an Idempotency-Key (IF-2): first that it runs, then its answer.

One row in the execution table, beside the turn that the call is about, else among the agent's own. Its sort key is a
hash of caller, method, path and key; the key itself stands nowhere. The row is in one of three states, and each change
of state gives it a new token, on which the next change depends:

    running   a lease: until then, and while the server that gave it lives, nobody else carries the call out
    free      the call was refused: whoever comes next may claim it
    kept      the answer, compressed; a long one goes on in rows of its own

A row counts for 24 hours by the product's clock. DynamoDB removes it some time later, one machine at its next sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_memory.domain.errors import ConditionFailed
from agent_memory.domain.ports import Absent, Condition, Equals, Item, Key, Put, Table

from . import keys

KEPT_S = 24 * 3600
LEASE_S = 60  # a call ends within 29 s in AWS (API Gateway); the rest is for its retries and for clocks that differ
CHUNK_BYTES = 380_000  # of an answer in one row: an item takes 400 KB
MAX_BYTES = 3_000_000  # of a whole answer: a transaction takes 4 MB, and its effect needs some of them

_TRIES = 3  # of claiming a row that changes meanwhile


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, so that its repetition is known. partition: where its row lies; call: hash of caller, method, path and
    key; body: hash of the body."""

    partition: str
    call: str
    body: str

    @property
    def key(self) -> Key:
        return keys.receipt(self.partition, self.call)


@dataclass(frozen=True, slots=True)
class Claim:
    """The call is this one's to carry out, as long as the row has the token."""

    asked: Asked
    token: str


@dataclass(frozen=True, slots=True)
class Running:
    """Somebody else carries the call out."""


@dataclass(frozen=True, slots=True)
class Differs:
    """The key came with another body before."""


@dataclass(frozen=True, slots=True)
class Kept:
    """packed: the answer as it was given to `kept`."""

    packed: bytes


class Receipts:
    """server: names the running server where one alone uses the table: what another one left running is dead. ""
    where there are many."""

    def __init__(self, table: Table, *, server: str = "") -> None:
        self._table = table
        self._server = server

    def claim(self, asked: Asked, token: str, now: datetime) -> Claim | Running | Differs | Kept:
        """token: new, for this attempt alone."""
        condition: Condition = Absent()
        running = {"body": asked.body, "server": self._server, "until": _seconds(now) + LEASE_S}
        for _ in range(_TRIES):
            try:
                self._table.transact([Put(asked.key, _row(token, now, running), condition)])
                return Claim(asked, token)
            except ConditionFailed as failed:
                standing = failed.current[0]
            if standing is None:
                condition = Absent()
            elif self._is_free(standing, now):
                condition = Equals("token", standing["token"])
            else:
                return self._standing(asked, standing)
        return Running()

    def holds(self, claim: Claim) -> bool:
        """Whether the call is still the claim's to carry out."""
        item = self._table.get(claim.asked.key)
        return item is not None and item["token"] == claim.token

    def kept(self, claim: Claim, packed: bytes, now: datetime) -> list[Put]:
        """Keeps the answer, on the condition that the claim holds: goes with the writes of its effect. One that is too
        long leaves the row free: only what reads can have such an answer, and may be carried out again."""
        if len(packed) > MAX_BYTES:
            return [self._free(claim, now)]
        first, *rest = [packed[at : at + CHUNK_BYTES] for at in range(0, len(packed), CHUNK_BYTES)]
        row = _row(f"{claim.token}:kept", now, {"body": claim.asked.body, "answer": first, "more": len(rest)})
        puts = [Put(claim.asked.key, row, Equals("token", claim.token))]
        for key, chunk in zip(_further(claim.asked, len(rest)), rest, strict=True):
            puts.append(Put(key, {"answer": chunk, keys.EXPIRES: row[keys.EXPIRES]}))
        return puts

    def keep(self, claim: Claim, packed: bytes, now: datetime) -> None:
        """By itself, without an effect. Raises `ConditionFailed` where the claim does not hold any more."""
        self._table.transact(self.kept(claim, packed, now))

    def release(self, claim: Claim, now: datetime) -> None:
        """The call has no answer to keep: the key may be used again at once. Where the claim does not hold any more
        (its answer was kept, another one has it) nothing changes."""
        try:
            self._table.transact([self._free(claim, now)])
        except ConditionFailed:
            return

    def _free(self, claim: Claim, now: datetime) -> Put:
        return Put(claim.asked.key, _row(f"{claim.token}:free", now, {}), Equals("token", claim.token))

    def _is_free(self, item: Item, now: datetime) -> bool:
        if item[keys.EXPIRES] <= _seconds(now):
            return True
        if "answer" in item:
            return False
        return item.get("server") != self._server or item["until"] <= _seconds(now)

    def _standing(self, asked: Asked, item: Item) -> Running | Differs | Kept:
        if item["body"] != asked.body:
            return Differs()
        if "answer" not in item:
            return Running()
        further = _further(asked, item["more"])
        found = self._table.get_many(further) if further else {}
        if len(found) < len(further):
            return Running()  # it expires just now: the next try begins anew
        return Kept(b"".join([item["answer"], *(found[key]["answer"] for key in further)]))


def _further(asked: Asked, number: int) -> Sequence[Key]:
    return [keys.receipt(asked.partition, asked.call, at) for at in range(1, number + 1)]


def _row(token: str, now: datetime, more: Item) -> Item:
    return {"token": token, keys.EXPIRES: _seconds(now) + KEPT_S, **more}


def _seconds(now: datetime) -> int:
    return int(now.timestamp())
