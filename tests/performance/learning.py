"""What many turns of one session come to, and what their reviews cost: `learning.py [--turns 1000]`.

Every turn the user says the same twenty facts in other words, and the agent repeats the block that it recalled. The
reviewer proposes all that it is shown. So there must be twenty records in the end, none of them learned from a block.
The model is a script, so the calls and prompts are exact; its judgement is not measured (`make review-agreement`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS), str(TESTS / "integration")]

from reviewing import records, say, scripted  # noqa: E402
from scripted_reviewer import CANDIDATES, ScriptedReviewer, adding, fact, skipping  # noqa: E402
from world import World, one_machine  # noqa: E402

FACTS = 20
RECALLED = "Told to nobody but the memory."  # stands in every record, and in no message but by way of a block
_CHARACTERS_A_TOKEN = 4
_TOLD_AT = (1, 10, 100, 250, 500, 1000, 2000, 5000, 10_000)


@dataclass
class Learned:
    """After so many turns. said: tokens of all that was said; asked: of all that the model was asked; echoes: records
    that were learned from what a recall had rendered."""

    turns: int
    records: int
    echoes: int
    proposing: int
    deciding: int
    asked: int
    said: int
    versions: int


def learning(world: World, turns: int) -> Iterator[Learned]:
    """Take the turns, one after another."""
    world, model = scripted(world)
    model.candidates, model.decides = lambda asked: _proposed(asked), _decided
    agent = world.configure(memory={"pinned": {"max_tokens": 500}})
    said = asked = proposing = deciding = 0
    for number in range(1, turns + 1):
        said += _take_turn(world, agent, number)
        asked += _tokens(model)
        proposing += model.names.count(CANDIDATES)
        deciding += len(model.calls) - model.names.count(CANDIDATES)
        model.calls.clear()
        world.index_all()
        kept = records(world, agent)
        echoes = sum(RECALLED in one["summary"] for one in kept)
        versions = max(one["version"] for one in kept)
        yield Learned(number, len(kept), echoes, proposing, deciding, asked, said // _CHARACTERS_A_TOKEN, versions)


def _take_turn(world: World, agent: str, number: int) -> int:
    turn = world.begin(agent)
    world.clock.advance(minutes=20)
    facts = [f"Topic {n}: it is so, said in words {number * 31 + n}." for n in range(FACTS)]
    recalled = turn.recall("Topic 1")
    assert number == 1 or RECALLED in recalled["block"]
    say(turn, *facts)
    say(turn, f"As I know:\n{recalled['block']}\n{recalled['instructions']}\nVery well.", role="agent")
    assert turn.commit()["review"]["status"] == "done"
    return sum(map(len, facts)) + len("As I know:\n\n\nVery well.")


def _proposed(asked: Any) -> list[dict[str, Any]]:
    """All that it is shown, line by line."""
    lines = [line.strip() for message in asked["messages"] for line in message["text"].splitlines()]
    known = [fact(line, content=RECALLED) for line in lines if line.startswith("Topic")]
    return [*known, *(fact(f"Echo: {line}"[:300]) for line in lines if RECALLED in line)]


def _decided(candidate: dict[str, Any]) -> dict[str, Any]:
    topic = candidate["summary"].partition(":")[0]
    says_it = [near for near in candidate["neighbours"] if near["summary"].partition(":")[0] == topic]
    return skipping({**candidate, "neighbours": says_it}) if says_it else adding(candidate)


def _tokens(model: ScriptedReviewer) -> int:
    return sum(len(str(call.asked)) for call in model.calls) // _CHARACTERS_A_TOKEN


def main(turns: int) -> int:
    print(f"{FACTS} facts in other words every turn, each turn's recalled block repeated by the agent; tokens are")
    print("characters ÷ 4; asked: what the model was sent, said: what a review may read of the conversation")
    head = ("turns", "records", "echoes", "proposing", "deciding", "asked", "said", "a turn", "versions")
    print("".join(f"{name:>11}" for name in head))
    last = None
    with tempfile.TemporaryDirectory(prefix="learning-") as folder, one_machine(Path(folder)) as world:
        for last in learning(world, turns):
            if last.turns in _TOLD_AT or last.turns == turns:
                _print(last)
    return 0 if last and (last.records, last.echoes) == (FACTS, 0) else 1


def _print(learned: Learned) -> None:
    a_turn = learned.asked // learned.turns
    numbers = (learned.turns, learned.records, learned.echoes, learned.proposing, learned.deciding)
    numbers += (learned.asked, learned.said, a_turn, learned.versions)  # type: ignore[assignment]
    print("".join(f"{number:>11,}" for number in numbers), flush=True)


if __name__ == "__main__":
    given = argparse.ArgumentParser(prog="make learn")
    given.add_argument("--turns", type=int, default=1000)
    sys.exit(main(given.parse_args().turns))
