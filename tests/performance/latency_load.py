"""Fills a folder with records, as turns of an agent save them: the operations are called without HTTP."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from synthetic import SyntheticEmbedder, record_of, turns_to_grow

from agent_memory.domain.configuration import parse_config
from agent_memory.local.edition import Edition
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.configure import Expected, configure
from agent_memory.operations.end import end
from agent_memory.operations.services import Services
from agent_memory.operations.tools import call_tool

AGENT = "bench"
CONFIG = {
    "memory": {
        "enabled": True,
        "scope": {"read": ["session", "user"], "write": ["user"]},
        "tools": ["add_memory"],
    }
}
_WRITERS = 4  # turns at a time: those that commit at once share an fsync
_SETTLING_S = 3600.0


def grow(folder: Path, before: int, after: int, advance: Callable[[int], None]) -> None:
    """Bring the folder from one size to another, index and all."""
    edition = Edition(folder, lambda _: SyntheticEmbedder())
    edition.start()
    try:
        if not before:
            configure(edition.services, AGENT, parse_config(CONFIG), Expected(absent=True), caller="bench")
        with ThreadPoolExecutor(_WRITERS) as writers:
            turns = turns_to_grow(before, after)
            for count in writers.map(lambda turn: save_turn(edition.services, *turn), turns):
                advance(count)
        edition.settle(_SETTLING_S)
    finally:
        edition.stop()


def save_turn(services: Services, owner: str, numbers: list[int]) -> int:
    """One turn that saves these records of an owner; gives how many."""
    turn = begin(services, AGENT, Beginning(session_id=f"of {owner}", user_id=owner)).turn
    for number in numbers:
        answer = call_tool(services, AGENT, turn.turn_id, "add_memory", record_of(owner, number))
        assert "error" not in answer, answer
    end(services, AGENT, turn.turn_id, outcome="completed")
    return len(numbers)
