"""What a recall settles beside the ranking: constraints, pins, and which record of a memory_key applies (RL-1, RL-2).

Constraints and pinned records stand on the boards of their places and are read, with who holds their keys, beside the
search. What the search brings is settled as it comes; a key not met before is one more read, a holder of it that the
search did not bring another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agent_memory.domain.precedence import winners
from agent_memory.domain.ranking import Ranked
from agent_memory.domain.records import Record
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board, Keyed

from .enter import Entered
from .services import Services
from .staged import View

Result = tuple[Record, Ranked]


@dataclass
class Rivals:
    """Records that a recall counts, gathered as they are read, and which of them apply."""

    services: Services
    entered: Entered
    view: View
    now: datetime
    _known: dict[str, Record] = field(default_factory=dict)  # visible and counted, by id
    _on_boards: dict[str, Record] = field(default_factory=dict)  # visible; pinned ones that have faded among them
    _asked: set[str] = field(default_factory=set)  # keys whose holders are known
    _placed: set[str] = field(default_factory=set)
    _lost: dict[str, Record] = field(default_factory=dict)  # those that were met and do not apply, in order

    def read_boards(self, boards: Mapping[Place, Board]) -> None:
        places = {id: place for place, board in boards.items() for id in board.ids}
        noted = [one for board in boards.values() for one in (*board.pinned.values(), *board.constraints.values())]
        if places:
            found = self._read(places, {one.memory_key for one in noted if one.memory_key})
            self._on_boards = {record.id: record for record in found if record.id in places}

    def settled(self, batch: Sequence[Result]) -> Iterator[Result]:
        """The records that apply, in the order of the batch: a winner takes the rank of the one that lost to it, each
        stands once. Constraints stand elsewhere."""
        self._meet(record for record, _ in batch)
        keys = {record.memory_key for record, _ in batch if record.memory_key} - self._asked
        if keys:
            self._read({}, keys)
        winner_of = self._winners()
        for record, ranked in batch:
            winner = winner_of.get(record.id)
            if winner:
                self._lost[record.id] = record
            applies = winner or record
            if applies.id not in self._placed:
                self._placed.add(applies.id)
                if not self.entered.is_broader(applies):
                    yield applies, ranked if applies is record else ranked._replace(id=applies.id, cosine=None)

    @property
    def constraints(self) -> list[Record]:
        """Every visible one that applies, whether or not it was found by the query."""
        return [r for r in self._applying(self._known.values()) if self.entered.is_broader(r)]

    @property
    def pinned(self) -> list[Record]:
        return [r for r in self._applying(self._on_boards.values()) if r.pinned]

    def overridden(self) -> list[dict[str, object]]:
        """Of what the recall met, the records that do not apply, each with the one that does."""
        winner_of = self._winners()
        return [
            {"id": r.id, "version": r.version, "memory_key": r.memory_key, "by": winner_of[r.id].id}
            for r in self._lost.values()
        ]

    def _applying(self, records: Iterable[Record]) -> list[Record]:
        winner_of = self._winners()
        several = list(records)
        self._lost |= {r.id: r for r in several if r.id in winner_of and (r.pinned or self.entered.is_broader(r))}
        return [r for r in several if r.id not in winner_of]

    def _winners(self) -> dict[str, Record]:
        return winners(self._known.values(), self.entered.is_broader)

    def _read(self, places: Mapping[str, Place], keys: set[str]) -> list[Record]:
        """Read records, and who holds the keys in each place that the turn sees; gives what is visible of them."""
        holders: set[Keyed] = {(place, key) for key in keys for place in (*self.entered.visible, *self.entered.binding)}
        looked = self.services.records.look(places, holders, live_only=True)
        held = {id: place for (place, _), id in looked.holders.items() if id and id not in self._known}
        missing = {id: place for id, place in held.items() if id not in looked.records}
        self._asked |= keys
        self._meet(self.services.records.live(missing).values() if missing else ())
        return self._meet(looked.records.values())

    def _meet(self, records: Iterable[Record]) -> list[Record]:
        visible = [r for r in records if self.entered.sees(r) and self.view.shows(r, self.now)]
        self._known |= {record.id: record for record in visible if self.entered.recalls(record, self.now)}
        return visible
