"""A table that counts DynamoDB's request units, and how many calls of any port wait for one another.

Knows how DynamoDB counts ("Read and write operations" in its guide). moto answers `ReturnConsumedCapacity` with
constants (a query .5 or 1 whatever it read, a transaction 2 an action whatever it wrote), so it cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

from agent_memory.adapters.limits import check_put
from agent_memory.domain.ports import Check, Condition, Delete, Item, Key, Put, Row, Table, TableName, Write

READ_BYTES, WRITE_BYTES, PAGE_BYTES = 4096, 1024, 1024 * 1024  # of a read unit, a write unit, a page of a query
ITEM_BYTES = 100  # that each item takes in storage beside its size


class Units(NamedTuple):
    """requests: of the table. rounds: calls of any port that wait for the one before. kept_bytes: by how much the
    tables grew, as DynamoDB charges storage (100 bytes more for each item)."""

    reads: int = 0
    writes: int = 0
    requests: int = 0
    rounds: int = 0
    kept_bytes: int = 0

    def plus(self, other: Units, times: int = 1) -> Units:
        return Units(*(mine + times * its for mine, its in zip(self, other, strict=True)))


@dataclass(slots=True)
class Rounds:
    """Of calls that `together` makes at once, the longest row counts."""

    done: int = 0

    def together(self, *calls: Callable[[], Any]) -> list[Any]:
        """Stands for `wiring.at_once`, and carries them out one after the other."""
        start, ends, given = self.done, [self.done], []
        for call in calls:
            self.done = start
            given.append(call())
            ends.append(self.done)
        self.done = max(ends)
        return given

    def counting(self, port: Any, *names: str) -> Any:
        """The port, whose methods of these names are a round each."""
        return _Counting(port, names, self)


class _Counting:
    def __init__(self, inner: Any, names: Sequence[str], rounds: Rounds) -> None:
        self._inner, self._names, self._rounds = inner, names, rounds

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            self._rounds.done += 1
        return getattr(self._inner, name)


@dataclass(slots=True)
class MeteredTable:
    """A table that counts. All its reads are consistent, as the port demands: a unit for each 4 KB."""

    inner: Table
    spent: Units = field(default_factory=Units)

    def get(self, key: Key) -> Item | None:
        item = self.inner.get(key)
        self._add(reads=_read_units(_size(key, item)))
        return item

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Each item is rounded up for itself; one that is absent costs a unit."""
        wanted = list(dict.fromkeys(keys))
        found = self.inner.get_many(wanted)
        for start in range(0, len(wanted), 100):
            batch = wanted[start : start + 100]
            self._add(reads=sum(_read_units(_size(key, found.get(key))) for key in batch))
        return found

    def query(
        self,
        table: TableName,
        partition: str,
        *,
        prefix: str = "",
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Row]:
        """The items of a page are summed, then rounded up; an empty page costs a unit."""
        rows = self.inner.query(table, partition, prefix=prefix, newest_first=newest_first, after=after, limit=limit)
        size = sum(_size(row.key, row.item) for row in rows)
        self._add(reads=_read_units(size), requests=max(1, ceil(size / PAGE_BYTES)))
        return rows

    def transact(self, writes: Sequence[Write]) -> None:
        """Twice the units of each action. A check counts as a write of what it looks at, as the service was seen to do
        (Hicks, "What a conditional DynamoDB transaction actually costs")."""
        with self._writing(writes, factor=2):
            self.inner.transact(writes)

    def increment(self, key: Key, counters: Mapping[str, int], *, condition: Condition | None = None) -> Item:
        before = _size(key, self.inner.get(key))
        item = self.inner.increment(key, counters, condition=condition)
        after = _size(key, item)
        self._add(writes=_write_units(max(before, after)), kept_bytes=_kept(after) - _kept(before))
        return item

    def write_many(self, writes: Sequence[Put | Delete]) -> None:
        for start in range(0, len(writes), 25):
            with self._writing(writes[start : start + 25]):
                self.inner.write_many(writes[start : start + 25])

    @contextmanager
    def _writing(self, writes: Sequence[Write], factor: int = 1) -> Iterator[None]:
        """Each costs by the larger of what was there and what is put in its place, also where it is refused."""
        units = kept = 0
        for write in writes:
            before = after = _size(write.key, self.inner.get(write.key))
            if not isinstance(write, Check):
                after = _size(write.key, write.item if isinstance(write, Put) else None)
            units += factor * _write_units(max(before, after))
            kept += _kept(after) - _kept(before)
        self._add(writes=units)
        yield
        self._add(requests=0, kept_bytes=kept)

    def _add(self, *, reads: int = 0, writes: int = 0, requests: int = 1, kept_bytes: int = 0) -> None:
        self.spent = self.spent.plus(Units(reads, writes, requests, 0, kept_bytes))


def _size(key: Key, item: Item | None) -> int:
    """The writer's stamp of 38 bytes included, also where an item has none."""
    return 0 if item is None else check_put(key, item)


def _kept(size: int) -> int:
    return size + ITEM_BYTES if size else 0


def _read_units(size: int) -> int:
    return max(1, ceil(size / READ_BYTES))


def _write_units(size: int) -> int:
    return max(1, ceil(size / WRITE_BYTES))
