"""Turns in the execution table: the attempt, its messages, its transcript and what it has staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from agent_memory.domain.errors import ConditionFailed, TooLarge
from agent_memory.domain.ports import Absent, AllOf, Check, Delete, Equals, Item, Key, Put, Row, Table, Write
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import TurnIds
from agent_memory.domain.staging import Staged
from agent_memory.domain.turns import Review, ReviewStatus, Turn, TurnStatus, Waiting, not_open

from . import keys
from .calls import call_rows
from .packed_events import chunks, events_of, messages_in, packed
from .staged_items import staged_change, staged_item

MAX_SEEN = 2000  # records of one conversation that were shown: 70 KB; what was shown longer ago counts as unseen
_PAGE = 100  # rows of a list
_TRIES = 16  # each lost try is another turn of the session that committed at the same time

MAX_UNREVIEWED = (
    4000  # turns of a session, 45 bytes each: half an item; only reviews that fail for months let so many wait
)

MESSAGES_BYTES = 3_900_000  # of one call, compressed: one transaction takes 4 MB


@dataclass(frozen=True, slots=True)
class Seen:
    """What a conversation was shown by recalls, versions by record: in committed turns of its session, and in this
    attempt. pins: the attempt's last pin list."""

    in_session: Mapping[str, int] = field(default_factory=dict)
    in_attempt: Mapping[str, int] = field(default_factory=dict)
    pins: Sequence[Mapping[str, Any]] = ()

    def has(self, record: Record) -> bool:
        return record.version in (self.in_session.get(record.id), self.in_attempt.get(record.id))


class Turns:
    def __init__(self, table: Table) -> None:
        self._table = table

    # -- the attempt

    def get(self, agent_id: str, turn_id: str) -> Turn | None:
        item = self._table.get(keys.turn(agent_id, turn_id))
        return _turn(agent_id, turn_id, item) if item else None

    def enter(self, agent_id: str, turn_id: str, events: int, **counted: int) -> Turn | None:
        """Read an open turn and reserve sequence numbers for `events` events: the last of them is `turn.sequence`.
        counted: what else of the turn's counters grows, and by how much.

        None where there is no such turn; raises `Conflict` (turn_not_open) where it is not open."""
        counters = {"sequence": events} | {name: by for name, by in counted.items() if by}
        try:
            item = self._table.increment(keys.turn(agent_id, turn_id), counters, condition=_OPEN)
        except ConditionFailed as failed:
            standing = failed.current[0]
            if standing is None:
                return None
            raise not_open(_turn(agent_id, turn_id, standing)) from failed
        return _turn(agent_id, turn_id, item)

    def change(self, before: Turn, after: Turn) -> Put:
        """The attempt's next state, if nothing has entered it since `before` was read."""
        same = AllOf((Equals("status", before.status.value), Equals("sequence", before.sequence)))
        return Put(keys.turn(after.agent_id, after.turn_id), _stored(after), same)

    def still_open(self, turn: Turn) -> Check:
        return Check(keys.turn(turn.agent_id, turn.turn_id), _OPEN)

    def newest_attempt(self, agent_id: str, first_turn_id: str) -> str:
        item = self._table.get(keys.newest_attempt(agent_id, first_turn_id))
        return item["turn_id"] if item else first_turn_id

    def take_attempt(self, turn: Turn, previous: str) -> Put:
        condition = Equals("turn_id", previous) if previous != turn.first_turn_id else Absent()
        return Put(keys.newest_attempt(turn.agent_id, turn.first_turn_id), {"turn_id": turn.turn_id}, condition)

    def begin(self, turn: Turn) -> list[Put]:
        """The attempt, and its places on the lists of the agent's turns and of open ones."""
        listed = {name: value for name in _LISTED if (value := getattr(turn, name)) is not None}
        return [
            Put(keys.turn(turn.agent_id, turn.turn_id), _stored(turn), Absent()),
            Put(keys.listed_turn(turn.agent_id, turn.turn_id), listed),
            Put(keys.open_turn(turn.turn_id), {"agent_id": turn.agent_id}),
        ]

    # -- the agent's turns

    def newest_first(self, agent_id: str, *, before: str | None, limit: int) -> list[Listed]:
        """Attempts older than the id `before` (which need not be one's), at most `limit`."""
        partition = keys.listed_turn(agent_id, "").partition
        rows = self._table.query("execution", partition, newest_first=True, after=before, limit=limit)
        return [Listed(row.key.sort, **row.item) for row in rows]

    def several(self, agent_id: str, turn_ids: Iterable[str]) -> dict[str, Turn]:
        by_key = {keys.turn(agent_id, id): id for id in turn_ids}
        return {by_key[key]: _turn(agent_id, by_key[key], item) for key, item in self._table.get_many(by_key).items()}

    # -- the list of open turns

    def closed(self, turn_id: str) -> Delete:
        """Goes with every write that ends the turn."""
        return Delete(keys.open_turn(turn_id))

    def ending(self, turn: Turn) -> list[Put]:
        """Goes with the write that ends a turn without committing it yet, or that begins a review anew: upkeep goes on
        where nobody else does, and the session's next turns are told."""
        puts = [Put(keys.ending_turn(turn.turn_id), {"agent_id": turn.agent_id})]
        if turn.session_id is not None and turn.status is TurnStatus.ENDING:
            puts.append(Put(keys.ending_in_session(turn.ids, turn.turn_id), {}))
        return puts

    def no_longer_ending(self, turn: Turn) -> list[Delete]:
        deletes = [Delete(keys.ending_turn(turn.turn_id))] if turn.is_settling else []
        if turn.session_id is not None and turn.status is TurnStatus.ENDING:
            deletes.append(Delete(keys.ending_in_session(turn.ids, turn.turn_id)))
        return deletes

    def ending_in_session(self, ids: TurnIds) -> list[str]:
        """Its turns that are ended and not yet committed, oldest first."""
        rows = self._table.query("execution", keys.session(ids).partition, prefix=keys.ENDING)
        return [row.key.sort.removeprefix(keys.ENDING) for row in rows]

    def all_ending(self) -> Iterator[tuple[str, str]]:
        """(agent, turn), oldest first, read a page at a time."""
        after: str | None = None
        while rows := self._table.query("execution", keys.ending_turn("").partition, after=after, limit=_PAGE):
            yield from ((row.item["agent_id"], row.key.sort) for row in rows)
            after = rows[-1].key.sort

    def longest_open(self, *, limit: int) -> list[tuple[str, str]]:
        """(agent, turn) of open turns, the oldest `limit` of each shard, oldest first."""
        shards = [keys.open_partition(shard) for shard in range(keys.SHARDS)]
        rows = [row for shard in shards for row in self._table.query("execution", shard, limit=limit)]
        return [(row.item["agent_id"], row.key.sort) for row in sorted(rows, key=lambda row: row.key.sort)]

    # -- staged changes

    def staged(self, turn: Turn) -> list[Staged]:
        """The log, in order."""
        start = _log(turn, 0)
        rows = self._table.query("execution", start.partition, prefix=keys.STAGED, after=start.sort)
        return [staged_change(row.item) for row in rows]

    def nothing_staged_behind(self, turn: Turn, count: int) -> Check:
        """The log still has `count` entries: a call that entered before the commit has not staged since."""
        return Check(_log(turn, count + 1), Absent())

    def stage(self, turn: Turn, number: int, change: Staged) -> Put:
        """The log's entry `number`, from 1; fails where another call was faster."""
        return Put(_log(turn, number), staged_item(change), Absent())

    def restage(self, turn: Turn, number: int, change: Staged) -> Put:
        """Another change in the place of that entry."""
        return Put(_log(turn, number), staged_item(change))

    def forget_staged(self, turn: Turn, count: int) -> list[Delete]:
        """At the end: what was staged is written, or never will be."""
        return [Delete(_log(turn, n)) for n in range(1, count + 1)]

    # -- what was shown

    def seen(self, turn: Turn, conversation: str) -> Seen:
        """One read. Of a session, what turns of the turn's own mode were shown (RL-5); a replay begins with nothing
        shown, since its session was shown more since."""
        attempt, pins = keys.seen(turn.agent_id, turn.turn_id, conversation), keys.pins(turn.agent_id, turn.turn_id)
        session = keys.seen_in_session(turn.ids, conversation)
        found = self._table.get_many([attempt, pins, *([session] if turn.belongs_to_session else [])])
        return Seen(_seen(found.get(session)), _seen(found.get(attempt)), found.get(pins, {}).get("listed", ()))

    def saw(self, turn: Turn, conversation: str, before: Seen, shown: Iterable[Record]) -> list[Put]:
        """That the attempt's conversation was shown these, too."""
        versions = {**before.in_attempt, **{record.id: record.version for record in shown}}
        return [Put(keys.seen(turn.agent_id, turn.turn_id, conversation), _seen_item(versions))]

    def pins_shown(self, turn: Turn, listed: Sequence[Mapping[str, Any]]) -> list[Put]:
        return [Put(keys.pins(turn.agent_id, turn.turn_id), {"listed": list(listed)})]

    def keep_seen(self, turn: Turn) -> None:
        """Once the turn is committed: what it was shown, its session was shown."""
        if not turn.belongs_to_session:
            return
        partition = keys.turn_partition(turn.agent_id, turn.turn_id)
        for row in self._table.query("execution", partition, prefix=keys.SEEN):
            key = keys.seen_in_session(turn.ids, row.key.sort.removeprefix(keys.SEEN))
            self._merge_seen(key, _seen(row.item))

    def _merge_seen(self, key: Key, versions: Mapping[str, int]) -> None:
        for _ in range(_TRIES):
            item = self._table.get(key)
            unchanged = Equals("writes", item["writes"]) if item else Absent()
            merged = _seen_item({**_seen(item), **versions}) | {"writes": item["writes"] + 1 if item else 1}
            try:
                self._table.transact([Put(key, merged, unchanged)])
            except ConditionFailed:
                continue  # another turn of the session committed at the same time
            return

    # -- transcript

    def events(self, turn: Turn, first: int, events: Sequence[Mapping[str, Any]]) -> list[Put]:
        """Events of one call, with consecutive numbers from `first`; and the row that leads to them, where one does."""
        put = Put(keys.events(turn.agent_id, turn.turn_id, first), {"packed": packed(events)})
        return [put, *call_rows(turn, first, events)]

    def long_events(self, turn: Turn, first: int, events: Sequence[Mapping[str, Any]]) -> list[Put]:
        """As `events`, of what no call is read by: in chunks."""
        return [*_chunked(keys.events, turn, first, events), *call_rows(turn, first, events)]

    def events_of_call(self, agent_id: str, turn_id: str, first: int) -> list[dict[str, Any]]:
        """Those that were written together, in order."""
        key = keys.events(agent_id, turn_id, first)
        item = self._table.get(key)
        return events_of(Row(key, item)) if item else []

    def messages(self, turn: Turn, first: int, messages: Sequence[Mapping[str, Any]]) -> list[Put]:
        """Messages with consecutive numbers from `first`, in chunks."""
        puts = _chunked(keys.messages, turn, first, messages)
        if sum(len(put.item["packed"]) for put in puts) > MESSAGES_BYTES:
            raise TooLarge("These messages do not fit one call: send fewer at a time.")
        return puts

    def transcript(
        self, agent_id: str, turn_id: str, *, after: int, limit: int, types: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Events behind sequence number `after`, in order, of these types (none: all), at most `limit`."""
        prefixes = [keys.MESSAGES] if not types or "message" in types else []
        prefixes += [keys.EVENTS] if set(types) != {"message"} else []
        found = [e for prefix in prefixes for e in self._events_after(agent_id, turn_id, prefix, after, limit, types)]
        return sorted(found, key=lambda event: event["sequence"])[:limit]

    def _events_after(
        self, agent_id: str, turn_id: str, prefix: str, after: int, limit: int, types: Sequence[str]
    ) -> list[dict[str, Any]]:
        partition = keys.turn_partition(agent_id, turn_id)
        found: list[dict[str, Any]] = []
        start = self._item_before(partition, prefix, after) if after else None
        while len(found) < limit:
            rows = self._table.query("execution", partition, prefix=prefix, after=start, limit=limit)
            found += [
                e for r in rows for e in events_of(r) if e["sequence"] > after and (not types or e["type"] in types)
            ]
            if len(rows) < limit:
                break
            start = rows[-1].key.sort
        return found[:limit]

    def _item_before(self, partition: str, prefix: str, sequence: int) -> str | None:
        """The sort key to begin behind: the item that holds `sequence` may hold more than that one."""
        behind = f"{prefix}{sequence + 1:08}"
        rows = self._table.query("execution", partition, prefix=prefix, newest_first=True, after=behind, limit=2)
        return rows[1].key.sort if len(rows) > 1 else None

    def each_message(self, agent_id: str, turn_id: str) -> Iterator[dict[str, Any]]:
        """The same, read as they are asked for."""
        return messages_in(self._table, keys.turn_partition(agent_id, turn_id))

    # -- what no review has read

    def unreviewed(self, ids: TurnIds) -> Unreviewed:
        """Of the turns of a session that are committed, those of the turn's own mode (PV-4)."""
        item = self._table.get(keys.unreviewed(ids))
        return Unreviewed([Waiting(*one) for one in item["turns"]], item["writes"]) if item else Unreviewed()

    def leave_unreviewed(self, ids: TurnIds, before: Unreviewed, turns: Sequence[Waiting]) -> Put:
        """These wait from now on, if nothing has changed since `before` was read; the newest `MAX_UNREVIEWED`."""
        item = {"turns": [list(one) for one in turns[-MAX_UNREVIEWED:]], "writes": before.writes + 1}
        return Put(keys.unreviewed(ids), item, Equals("writes", before.writes) if before.writes else Absent())

    # -- judgements

    def judgements(self, turn: Turn) -> list[dict[str, Any]]:
        """Of all attempts of the turn, oldest first."""
        partition = keys.turn_partition(turn.agent_id, turn.first_turn_id)
        return [row.item for row in self._table.query("execution", partition, prefix=keys.JUDGEMENT)]

    def judgement(self, turn: Turn, id: str, judgement: Mapping[str, Any]) -> Put:
        """Beside the turn's first attempt: a later attempt learns from it too (JD-1)."""
        return Put(keys.judgement(turn.agent_id, turn.first_turn_id, id), dict(judgement))

    # -- writing

    def transact(self, writes: Sequence[Write]) -> None:
        self._table.transact(writes)

    def write(self, writes: Sequence[Put | Delete]) -> None:
        """Outside a transaction: what nothing else depends on."""
        if writes:
            self._table.write_many(writes)


@dataclass(frozen=True, slots=True)
class Unreviewed:
    """turns: oldest first. writes: how often this has changed."""

    turns: Sequence[Waiting] = ()
    writes: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """What of an attempt never changes: whom it is for, and what it is part of."""

    turn_id: str
    execution_id: str
    invocation_id: str | None = None
    session_id: str | None = None
    workflow_id: str | None = None
    user_id: str | None = None
    preview: bool = False


def _log(turn: Turn, number: int) -> Key:
    """A review that is begun anew has a log of its own, behind those before: what was left of them is never read."""
    return keys.staged(turn.agent_id, turn.turn_id, turn.review.tries * _LOG + number)


_LOG = 100  # entries: a turn makes 25 changes (TU-5), and each may be confirmed or dropped besides


def _chunked(
    key: Callable[[str, str, int], Key], turn: Turn, first: int, events: Sequence[Mapping[str, Any]]
) -> list[Put]:
    puts: list[Put] = []
    for chunk in chunks(events):
        puts.append(Put(key(turn.agent_id, turn.turn_id, first), {"packed": packed(chunk)}))
        first += len(chunk)
    return puts


def _seen(item: Item | None) -> dict[str, int]:
    return dict(item["versions"]) if item else {}


def _seen_item(versions: Mapping[str, int]) -> Item:
    """The last `MAX_SEEN`; a list, since the table keeps no order of a map."""
    return {"versions": [[id, version] for id, version in versions.items()][-MAX_SEEN:]}


_OPEN = Equals("status", TurnStatus.OPEN.value)
_LISTED = [f.name for f in fields(Listed) if f.name != "turn_id"]
_FIELDS = [f.name for f in fields(Turn) if f.name not in ("agent_id", "turn_id")]


def _stored(turn: Turn) -> Item:
    values = {name: getattr(turn, name) for name in _FIELDS}
    values |= {"status": turn.status.value, "memories": list(turn.memories), "conflicts": list(turn.conflicts)}
    values |= {"review": _review_item(turn.review) if turn.review != Review() else None}
    return {name: value for name, value in values.items() if value is not None and value != []}


def _turn(agent_id: str, turn_id: str, item: Item) -> Turn:
    values = {name: item[name] for name in _FIELDS if name in item}
    values |= {"status": TurnStatus(item["status"]), "review": _review(item.get("review", {}))}
    return Turn(agent_id, turn_id, **values)


def _review_item(review: Review) -> Item:
    return {**asdict(review), "status": review.status.value, "claimed": [list(one) for one in review.claimed]}


def _review(item: Item) -> Review:
    if not item:
        return Review()
    claimed = [Waiting(*one) for one in item["claimed"]]
    return Review(**{**item, "status": ReviewStatus(item["status"]), "claimed": claimed})
