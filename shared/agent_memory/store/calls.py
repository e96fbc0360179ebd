"""Calls of an agent in the execution table: a row for each, which leads from the id of an execution to its place in a
transcript, and tells what the call cost.

The rows are made from the events of the call, and written with them. A call that was no execution (a recall that shows
nothing) has an id of its own, made from where its events stand, so that writing it twice makes one row.

All rows of an agent share a partition, which takes 1,000 write units a second (DynamoDB): a call makes one row, of one
unit or, in a transaction, two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_memory.domain.ports import Item, Put, Row, Table
from agent_memory.domain.times import instant
from agent_memory.domain.turns import Turn
from agent_memory.domain.ulids import derived, made_at, time_prefix

from . import keys

_PAGE = 2000  # rows read at a time: some 500 KB, half of what DynamoDB gives in a page; a million take half a minute
_SPENT = ("purpose", "model", "input_tokens", "output_tokens", "cached")


@dataclass(frozen=True, slots=True)
class Called:
    """first: the sequence number of the call's first event; usage: of each time that it asked a model."""

    id: str
    turn_id: str
    attempt: int
    first: int
    session_id: str | None
    user_id: str | None
    usage: Sequence[Mapping[str, Any]]

    @property
    def at(self) -> datetime:
        """When it was called."""
        return made_at(self.id)


def call_rows(turn: Turn, first: int, events: Sequence[Mapping[str, Any]]) -> list[Put]:
    """Of a call whose events begin at `first`: none where it neither was an execution nor asked a model."""
    executions = [event["tool_execution_id"] for event in events if event["type"] == "execution"]
    spent = [event for event in events if event["type"] == "usage"]
    ids = executions or [derived(instant(event["at"]), f"{turn.turn_id}#{first}") for event in spent[:1]]
    cost = [{name: event[name] for name in _SPENT} for event in spent]
    items = [_item(turn, first, cost if id == ids[0] else []) for id in ids]
    return [Put(keys.call(turn.agent_id, id), item) for id, item in zip(ids, items, strict=True)]


class Calls:
    def __init__(self, table: Table) -> None:
        self._table = table

    def find(self, agent_id: str, id: str) -> Called | None:
        key = keys.call(agent_id, id)
        item = self._table.get(key)
        return _called(Row(key, item)) if item else None

    def between(self, agent_id: str, since: datetime | None, until: datetime | None) -> Iterator[Called]:
        """Oldest first, since <= called < until, read a page at a time."""
        after = time_prefix(since) if since else None
        while rows := self._table.query("execution", keys.call(agent_id, "").partition, after=after, limit=_PAGE):
            for called in map(_called, rows):
                if until and called.at >= until:
                    return
                if since is None or called.at >= since:
                    yield called
            if len(rows) < _PAGE:
                return
            after = rows[-1].key.sort


def _item(turn: Turn, first: int, usage: Sequence[Mapping[str, Any]]) -> Item:
    item = {"turn_id": turn.turn_id, "attempt": turn.attempt, "first": first, "usage": list(usage)}
    ids = {"session_id": turn.session_id, "user_id": turn.user_id}
    return item | {name: id for name, id in ids.items() if id is not None}


def _called(row: Row) -> Called:
    item = row.item
    return Called(
        row.key.sort,
        item["turn_id"],
        item["attempt"],
        item["first"],
        item.get("session_id"),
        item.get("user_id"),
        item["usage"],
    )
