"""A shard of DynamoDB's stream and the event source that reads it, as Lambda does it; no emulator has all of this.

Delivers the oldest batch again and again until it comes through: after an answer with failed items from the lowest of
their sequence numbers on, after an error from the beginning, in halves (bisect) once it failed. Records that failed too
often go to the on-failure list, and the shard goes on. Each inserts may come twice (at least once), and those of
different items in any order that the test asks for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_memory.domain.ports import Key

Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]


@dataclass
class Shard:
    handler: Handler
    batch: int = 4
    attempts: int = 20  # of a batch; Lambda counts those of each piece of a bisected one by itself
    records: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)  # what the on-failure queue would be told of
    deliveries: int = 0

    def insert(self, keys: Iterable[Key], *, rng: random.Random | None = None) -> None:
        """Put the keys on the shard; rng: in another order, and some of them twice."""
        keys = list(keys)
        if rng:
            keys += rng.sample(keys, len(keys) // 2)
            rng.shuffle(keys)
        for key in keys:
            self.records.append(_record(len(self.records), key))

    def run(self) -> None:
        """Deliver everything."""
        while self.records:
            self._deliver(self.records[: self.batch], self.attempts)

    def _deliver(self, batch: list[dict[str, Any]], attempts: int) -> None:
        while batch:
            left = self._once(batch)
            if left is None and len(batch) > 1:  # bisected: each half with attempts of its own
                middle = len(batch) // 2
                self._deliver(batch[:middle], attempts)
                self._deliver(batch[middle:], attempts)
                return
            attempts -= 1
            if left is None or left:
                if attempts == 0:
                    self.failed += left or batch
                    self._done(left or batch)
                    return
                left = batch if left is None else left
            self._done(batch[: len(batch) - len(left)])
            batch = left

    def _once(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """What is to be sent again; None: it failed as a whole."""
        self.deliveries += 1
        try:
            answer = self.handler({"Records": list(batch)}, None)
        except Exception:
            return None
        numbers = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        first = next((n for n, one in enumerate(batch) if one["dynamodb"]["SequenceNumber"] in numbers), len(batch))
        return batch[first:]

    def _done(self, batch: list[dict[str, Any]]) -> None:
        self.records = [record for record in self.records if record not in batch]


def _record(position: int, key: Key) -> dict[str, Any]:
    keys = {"pk": {"S": key.partition}, "sk": {"S": key.sort}}
    number = f"{100000000 + position:021}"
    stream = {"Keys": keys, "SequenceNumber": number, "StreamViewType": "KEYS_ONLY"}
    return {"eventID": number, "eventName": "INSERT", "eventSource": "aws:dynamodb", "dynamodb": stream}
