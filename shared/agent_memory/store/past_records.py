"""Records as they stood at an instant: what a replay reads in the place of `Records` (HI-5).

Answers in the same manner, so that no reader has to know. Boards and the holders of keys are told by the table as they
are now alone: here they are made from the place's newest `LOOKED_AT` records that were saved by then, live and ended.
What was erased or removed is in no table; what has expired is the reader's to leave out, as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import chain

from agent_memory.domain.as_of import stood
from agent_memory.domain.records import Record, Status
from agent_memory.domain.scopes import Place
from agent_memory.domain.staging import Board, Hidden, Keyed, Noted
from agent_memory.domain.ulids import made_at, time_prefix

from . import keys
from .record_items import record_of
from .records import Looked, Records, Stored

LOOKED_AT = 1000  # records of a place: 2 MB or so, some five pages of DynamoDB
_MILLISECOND = timedelta(milliseconds=1)


class PastRecords(Records):
    """with_preview: whether preview records are seen as well; is_broader: whether a record is of a kind that binds."""

    is_indexed = False

    def __init__(
        self, records: Records, then: datetime, *, with_preview: bool, is_broader: Callable[[Record], bool]
    ) -> None:
        super().__init__(records._table)
        self._then, self._with_preview, self._is_broader = then, with_preview, is_broader
        self._of_place: dict[Place, list[Record]] = {}
        self.is_cut = False

    def read(self, places: Mapping[str, Place]) -> dict[str, Record]:
        return self._as_they_stood(super().read(places).values())

    def live(self, places: Mapping[str, Place]) -> dict[str, Record]:
        return {id: record for id, record in self.read(places).items() if record.status is Status.ACTIVE}

    def look(
        self,
        places: Mapping[str, Place],
        holders: Iterable[Keyed] = (),
        boards: Iterable[Place] = (),
        *,
        live_only: bool = False,
    ) -> Looked:
        read = self.live if live_only else self.read
        return Looked(
            read(places) if places else {},
            {(place, key): self._holder(place, key) for place, key in holders},
            {place: self._board(place) for place in boards},
        )

    def hidden(self, place: Place) -> tuple[int, dict[str, list[Hidden]]]:
        if not self._with_preview:
            return 0, {}
        changes, found = super().hidden(place)
        hiding = set(chain.from_iterable(found.values()))
        by = super().read({one.by: place for one in hiding}) if hiding else {}
        early = {one for one in hiding if self._hid_by_then(one, by.get(one.by))}
        return changes, {id: [one for one in several if one in early] for id, several in found.items()}

    def stored(self, places: Mapping[str, Place], model: str) -> list[Stored]:
        several = super().stored(places, model)
        then = self._as_they_stood(one.record for one in several)
        return [Stored(then[one.record.id], one.vectors) for one in several if one.record.id in then]

    def newest(self, place: Place, *, before: str | None = None, limit: int) -> list[Record]:
        older = (record for record in self._active(place) if before is None or record.id < before)
        return [record for record, _ in zip(older, range(limit), strict=False)]

    def ahead(self, place: Place) -> tuple[Board, list[str]]:
        """Nothing is ahead of an index that is not asked."""
        return self._board(place), []

    # -- a place as it stood

    def _active(self, place: Place) -> list[Record]:
        """Newest first."""
        if place not in self._of_place:
            self._of_place[place] = self._read_place(place)
        return self._of_place[place]

    def _read_place(self, place: Place) -> list[Record]:
        if place.preview and not self._with_preview:
            return []
        letters = (keys.LIVE, keys.ENDED)
        found = [record for letter in letters for record in self._saved_by_then(place, letter)]
        newest_first = sorted(found, key=lambda record: record.id, reverse=True)
        self.is_cut |= len(found) > LOOKED_AT
        then = self._as_they_stood(newest_first[:LOOKED_AT])
        return [record for record in then.values() if record.status is Status.ACTIVE]

    def _saved_by_then(self, place: Place, letter: str) -> list[Record]:
        """At most one more than are looked at. A record has its id before it is saved: who has it later was not."""
        partition, behind = keys.memory_partition(place), letter + time_prefix(self._then + _MILLISECOND)
        rows = self._table.query(
            "memory", partition, prefix=letter, newest_first=True, after=behind, limit=LOOKED_AT + 1
        )
        return [record_of(row) for row in rows]

    def _board(self, place: Place) -> Board:
        active = self._active(place)
        return Board(
            pinned={record.id: _noted(record) for record in active if record.pinned},
            constraints={record.id: _noted(record) for record in active if self._is_broader(record)},
        )

    def _holder(self, place: Place, memory_key: str) -> str | None:
        return next((record.id for record in self._active(place) if record.memory_key == memory_key), None)

    # -- a record as it stood

    def _as_they_stood(self, records: Iterable[Record]) -> dict[str, Record]:
        seen = [record for record in records if self._with_preview or not record.preview]
        return {then.id: then for record in seen if (then := stood(record, self._then))}

    def _hid_by_then(self, hidden: Hidden, by: Record | None) -> bool:
        """What hides outlives its record (PV-2): of one that is removed only its id is left, made as it was staged."""
        return made_at(hidden.by) <= self._then if by is None else stood(by, self._then) is not None


def _noted(record: Record) -> Noted:
    return Noted(record.memory_key, record.expires_at)
