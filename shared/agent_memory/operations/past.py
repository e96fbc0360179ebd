"""What a turn sees of its session's history, read from the store and checked there (HI-2, HI-5, HI-6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import merge
from itertools import islice
from typing import Any

from agent_memory.domain.history import Before, HistoryPlace, KeptEvent, KeptTurn, kept_events
from agent_memory.domain.history_parts import Part, parts_of_turn, place_of_part
from agent_memory.domain.turns import OPEN_FOR, Turn
from agent_memory.domain.ulids import is_ulid, made_at

from .services import Services

BEHIND = 1000  # turns that are looked through for an id behind those that can hold it
_APART = timedelta(hours=1)  # clocks, of several machines or of one that was set back
_OPEN_FOR = OPEN_FOR + _APART


@dataclass(frozen=True, slots=True)
class Shown:
    """An event of a search's answer: one part of it, or part 1 of 1, the whole. score: None where it was not ranked."""

    kept: KeptTurn
    event: KeptEvent
    part: int
    parts: int
    score: float | None = None

    @property
    def text(self) -> str:
        return self.event.text(self.kept.number, self.part if self.parts > 1 else None)

    def named(self) -> dict[str, Any]:
        """All but the text."""
        message = self.event.event
        return {
            "id": self.event.id,
            "turn": self.kept.number,
            "part": self.part,
            "parts": self.parts,
            "role": message["role"],
            "tool": message.get("tool"),
            "call_id": message.get("call_id"),
            "execution_id": self.kept.execution_id,
            "sequence": self.event.sequence,
            "at": message["said_at"],
            "score": self.score,
        }


@dataclass(frozen=True, slots=True)
class Past:
    """places: of its session: what live turns kept, and for a preview turn what preview turns kept besides."""

    services: Services
    places: Sequence[HistoryPlace]
    before: Before

    @classmethod
    def of_turn(cls, services: Services, turn: Turn) -> Past:
        """A replay sees what its original saw (HI-5). An agent without sessions has no history."""
        if turn.session_id is None or turn.number is None:
            return cls(services, (), Before(0))
        live, preview = HistoryPlace.both(turn.agent_id, turn.session_id)
        sees_preview = turn.replays_preview if turn.replay_of else turn.preview
        commits = turn.commits_before if turn.replay_of else None
        return cls(services, (live, preview) if sees_preview else (live,), Before(turn.number, commits))

    # -- turns

    def ahead(self, limit: int) -> list[KeptTurn]:
        """What the index has not shown, newest first, at most `limit`."""
        history, number = self.services.history, self.before.number
        found: list[KeptTurn] = []
        for place in self.places:
            numbers = history.ahead(place, before=number, limit=limit)
            found += history.several(place, numbers).values() if numbers else ()
        return sorted(filter(self._sees, found), key=_number, reverse=True)[:limit]

    def newest(self, limit: int) -> list[KeptTurn]:
        return list(islice(self._newest_first(), limit))

    def _newest_first(self) -> Iterator[KeptTurn]:
        history, number = self.services.history, self.before.number
        turns = [history.newest_first(place, before=number) for place in self.places]
        return filter(self._sees, merge(*turns, key=_number, reverse=True))

    def _sees(self, kept: KeptTurn) -> bool:
        return self.before.shows(kept, self.services.clock.now())

    # -- events

    def shown(self, scores: Mapping[str, float]) -> list[Shown]:
        """Those of these parts that are there, in that order."""
        wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for id in scores:
            number, sequence, part = place_of_part(id)
            wanted[number].append((sequence, part))
        turns = {kept.number: kept for place in self.places for kept in self._several(place, wanted)}
        calls = [
            lambda kept=kept: events_at(self.services, kept, {sequence for sequence, _ in wanted[kept.number]})
            for kept in turns.values()
        ]
        events = dict(zip(turns, self.services.together(*calls) if calls else (), strict=True))
        found = []
        for id, score in scores.items():
            number, sequence, part = place_of_part(id)
            event = events.get(number, {}).get(sequence)
            if event and part <= len(event.parts):
                found.append(Shown(turns[number], event, part, len(event.parts), score))
        return found

    def by_ids(self, ids: Collection[str]) -> dict[str, Shown]:
        """Whole events, by their ids. What is not there costs no reading of the whole session: a message's id is of
        the instant at which it came, and its turn had begun by then and was still open. `BEHIND` turns further back it
        is given up, since only an attempt that was made much later than its turn's first would stand there."""
        wanted = self._of_the_session(ids)
        found: dict[str, Shown] = {}
        behind = 0
        for kept in self._newest_first() if wanted else ():
            here = {message.sequence for message in kept.messages if message.id in wanted}
            events = events_at(self.services, kept, here).values() if here else ()
            found |= {event.id: Shown(kept, event, 1, 1) for event in events}
            wanted -= found.keys()
            behind += bool(wanted) and made_at(kept.turn_id) < made_at(min(wanted)) - _OPEN_FOR
            if not wanted or behind > BEHIND:
                break
        return found

    def _of_the_session(self, ids: Collection[str]) -> set[str]:
        """Those that are ids, and not older than the session."""
        several = {id for id in ids if is_ulid(id)}
        if not (several and self.places):
            return set()
        place = self.places[0]
        session = self.services.sessions.get(place.agent_id, place.session_id)
        return {id for id in several if session and made_at(id) > made_at(session.first_turn_id) - _APART}

    def _several(self, place: HistoryPlace, numbers: Collection[int]) -> list[KeptTurn]:
        return [kept for kept in self.services.history.several(place, numbers).values() if self._sees(kept)]


def events_at(services: Services, kept: KeptTurn, sequences: Collection[int]) -> dict[int, KeptEvent]:
    """Those of a turn's messages that are kept and there."""
    known = {message.sequence for message in kept.messages}
    messages = services.history.messages_at(kept, known & set(sequences))
    return {event.sequence: event for event in kept_events(messages.values(), kept.keeps)}


def fresh_parts(
    services: Services, turns: Sequence[KeptTurn], *, most: int, events: int | None = None
) -> tuple[list[tuple[KeptTurn, list[Part]]], bool]:
    """The parts of these turns, newest first, at most `most` (and of `events` events); and whether some were left out.
    Of a turn that is cut the newest stay."""
    rooms = list(_rooms(turns, most, events))
    calls = [lambda kept=kept, room=room: _newest_parts(services, kept, *room) for kept, room in rooms]
    read = services.together(*calls) if calls else []
    is_cut = len(rooms) < len(turns) or any(_parts_of(kept) > room[0] for kept, room in rooms)
    return [(kept, parts) for (kept, _), parts in zip(rooms, read, strict=True)], is_cut


def _rooms(
    turns: Sequence[KeptTurn], most: int, events: int | None
) -> Iterator[tuple[KeptTurn, tuple[int, int | None]]]:
    """For how many parts, and events, of each turn there is room."""
    for kept in turns:
        if most <= 0 or (events is not None and events <= 0):
            return
        yield kept, (most, events)
        most -= _parts_of(kept)
        events = None if events is None else events - len(kept.messages)


def _newest_parts(services: Services, kept: KeptTurn, most: int, events: int | None) -> list[Part]:
    all_kept = kept_events(services.history.messages(kept), kept.keeps)
    return parts_of_turn(kept.place, kept.number, all_kept if events is None else all_kept[-events:])[-most:]


def _parts_of(kept: KeptTurn) -> int:
    return sum(message.parts for message in kept.messages)


def _number(kept: KeptTurn) -> int:
    return kept.number
