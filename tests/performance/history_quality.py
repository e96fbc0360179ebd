"""How well `search_history` finds what was said: a conversation of the data is a session of the agent, each of its
sittings a turn, and each document a message of it. Called by `quality.py`, and measured as that measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from time import sleep
from typing import Any

from data_sets import Document, Question
from pydantic import TypeAdapter

from agent_memory.domain.messages import Message
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.end import end
from agent_memory.operations.messages import add_messages
from agent_memory.operations.services import Services
from agent_memory.operations.tools import call_tool

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
ROLES = ("user", "agent")  # in turn, as the speakers of the data


def say(
    services: Services, agent: str, documents: dict[str, list[Document]], advance: Callable[[], None]
) -> dict[tuple[str, str], str]:
    """Say all of it; gives the document of each event, by its scope and the event's id."""
    said: dict[tuple[str, str], str] = {}
    for scope, several in documents.items():
        for _, sitting in groupby(several, key=lambda document: document.session):
            for id, document in zip(*_turn(services, agent, scope, list(sitting)), strict=True):
                said[scope, id] = document.id
                advance()
    return said


def _turn(services: Services, agent: str, scope: str, sitting: list[Document]) -> tuple[list[str], list[Document]]:
    turn = begin(services, agent, Beginning(session_id=scope)).turn
    messages = [
        MESSAGE.validate_python({"role": ROLES[at % 2], "text": document.text}) for at, document in enumerate(sitting)
    ]
    added = add_messages(services, agent, turn.turn_id, messages)
    end(services, agent, turn.turn_id, outcome="completed")
    return [one["event_id"] for one in added], sitting


def settle(services: Services) -> None:
    """Until the edition has embedded all of it."""
    while services.history.unembedded(limit=1):
        sleep(0.1)


def ask(
    services: Services,
    agent: str,
    version: int,
    questions: dict[str, list[Question]],
    said: dict[tuple[str, str], str],
    *,
    depth: int,
    output_of: Callable[[dict[str, Any]], dict[str, Any]],
) -> Iterable[tuple[list[str], frozenset[str]]]:
    """What each question found, best first, and what answers it."""
    for scope, several in questions.items():
        turn = begin(services, agent, Beginning(session_id=scope, agent_version=version)).turn
        for question in several:
            input = {"query": question.text, "limit": depth}
            output = output_of(call_tool(services, agent, turn.turn_id, "search_history", input))
            yield [said[scope, event["id"]] for event in output["events"]], question.gold
        end(services, agent, turn.turn_id, outcome="failed")
