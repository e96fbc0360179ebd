"""Turns of one session for different users and workflows: what was said in one is never another's memory (SC-2)."""

from __future__ import annotations

import pytest
from reviewing import learn, records, reject, review_of, say, scripted
from scripted_reviewer import ScriptedReviewer, deleting, fact, replacing, retraction

rule = pytest.mark.rule
ANN, BOB = {"user_id": "ann", "workflow_id": "w1"}, {"user_id": "bob", "workflow_id": "w2"}


def of_each(model: ScriptedReviewer) -> list[list[str]]:
    """What the model was shown, call by call."""
    return [list(shown) for shown in model.shown]


@rule("EX-1", "SC-2", "RC-8")
def test_what_one_user_said_is_read_apart_and_for_nobody_elses_scope(world):
    world, model = scripted(world)
    agent = world.configure(memory={"extraction": {"every": {"messages": 2}}})
    model.candidates = ()
    say(world.begin(agent, **ANN), "ann's").commit()
    model.candidates = (
        fact("Address: x.", scope="user"),
        fact("Flow: y.", scope="workflow"),
        fact("Talk: z.", scope="session"),
    )
    turn = say(world.begin(agent, **BOB), "bob's")
    turn.commit()
    assert of_each(model) == [["ann's"], ["bob's"]]
    by_scope = {record["scope"]: record for record in records(world, agent)}
    assert (by_scope["user"]["user_id"], by_scope["user"]["about"]) == ("bob", ["bob"])
    assert (by_scope["workflow"]["workflow_id"], by_scope["workflow"]["about"]) == ("w2", ["bob"])
    assert sorted(by_scope["session"]["about"]) == ["ann", "bob"]
    reasons = [event["reason"] for event in turn.transcript("review")]
    assert reasons.count("no_id") == 2  # ann's words, which a candidate would have kept for bob and for his workflow


@rule("JD-1", "SC-2")
def test_a_rejection_is_no_lesson_of_another_user(world):
    world, model = scripted(world)
    agent = world.configure(memory={"scope": {"read": ["user"], "write": ["user"]}})
    model.unavailable = 1
    turn = say(world.begin(agent, **ANN), "ann's")
    reject(turn, "Lesson of ann.")
    model.unavailable = 1
    turn.commit()
    assert review_of(turn)["status"] == "failed"
    model.candidates = ()
    say(world.begin(agent, **BOB), "bob's").commit()
    assert records(world, agent) == []
    assert of_each(model)[-1] == ["bob's"]
    say(world.begin(agent, **ANN), "ann's again").commit()
    (lesson,) = records(world, agent)
    assert (lesson["user_id"], lesson["content"]) == ("ann", "Lesson of ann.")
    assert of_each(model)[-1] == ["ann's", "ann's again"]


@rule("JD-1", "SC-2")
def test_a_lesson_that_another_users_turn_reads_lies_in_a_scope_of_both(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent, **ANN), "ann's")
    reject(turn, "Lesson of ann.")
    model.unavailable = 1
    turn.commit()
    model.candidates = ()
    say(world.begin(agent, **BOB), "bob's").commit()
    (lesson,) = records(world, agent)
    assert (lesson["scope"], lesson["user_id"]) == ("session", None)


@rule("TU-8", "EX-1")
@pytest.mark.parametrize(("first", "is_first"), [("delete", True), ("delete", False), ("replace", True)])
def test_a_fact_whose_target_another_decision_takes_away_is_kept(world, first, is_first):
    world, model = scripted(world)
    agent = world.configure()
    learn(world, model, agent, fact("Zebra: Rome."))
    earlier = retraction("Zebra: not Rome.") if first == "delete" else fact("Zebra: eats hay.")

    def decides(candidate):
        return deleting(candidate) if candidate["retracts"] else replacing(candidate)

    several = [earlier, fact("Zebra: Bern.")]
    learn(world, model, agent, *(several if is_first else several[::-1]), decides=decides)
    active = {record["summary"] for record in records(world, agent) if record["status"] == "ACTIVE"}
    assert "Zebra: Bern." in active
    assert "Zebra: Rome." not in active
