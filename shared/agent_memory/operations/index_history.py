"""The index of the history follows the table, as that of the records does (see `index`): what turns kept is read from
their messages and written to it; vectors come along as far as the model answers, and as it can be done at once.

A long turn is told in pages, and embedded in pages: what is left waits on a list of its own, found by its words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.history import HistoryPlace, KeptTurn, kept_events
from agent_memory.domain.history_parts import Part, part_id, parts_of_turn
from agent_memory.domain.ports import IndexEntry
from agent_memory.store.history import MAX_NUMBER, TurnRef
from agent_memory.store.keys import history_partition

from .embed import Usage
from .services import Services

PAGE = 200  # parts that the index is told at a time: some 5 MB
EMBEDDED_AT_ONCE = 64  # texts of one call of the model
EMBEDDED_NOW = 128  # texts of a batch of turns that are embedded before it is told
_PLAIN, _EMBEDDED, _GONE = 2, 3, 4  # stamps: a part never changes, but may be embedded later, and ends

Vectors = Mapping[str, Sequence[bytes]]


@dataclass
class Told:
    """refused: parts that the index will not take, by id, with the reason. unfit: the turns that hold them. unembedded:
    how many turns wait for the model."""

    refused: dict[str, str] = field(default_factory=dict)
    unfit: set[TurnRef] = field(default_factory=set)
    unembedded: int = 0


def index_turns(services: Services, turns: Sequence[TurnRef]) -> Told:
    """Show what these turns kept, then strike them off, but for those that hold a part which the index refused: these
    stay unindexed, and so are read with every search. Raises `IndexUnavailable`: then all of them wait."""
    told, room = Told(), EMBEDDED_NOW
    teller = _Teller(services, told)
    for kept in _standing(services, turns):
        parts, known = parts_kept(services, kept), services.history.vectors(kept, services.embedder.model)
        vectors, used = _embedded(services, kept, parts, known, room)
        room -= used
        teller.tell(kept, parts, vectors)
        told.unembedded += _leave_waiting(services, kept, parts, vectors)
    teller.flush()
    services.history.indexed(turn for turn in turns if turn not in told.unfit)
    return told


def embed_waiting_turns(services: Services) -> int:
    """Embed a page of what waits for the model, of several turns alike, and tell the index; gives how many turns it was
    at. Raises `EmbedderUnavailable` while it is still down."""
    waiting = services.history.unembedded(limit=1)
    for place, number in waiting:
        kept = services.history.several(place, [number]).get(number)
        if kept is None or not _embed_page(services, kept, EMBEDDED_AT_ONCE // len(waiting)):
            services.history.embedded([(place, number)])
    return len(waiting)


def rebuild_history(services: Services, agent_id: str, *, before: str | None = None) -> Iterator[tuple[int, str]]:
    """Tell the index of all that an agent's sessions kept, from the table, newest session first; gives after each page
    how many turns have been told wholly since the last, and where to go on: `before`, which names a session by its
    first turn, and within it the turn that was told last. Calls no model: what has no vectors waits for it."""
    teller = _Teller(services, Told())
    while listed := services.sessions.newest_first(agent_id, user_id=None, before=before, limit=1):
        ((first, session_id),) = listed
        turns, through = 0, ""
        for kept in _kept_in(services, agent_id, session_id, _behind(first, before)):
            parts, vectors = parts_kept(services, kept), services.history.vectors(kept, services.embedder.model)
            has_told = teller.tell(kept, parts, vectors)
            _leave_waiting(services, kept, parts, vectors)
            if has_told and turns:
                yield turns, through
                turns = 0
            turns, through = turns + 1, f"{first}#{kept.place.mode}#{kept.number}"
        teller.flush()
        yield turns, first
        before = first


def parts_kept(services: Services, kept: KeptTurn) -> list[Part]:
    return parts_of_turn(kept.place, kept.number, kept_events(services.history.messages(kept), kept.keeps))


def gone(kept: KeptTurn) -> list[IndexEntry]:
    """What the index is told of a turn that has ended."""
    ids = [part_id(kept.place, kept.number, m.sequence, part) for m in kept.messages for part in range(1, m.parts + 1)]
    partition = history_partition(kept.place)
    return [IndexEntry(id, partition, kept.place.agent_id, _GONE, live=False) for id in ids]


# ---------------------------------------------------------------- embedding


def _embedded(
    services: Services, kept: KeptTurn, parts: Sequence[Part], known: Vectors, room: int
) -> tuple[Vectors, int]:
    """The vectors known, and those that `room` texts are enough for; and how many texts that took."""
    vectors, used = dict(known), 0
    while used < room and (page := page_of(services, missing(parts, vectors))):
        try:
            new, _ = embed_parts(services, [(kept, page)])
        except EmbedderUnavailable:
            return vectors, room
        vectors |= new
        used += texts_in(services, page)
    return vectors, used


def _embed_page(services: Services, kept: KeptTurn, texts: int) -> bool:
    """Whether there is more to do of this turn."""
    parts = parts_kept(services, kept)
    waiting = missing(parts, services.history.vectors(kept, services.embedder.model))
    page = page_of(services, waiting, texts)
    new, _ = embed_parts(services, [(kept, page)])
    _tell(services, kept, page, new)
    return len(waiting) > len(page)


def embed_parts(services: Services, pages: Sequence[tuple[KeptTurn, Sequence[Part]]]) -> tuple[Vectors, Usage | None]:
    """Embed parts of these turns in one call of the model and keep their vectors; and what it cost (None: nothing)."""
    history, embedder = services.history, services.embedder
    texts = {part.id: part.texts(embedder.window) for _, parts in pages for part in parts}
    if not texts:
        return {}, None
    embedded = embedder.embed([text for several in texts.values() for text in several])
    rest = iter(embedded.vectors)
    several = [
        {part.id: part.vectors([next(rest) for _ in texts[part.id]], embedder.window) for part in parts}
        for _, parts in pages
    ]
    services.together(
        *(
            lambda kept=kept, new=new: history.put_vectors(kept, embedder.model, new)
            for (kept, _), new in zip(pages, several, strict=True)
        )
    )
    usage = Usage(embedder.model, embedded.tokens, embedded.cached)
    return {id: vectors for new in several for id, vectors in new.items()}, usage


def missing(parts: Sequence[Part], vectors: Vectors) -> list[Part]:
    return [part for part in parts if part.is_embedded and part.id not in vectors]


def page_of(services: Services, parts: Sequence[Part], most: int = EMBEDDED_AT_ONCE) -> list[Part]:
    """As many of them as go into one call of `most` texts; one at least."""
    page: list[Part] = []
    texts = 0
    for part in parts:
        texts += len(part.texts(services.embedder.window))
        if page and texts > most:
            break
        page.append(part)
    return page


def texts_in(services: Services, parts: Sequence[Part]) -> int:
    """How many texts of the model these parts take."""
    return sum(len(part.texts(services.embedder.window)) for part in parts)


# ---------------------------------------------------------------- telling


class _Teller:
    """Tells the index a page at a time, whatever turns the parts are of: each call waits until a search shows it."""

    def __init__(self, services: Services, told: Told) -> None:
        self._services, self._told = services, told
        self._page: list[tuple[TurnRef, IndexEntry]] = []

    def tell(self, kept: KeptTurn, parts: Sequence[Part], vectors: Vectors) -> bool:
        """Whether a page was full: then all turns before this one are told."""
        is_full = False
        for part in parts:
            self._page.append(((kept.place, kept.number), _entry(kept, part, vectors.get(part.id, ()))))
            if len(self._page) == PAGE:
                self.flush()
                is_full = True
        return is_full

    def flush(self) -> None:
        if self._page:
            refused = self._services.history_index.apply([entry for _, entry in self._page])
            self._told.refused |= refused
            self._told.unfit |= {turn for turn, entry in self._page if entry.id in refused}
            self._page = []


def _tell(services: Services, kept: KeptTurn, parts: Sequence[Part], vectors: Vectors) -> None:
    teller = _Teller(services, Told())
    teller.tell(kept, parts, vectors)
    teller.flush()


def _standing(services: Services, turns: Sequence[TurnRef]) -> Iterator[KeptTurn]:
    """Those that are there still."""
    by_place: defaultdict[HistoryPlace, list[int]] = defaultdict(list)
    for place, number in turns:
        by_place[place].append(number)
    for place, numbers in by_place.items():
        yield from services.history.several(place, numbers).values()


def _behind(first: str, before: str | None) -> tuple[str, int] | None:
    """The mode and number of the turn that was told last of the session whose first turn is `first`. `before` sorts
    behind that id then, so that the session itself is listed again."""
    session, *within = (before or "").split("#")
    return (within[0], int(within[1])) if within and session == first else None


def _kept_in(services: Services, agent_id: str, session_id: str, behind: tuple[str, int] | None) -> Iterator[KeptTurn]:
    """What live turns kept, the newest first, then what preview turns did."""
    for place in HistoryPlace.both(agent_id, session_id):
        if behind is None or place.mode == behind[0]:
            yield from services.history.newest_first(place, before=behind[1] if behind else MAX_NUMBER)
            behind = None


def _leave_waiting(services: Services, kept: KeptTurn, parts: Sequence[Part], vectors: Vectors) -> bool:
    """Whether some of the turn's parts have to wait for the model."""
    if not missing(parts, vectors):
        return False
    services.history.wait_for_embedding([(kept.place, kept.number)])
    return True


def _entry(kept: KeptTurn, part: Part, vectors: Sequence[bytes]) -> IndexEntry:
    return IndexEntry(
        part.id,
        history_partition(kept.place),
        kept.place.agent_id,
        _EMBEDDED if vectors else _PLAIN,
        live=True,
        words=part.words,
        vectors=vectors,
        ordinal=kept.number,
    )
