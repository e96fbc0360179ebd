"""Turns whose end is reviewed by a script: what the tests of reviews share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from embedders import HashEmbedder
from scripted_reviewer import ScriptedReviewer
from world import World, WorldTurn, with_services

from agent_memory.domain.messages import AgentMessage, UserMessage
from agent_memory.operations.judge import judge
from agent_memory.operations.memories import list_memories, read_memory
from agent_memory.operations.messages import add_messages
from agent_memory.operations.record_filters import Filters
from agent_memory.operations.review_again import review_again

RECORDS = 200  # on one page, more than any test saves


class TopicEmbedder(HashEmbedder):
    """Texts of one topic, which is what stands before their first colon, are near; others have nothing in common."""

    def vector(self, text: str) -> list[float]:
        topic, whole = (np.array(super(TopicEmbedder, self).vector(one)) for one in (text.partition(":")[0], text))
        both = topic + whole / 3
        return [float(x) for x in both / np.linalg.norm(both)]


def scripted(world: World, **ports: Any) -> tuple[World, ScriptedReviewer]:
    model = ScriptedReviewer()
    return with_services(world, reviewer=model, embedder=TopicEmbedder(), **ports), model


def say(turn: WorldTurn, *texts: str, role: str = "user") -> WorldTurn:
    make = UserMessage if role == "user" else AgentMessage
    messages = [make(role=role, text=text) for text in texts]  # type: ignore[arg-type]
    add_messages(turn.world.services, turn.agent, turn.id, messages)
    return turn


def learn(
    world: World,
    model: ScriptedReviewer,
    agent: str,
    *candidates: object,
    decides: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    session: str | None = "s1",
    **turn: Any,
) -> WorldTurn:
    """One turn in which something is said, and these candidates come of it."""
    model.candidates = candidates
    model.decides = decides or model.decides
    begun = say(world.begin(agent, session, **turn), "Something was said.")
    begun.commit()
    return begun


def reject(turn: WorldTurn, feedback: str) -> None:
    judge(turn.world.services, turn.agent, turn.id, verdict="rejected", feedback=feedback)


def again(turn: WorldTurn) -> dict[str, Any]:
    review_again(turn.world.services, turn.agent, turn.id)
    return turn.state()


def review_of(turn: WorldTurn) -> dict[str, Any]:
    review: dict[str, Any] = turn.state()["review"]
    return review


def counts(turn: WorldTurn) -> tuple[int, int, int, int]:
    """Added, replaced, deleted, skipped."""
    review = review_of(turn)
    return review["added"], review["replaced"], review["deleted"], review["skipped"]


def decided(turn: WorldTurn) -> list[tuple[str, str]]:
    """The decisions of the transcript, each with its reason."""
    return [(e["decision"], e["reason"]) for e in turn.transcript("review") if "decision" in e]


def records(world: World, agent: str) -> list[dict[str, Any]]:
    """What the agent has, live and preview, oldest first."""
    page = list_memories(world.services, agent, Filters(statuses=("ACTIVE",)), limit=RECORDS)
    found: list[dict[str, Any]] = page["memories"][::-1]
    return found


def active(world: World, agent: str) -> list[str]:
    """The summaries of these."""
    return [record["summary"] for record in records(world, agent)]


def record(world: World, agent: str | None, id: str) -> dict[str, Any]:
    return read_memory(world.services, agent, id)


def saved_by(turn: WorldTurn) -> list[str]:
    """The ids of what its commits saved, in order."""
    return [one["id"] for one in turn.state()["memories"] if one["status"] == "ACTIVE"]


@contextmanager
def held(world: World) -> Iterator[None]:
    """Turns that end meanwhile stay as they are: nobody carries their end out."""
    world.ends.held = True
    yield
    world.ends.held = False
