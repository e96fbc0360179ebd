"""A proposal is decided on among what preview hides and what other scopes bind (SC-4, PV-3, RL-1)."""

from __future__ import annotations

from typing import Any

import pytest
from world import World

from agent_memory.operations.configure import Expected
from agent_memory.operations.curate import decide, discard
from agent_memory.operations.memories import read_memory

EVERYWHERE = {"read": ["session", "agent", "platform"], "write": ["session", "agent", "platform"]}


def approve(world: World, id: str) -> dict[str, Any]:
    decide(world.services, id, Expected(version=1), approve=True, by={"caller": "somebody"})
    return read_memory(world.services, None, id)


@pytest.mark.rule("SC-4", "PV-3")
def test_proposals_of_preview_turns_hide_what_they_replace_once_they_are_approved(world: World) -> None:
    agent = world.configure(memory={"scope": EVERYWHERE})
    live = [world.remember(agent, f"Live {n}.") for n in range(2)]
    for record in live:
        turn = world.begin(agent, preview=True)
        proposed = turn.add(f"Instead of {record}.", scope="platform", replaces=record)
        turn.commit()
        assert record in world.begin(agent, preview=True).search()
        assert approve(world, proposed)["replaces"] == [record]
        assert record not in world.begin(agent, preview=True).search()
        assert record in world.begin(agent).search()


@pytest.mark.rule("SC-4", "RL-1")
def test_a_constraint_that_an_approval_replaces_leaves_its_place_to_another(world: World) -> None:
    agent = world.configure(memory={"scope": EVERYWHERE, "kinds": {"rule": {"precedence": "broader"}}})
    rules = [world.remember(agent, f"Rule {n}.", kind="rule", scope="agent") for n in range(20)]
    full = world.begin(agent).refused("add_memory", {"summary": "One more.", "kind": "rule", "scope": "agent"})
    assert full["code"] == "too_many_constraints"
    approve(world, world.remember(agent, "For all.", scope="platform", kind="constraint", replaces=rules[0]))
    assert world.begin(agent).add("One more.", kind="rule", scope="agent")


@pytest.mark.rule("CF-3", "RL-1")
def test_a_constraint_of_a_kind_that_no_longer_binds_leaves_its_place_when_it_ends(world: World) -> None:
    binding = {"scope": EVERYWHERE, "kinds": {"rule": {"precedence": "broader"}}}
    agent = world.configure(memory=binding)
    rules = [world.remember(agent, f"Rule {n}.", kind="rule", scope="agent") for n in range(20)]
    world.configure(agent=agent, memory={"scope": EVERYWHERE, "kinds": {"rule": {}}})
    discard(world.services, agent, rules[0], Expected(), by={"caller": "somebody"})
    world.configure(agent=agent, memory=binding)
    assert world.begin(agent).add("One more.", kind="rule", scope="agent")
