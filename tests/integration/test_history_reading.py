"""What finding, reading and filling a history costs: how often the model and the table are asked (HI-4, RL-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from embedders import HashEmbedder
from pydantic import TypeAdapter
from world import World, WorldTurn, with_embedder

from agent_memory.domain.messages import Message
from agent_memory.operations.messages import add_messages

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


def told(world: World, agent: str, *texts: str) -> list[str]:
    """A turn of its own that said this, and committed; the ids of the messages."""
    turn = world.begin(agent)
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
