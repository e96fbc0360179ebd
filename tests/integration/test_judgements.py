"""Judgements are kept with the turn, whichever of its attempts they were given on (JD-1 as far as keeping goes)."""

from dataclasses import replace

import pytest
from world import World

from agent_memory.domain.errors import ConditionFailed, Conflict, NotFound
from agent_memory.domain.ports import Equals, Key, Put
from agent_memory.operations.judge import judge
from agent_memory.store import keys

rule = pytest.mark.rule


def judged(turn, verdict="rejected", feedback="Too long.", **more):
    return judge(turn.world.services, turn.agent, turn.id, verdict=verdict, feedback=feedback, **more)


def kept(world: World, agent: str, first_turn: str):
    rows = world.table.query("execution", keys.turn_partition(agent, first_turn), prefix=keys.JUDGEMENT)
    return [{"id": row.key.sort.removeprefix(keys.JUDGEMENT), **row.item} for row in rows]


@rule("JD-1", "TR-1")
def test_any_number_of_judgements_stand_in_the_transcript_in_order(world):
    turn = world.begin(world.configure())
    first = judged(turn, judge="clerk")
    second = judged(turn, "accepted", None)
    assert first == {**first, "turn_id": turn.id, "verdict": "rejected", "lesson": True}
    assert second["lesson"] is False
    told = turn.transcript("judgement")
    assert [(e["judgement_id"], e["verdict"], e["feedback"], e["judge"]) for e in told] == [
        (first["judgement_id"], "rejected", "Too long.", "clerk"),
        (second["judgement_id"], "accepted", None, None),
    ]
    assert told[0]["sequence"] < told[1]["sequence"]


@rule("JD-1", "TU-6")
def test_judgements_of_every_attempt_lie_beside_the_first(world):
    agent = world.configure()
    first = world.begin(agent)
    judged(first, feedback="Ä 🙂 to the character ")
    first.roll_back()
    second = world.begin(agent, None, retry_of=first.id)
    judged(second, feedback="Still too long.")
    found = kept(world, agent, first.id)
    assert [(j["turn_id"], j["feedback"]) for j in found] == [
        (first.id, "Ä 🙂 to the character "),
        (second.id, "Still too long."),
    ]
    assert kept(world, agent, second.id) == []
    assert second.state()["status"] == "open"


@rule("JD-1", "TU-2")
@pytest.mark.parametrize("how", ["commit", "roll_back"])
def test_an_ended_turn_takes_no_judgement(world, how):
    turn = world.begin(world.configure())
    getattr(turn, how)()
    with pytest.raises(Conflict) as refused:
        judged(turn)
    assert refused.value.code == "turn_not_open"
    assert kept(world, turn.agent, turn.id) == []


@rule("TU-5", "JD-1")
def test_a_turn_whose_time_is_over_takes_no_judgement(world):
    turn = world.begin(world.configure())
    world.clock.advance(hours=24)
    with pytest.raises(Conflict):
        judged(turn)


@rule("GR-5", "SC-1")
def test_a_turn_of_another_agent_is_not_there_to_be_judged(world):
    turn = world.begin(world.configure())
    with pytest.raises(NotFound):
        judged(replace(turn, agent=world.configure()))
    assert kept(world, turn.agent, turn.id) == []


@rule("IF-2")
def test_what_comes_along_is_written_with_the_judgement_or_neither(world):
    turn = world.begin(world.configure())
    beside = Key("execution", "beside", "row")
    answer = judged(turn, also=lambda answer: [Put(beside, {"kept": answer["judgement_id"]})])
    assert world.table.get(beside) == {"kept": answer["judgement_id"]}
    with pytest.raises(ConditionFailed):
        judged(turn, also=lambda _: [Put(beside, {}, Equals("kept", "another"))])
    assert len(turn.transcript("judgement")) == len(kept(world, turn.agent, turn.id)) == 1
