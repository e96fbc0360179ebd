"""Executions name records by id and version; whoever reads a transcript sees the text that stood there (TR-2)."""

from __future__ import annotations

from typing import Any

import pytest
from world import World, WorldTurn

from agent_memory.operations.execution import read_execution


def outputs(turn: WorldTurn) -> list[dict[str, Any]]:
    """The records that the turn's executions name, in order."""
    events = turn.transcript("execution")
    lists = [event["output"].get("memories", event["output"].get("sources", [])) for event in events]
    return [entry for entries in lists for entry in entries]


@pytest.mark.rule("TR-2")
def test_what_a_turn_has_staged_is_read_while_it_is_open_and_after_its_commit(world: World) -> None:
    agent = world.configure()
    old = world.remember(agent, "Old.")
    turn = world.begin(agent)
    saved = turn.add("New.", replaces=old)
    turn.remove(saved)
    for _ in ("open", "committed"):
        added, deleted = outputs(turn)
        assert (added["summary"], added["version"], added["status"]) == ("New.", 1, "ACTIVE")
        assert (deleted["summary"], deleted["version"], deleted["status"]) == ("New.", 2, "DELETED")
        turn.commit()


@pytest.mark.rule("TR-2", "TU-1")
def test_of_what_was_rolled_back_id_and_version_are_left(world: World) -> None:
    turn = world.begin(world.configure())
    saved = turn.add("Never.")
    turn.roll_back()
    assert outputs(turn) == [{"id": saved, "version": 1, "erased": True}]


@pytest.mark.rule("TR-2", "RC-5")
def test_a_later_version_does_not_change_what_an_earlier_execution_showed(world: World) -> None:
    agent = world.configure()
    shown = world.remember(agent, "Shown.")
    turn = world.begin(agent)
    execution = turn.recall("shown")["tool_execution_id"]
    turn.commit()
    later = world.begin(agent)
    later.remove(shown)
    later.commit()
    told = read_execution(world.services, agent, execution)
    assert [(m["summary"], m["version"], m["status"]) for m in told["output"]["memories"]] == [("Shown.", 1, "ACTIVE")]
    assert (told["turn_id"], told["attempt"]) == (turn.id, 1)
    assert [use["use"] for use in told["output_uses"]] == ["RETRIEVED"]
