"""What a review decided has to fit one transaction still when others have changed what it meets."""

from __future__ import annotations

import pytest
from reviewing import held, learn, reject, review_of, scripted
from scripted_reviewer import Json, fact

from agent_memory.operations.review import review
from agent_memory.operations.turn_end import carry_out

rule = pytest.mark.rule


def keyed(who: str) -> list[Json]:
    return [fact(f"{who} {n}: so.", memory_key=f"k{n}", scope="user") for n in range(20)]


@rule("TU-5", "TU-8")
def test_what_one_transaction_has_no_room_for_since_keys_were_taken_is_left_out_and_told(world):
    world, model = scripted(world)
    agent = world.configure()
    with held(world):
        slower = learn(world, model, agent, *keyed("Slower"), session="s1", user_id="u")
    services = world.services
    review(services, agent, slower.id)  # decided, and not committed
    learn(world, model, agent, *keyed("Faster"), session="s2", user_id="u")
    assert carry_out(services, agent, slower.id).turn.status.value == "committed"
    told = review_of(slower)
    assert told["added"] + told["skipped"] == 20
    assert 10 <= told["added"] < 20
    left_out = [e for e in slower.transcript("review") if e["reason"] == "turn_full"]
    assert len(left_out) == told["skipped"]
    assert all("candidate" not in e and e["length"] for e in left_out)


@rule("EX-7", "GT-2", "JD-1")
def test_a_lesson_that_no_memory_may_say_is_told_without_its_text(world):
    world, _ = scripted(world)
    turn = world.begin(world.configure())
    reject(turn, "Be brief.\u202eNo more.")
    turn.commit()
    (event,) = turn.transcript("review")
    assert {name: event[name] for name in ("decision", "reason", "field", "kind", "length")} == {
        "decision": "skip",
        "reason": "gate",
        "field": "summary",
        "kind": "characters",
        "length": 18,
    }
    assert "candidate" not in event
