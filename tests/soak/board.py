"""All records at a moment, and how a change alters them: the rules that turns and people have in common.

Knows keys (RC-3), chains of what replaced what (RC-5, TU-8, GR-8), covers (PV-2) and equal records (TL-2). Changes its
records in place; who wants to look ahead takes a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from .records import Rec, Said, Where

IsBroader = Callable[[Rec], bool]
MOST_CONSTRAINTS = 20  # of one scope of one owner


class Board:
    def __init__(self, records: dict[str, Rec], now: datetime) -> None:
        self.records, self.now = records, now

    def copy(self) -> Board:
        return Board({id: record.copy() for id, record in self.records.items()}, self.now)

    def active_in(self, where: Where) -> Iterator[Rec]:
        return (r for r in self.records.values() if r.where == where and r.is_active(self.now))

    def holder(self, where: Where, key: str | None) -> Rec | None:
        """The one active record there that has the key."""
        return next((r for r in self.active_in(where) if key is not None and r.said.key == key), None)

    def live_holder(self, where: Where, key: str | None, is_seen: Callable[[Rec], bool]) -> Rec | None:
        """For a preview save there: the live holder, unless a preview record that is seen covers it already."""
        held = self.holder(where.live, key) if where.preview else None
        return None if held is None or held.id in self.covered_by(is_seen) else held

    def equal(self, where: Where, said: Said) -> set[str]:
        """Active records that say the same."""
        return {record.id for record in self.active_in(where) if record.said == said}

    def constraints(self, where: Where, is_broader: IsBroader) -> set[str]:
        return {record.id for record in self.active_in(where) if is_broader(record)}

    def covered_by(self, is_seen: Callable[[Rec], bool]) -> set[str]:
        """Live records that preview records which are seen name in `replaces`, whatever became of these; a deletion
        until its end. What a preview turn proposes for the platform covers nothing."""
        return {
            id for record in self.records.values() if self.covers(record) and is_seen(record) for id in record.replaces
        }

    def covers(self, record: Rec) -> bool:
        """Whether it hides the live records that it names."""
        is_done = record.removes and record.is_over(self.now)
        return record.where.preview and record.where.scope != "platform" and not is_done

    def put(self, new: Rec) -> None:
        """A new record; what it replaces of its own mode is superseded, live records are only covered by preview."""
        self.records[new.id] = new
        for id in new.replaces:
            target = self.records[id]
            if new.status == "ACTIVE" and target.where.preview == new.where.preview:
                target.become("SUPERSEDED", new.id)

    def delete(self, id: str) -> None:
        record = self.records[id]
        if record.status != "DELETED":
            record.become("DELETED", record.replaced_by)

    def restore(self, id: str) -> None:
        """Active again; the active end of the chain that replaced it is superseded by it."""
        record = self.records[id]
        if end := self.chain_end(record):
            end.become("SUPERSEDED", id)
        record.become("ACTIVE", None)

    def chain_end(self, record: Rec) -> Rec | None:
        end = record
        while end.replaced_by and end.status != "ACTIVE":
            end = self.records[end.replaced_by]
        return end if end is not record and end.is_active(self.now) else None
