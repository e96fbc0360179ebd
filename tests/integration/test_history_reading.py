"""What finding, reading and filling a history costs: how often the model and the table are asked (HI-4, RL-6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from embedders import HashEmbedder
from pydantic import TypeAdapter
from world import World, WorldTurn, with_embedder, with_services

from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.history import HistoryPlace, KeptTurn
from agent_memory.domain.messages import Message
from agent_memory.domain.ports import IndexAnswer, IndexEntry, IndexQuery
from agent_memory.domain.ulids import derived, made_at
from agent_memory.operations import index_history, past
from agent_memory.operations.index_history import rebuild_history
from agent_memory.operations.messages import add_messages
from agent_memory.store import history, packed_events
from agent_memory.store.history import History

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
KEPT = {"index": "messages_and_tools"}


class Counting(HashEmbedder):
    """calls: the texts of each, and what it cost."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[int, int]] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        embedded = super().embed(texts, query=query)
        self.calls.append((len(texts), embedded.tokens))
        return embedded


def told(world: World, agent: str, *texts: str, session: str = "s1", **begin: Any) -> list[str]:
    """A turn of its own that said this, and committed; the ids of the messages."""
    turn = world.begin(agent, session, **begin)
    given = [MESSAGE.validate_python({"role": "user", "text": text}) for text in texts]
    ids = [one["event_id"] for one in add_messages(world.services, agent, turn.id, given)]
    turn.commit()
    return ids


def looked(turn: WorldTurn, **input: Any) -> dict[str, Any]:
    return turn.tool("search_history", input)


@pytest.mark.rule("HI-4", "RL-6", "TU-4")
def test_what_several_turns_said_is_embedded_in_one_call_and_its_tokens_are_recorded(world: World) -> None:
    model = Counting()
    world = with_embedder(world, model)
    agent = world.configure(history=KEPT, memory={"search": {"mode": "vector", "min_score": 0.99}})
    for n in range(20):
        told(world, agent, f"locker number {n}")
    look = world.begin(agent)
    assert model.calls == []
    (event,) = looked(look, query="locker number 7")["events"]
    assert event["text"] == "turn 8, user\nlocker number 7"
    assert [texts for texts, _ in model.calls] == [1, 20]
    (usage,) = look.transcript("usage")
    assert (usage["input_tokens"], usage["cached"]) == (sum(tokens for _, tokens in model.calls), False)
    model.calls.clear()
    looked(look, query="locker number 9")
    assert [texts for texts, _ in model.calls] == [1]  # what was embedded is kept


@dataclass
class Filled:
    """An index that is being filled: what it was told of, turn by turn."""

    turns: list[tuple[str, int]] = field(default_factory=list)

    def search(self, query: IndexQuery) -> IndexAnswer:
        raise IndexUnavailable("it is being filled")

    def apply(self, entries: Sequence[IndexEntry]) -> dict[str, str]:
        self.turns += dict.fromkeys((entry.partition.split("#", 2)[2], entry.ordinal) for entry in entries)
        return {}


def filled(world: World, agent: str, *, pages: int, before: str | None = None) -> tuple[Filled, list[tuple[int, str]]]:
    """So many pages of a filling that begins behind `before`."""
    index = Filled()
    services = replace(world.services, history_index=index)
    return index, list(islice(rebuild_history(services, agent, before=before), pages))


@pytest.mark.rule("RK-5", "RK-6")
def test_a_filling_that_is_stopped_within_a_session_goes_on_within_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_history, "PAGE", 4)
    agent = world.configure(history=KEPT)
    for session, preview in [("s1", False), ("s2", False), ("s2", False), ("s2", True), ("s2", False), ("s2", True)]:
        told(world, agent, "one", "two", "three", session=session, preview=preview)
    whole, _ = filled(world, agent, pages=99)
    expected = [("s2#live", 4), ("s2#live", 2), ("s2#live", 1), ("s2#preview", 5), ("s2#preview", 3), ("s1#live", 1)]
    assert list(dict.fromkeys(whole.turns)) == expected
    before: str | None = None
    told_turns, seen = list[int](), list[tuple[str, int]]()
    while True:
        index, pages = filled(world, agent, pages=1, before=before)
        if not pages:
            break
        ((turns, before),) = pages
        assert len(dict.fromkeys(index.turns)) <= 3  # a page holds parts of two turns, or of one that is told again
        told_turns.append(turns)
        seen += index.turns
    assert list(dict.fromkeys(seen)) == expected
    assert told_turns == [1] * 6


class Watched(History):
    """reads: pages of kept turns that were read."""

    reads = 0

    def newest(self, place: HistoryPlace, *, before: int, limit: int) -> list[KeptTurn]:
        self.reads += 1
        return super().newest(place, before=before, limit=limit)


@pytest.mark.rule("HI-3")
def test_an_id_that_is_not_there_is_missing_before_the_whole_session_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "BEHIND", 3)
    monkeypatch.setattr(history, "_PAGE", 1)
    watched = Watched(world.table)
    world = with_services(world, history=watched)
    agent = world.configure(history=KEPT)
    ids = []
    for n in range(30):
        ids += told(world, agent, f"locker {n}")
        world.clock.advance(hours=6)
    look = world.begin(agent)

    def reads(id: str) -> int:
        watched.reads = 0
        output = looked(look, ids=[id])
        assert (output["missing"], len(output["events"])) in (([], 1), ([id], 0))
        return watched.reads

    assert looked(look, ids=ids[:1])["events"][0]["text"] == "turn 1, user\nlocker 0"
    assert reads("not an id") == 0
    assert reads(derived(made_at(ids[0]) - timedelta(days=99), "before the session")) == 0
    assert reads(derived(world.clock.moment, "of no turn")) < 10
    assert reads(derived(made_at(ids[20]), "of no turn")) < 10 + 10  # down to where it would stand, and a little more


@pytest.mark.rule("HI-3", "TU-6")
def test_a_turn_that_was_tried_again_days_later_is_read_by_the_ids_of_its_last_attempt(world: World) -> None:
    agent = world.configure(history=KEPT)
    first = world.begin(agent)
    first.roll_back()
    told(world, agent, "My locker is blue.")
    world.clock.advance(days=9)
    ids = told(world, agent, "My locker is red.", retry_of=first.id)
    (event,) = looked(world.begin(agent), ids=ids)["events"]
    assert event["text"] == "turn 1, user\nMy locker is red."


@pytest.mark.rule("IF-7", "HI-1")
def test_the_messages_of_a_turn_are_read_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_events, "_ROWS", 2)
    agent = world.configure(history=KEPT)
    turn = world.begin(agent)
    for n in range(6):
        add_messages(world.services, agent, turn.id, [MESSAGE.validate_python({"role": "user", "text": str(n)})])
    read: list[int] = []
    query = type(world.table).query

    def counted(*args: Any, **options: Any) -> Any:
        rows = query(*args, **options)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(type(world.table), "query", counted)
    messages = world.services.turns.each_message(agent, turn.id)
    assert [next(messages)["text"] for _ in range(3)] == ["0", "1", "2"]
    assert read == [2, 2]
    assert [message["text"] for message in messages] == ["3", "4", "5"]
    assert read == [2, 2, 2, 0]
