"""Answers that do not fit, and reviews that fail: the turn commits, nothing is lost, and it is done again (EX-6)."""

import json

import pytest
from reviewing import active, again, counts, decided, learn, review_of, say, scripted
from scripted_reviewer import adding, fact, replacing, skipping

from agent_memory.domain.errors import Conflict
from agent_memory.domain.ports import Said
from agent_memory.operations.review_again import review_again
from agent_memory.operations.turn_list import TurnFilters, list_turns

rule = pytest.mark.rule

CUT = Said('{"candidates": [{"retracts": false, "summary": "Half', is_cut=True)
GOOD = json.dumps({"candidates": [fact("Invoices: by post.")]})


def unavailable(model):
    model.unavailable = 1


def nonsense(model):
    model.answers = ["I cannot help with that.", "Nothing."]


def cut(model):
    model.answers = [CUT, CUT]


FAILURES = {unavailable: "unavailable", nonsense: "unreadable", cut: "unreadable"}
failing = pytest.mark.parametrize("fail", FAILURES)


@rule("EX-6", "TU-1")
@failing
def test_a_review_that_fails_does_not_fail_its_turn(world, fail):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent), "By post, please.")
    turn.add("By a tool.")
    fail(model)
    state = turn.commit()
    assert (state["status"], state["review"]["status"], state["review"]["error"]) == (
        "committed",
        "failed",
        FAILURES[fail],
    )
    (event,) = turn.transcript("review")
    assert (event["status"], event["error"], event["attempt"]) == ("failed", FAILURES[fail], 1)
    assert active(world, agent) == ["By a tool."]


@rule("EX-6")
@failing
def test_a_failed_review_is_listed_and_done_again_in_a_transaction_of_its_own(world, fail):
    world, model = scripted(world)
    agent = world.configure()
    fail(model)
    turn = learn(world, model, agent, fact("Invoices: by post."))
    fine = learn(world, model, agent)  # whose review has read what the failed one left
    fail(model)
    failed = learn(world, model, agent, fact("Parcels: late."))
    listed = list_turns(world.services, agent, TurnFilters(review="failed"), limit=10)["turns"]
    assert [one["turn_id"] for one in listed] == [failed.id, turn.id]
    before = failed.state()
    state = again(failed)
    assert (state["review"]["status"], state["review"]["error"], counts(failed)) == ("done", None, (1, 0, 0, 0))
    assert (state["committed_at"], state["ended_at"]) == (before["committed_at"], before["ended_at"])
    assert active(world, agent) == ["Parcels: late."]
    assert [e["type"] for e in failed.transcript()].count("turn.committed") == 1
    assert review_of(fine)["status"] == "done"


@rule("EX-6")
def test_there_is_nothing_to_do_again_where_no_review_failed_or_a_later_one_has_read_it(world):
    world, model = scripted(world)
    agent = world.configure()
    done = learn(world, model, agent)
    unavailable(model)
    failed = learn(world, model, agent)
    learn(world, model, agent)
    quiet = world.begin(agent)
    quiet.commit()
    for turn in (done, failed, quiet, world.begin(agent)):
        with pytest.raises(Conflict) as refused:
            again(turn)
        assert refused.value.code == "no_failed_review"
    assert len(model.shown) == 3


@rule("EX-6", "EX-3")
def test_a_review_that_fails_again_can_be_done_again_and_the_next_one_reads_what_it_left(world):
    world, model = scripted(world)
    agent = world.configure()
    model.unavailable = 3
    turn = learn(world, model, agent, fact("Invoices: by post."))
    assert [again(turn)["review"]["status"] for _ in range(2)] == ["failed", "failed"]
    assert [event["attempt"] for event in turn.transcript("review")] == [1, 2, 3]
    learn(world, model, agent, fact("Invoices: by post."))
    assert model.shown[-1] == ["Something was said."] * 2
    with pytest.raises(Conflict):
        again(turn)


@rule("EX-6", "EX-3")
def test_while_a_review_is_done_again_the_next_turn_does_not_read_its_messages_too(world):
    world, model = scripted(world)
    agent = world.configure()
    unavailable(model)
    turn = say(world.begin(agent), "first")
    turn.commit()
    world.ends.held = True
    review_again(world.services, agent, turn.id)
    with pytest.raises(Conflict):
        review_again(world.services, agent, turn.id)
    world.ends.held = False
    say(world.begin(agent), "second").commit()
    assert model.shown[-1] == ["second"]
    world.ends.start(agent, turn.id, 1)
    assert (model.shown[-1], review_of(turn)["status"]) == (["first"], "done")


@rule("EX-6", "EX-2")
@pytest.mark.parametrize("text", [f"Based on {{about travel}} and [notes]: {GOOD}", f"```json\n{GOOD}\n```"])
def test_an_object_inside_prose_or_a_code_fence_is_read(world, text):
    world, model = scripted(world)
    agent = world.configure()
    model.answers = [text]
    turn = learn(world, model, agent)
    assert (model.names, counts(turn)) == (["candidates"], (1, 0, 0, 0))


@rule("EX-6", "EX-2")
def test_an_answer_cut_off_once_is_asked_for_again(world):
    world, model = scripted(world)
    agent = world.configure()
    model.answers = [CUT, GOOD]
    turn = learn(world, model, agent)
    assert model.calls[1].correction.answer == CUT.text
    assert (review_of(turn)["status"], counts(turn)) == ("done", (1, 0, 0, 0))


@rule("EX-6")
def test_an_empty_list_is_an_answer_and_no_failure(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = learn(world, model, agent)
    assert (review_of(turn)["status"], len(model.calls)) == ("done", 1)


@rule("EX-6", "EX-7")
def test_what_is_right_stands_and_what_is_still_wrong_is_skipped_and_recorded(world):
    world, model = scripted(world)
    agent = world.configure()
    wrong = [fact(""), fact("Two\nlines."), {"summary": "No kind."}, "no object", fact("x" * 301)]
    wrong += [fact("Invoices: \ud83d.")]  # half an emoji
    turn = learn(world, model, agent, fact("Parcels: on Mondays."), *wrong, fact("Tone: formal 🙂."))
    assert active(world, agent) == ["Parcels: on Mondays.", "Tone: formal 🙂."]
    assert (len(model.calls), counts(turn)) == (2, (2, 0, 0, 6))
    assert model.calls[1].correction.faults.count("\n- ") == 6
    skipped = [event for event in turn.transcript("review") if event["decision"] == "skip"]
    assert all(event["reason"] == "unreadable" and "candidate" not in event for event in skipped)
    assert max(event["length"] for event in skipped) > 301


@rule("EX-6", "EX-1")
def test_of_decisions_those_that_fit_stand_beside_those_that_do_not(world):
    world, model = scripted(world)
    agent = world.configure()
    for summary in ("A: old.", "B: old.", "C: old."):
        world.remember(agent, summary)

    def some_wrong(candidate):
        match candidate["summary"][0]:
            case "A":
                return replacing(candidate)
            case "B":
                return {**replacing(candidate), "memory_id": "9"}
            case _:
                return {**skipping(candidate), "candidate": 99}

    turn = learn(world, model, agent, fact("A: new."), fact("B: new."), fact("C: new."), decides=some_wrong)
    assert (model.names, counts(turn)) == (["candidates", "decisions", "decisions"], (0, 1, 0, 2))
    assert [one[0] for one in decided(turn)] == ["replace", "skip", "skip"]
    assert sorted(active(world, agent)) == ["A: new.", "B: old.", "C: old."]


@rule("EX-6", "EX-2")
def test_where_the_decisions_cannot_be_read_the_review_has_failed_as_a_whole(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    model.answers = [json.dumps({"candidates": [fact("Invoices: by mail."), fact("Tone: formal.")]}), "?", "?"]
    turn = learn(world, model, agent)
    assert (review_of(turn)["status"], counts(turn)) == ("failed", (0, 0, 0, 0))
    assert active(world, agent) == ["Invoices: by post."]
    model.candidates, model.decides = [fact("Invoices: by mail.")], adding
    assert again(turn)["review"]["added"] == 1


@rule("EX-6", "EX-2")
def test_of_a_long_turn_the_windows_that_were_read_stand_and_the_rest_is_read_again(world):
    world, model = scripted(world)
    agent = world.configure()
    texts = [f"{n} " + "x" * 60_000 for n in range(3)]
    model.candidates = lambda asked: _then_fails(model, asked)
    turn = say(world.begin(agent), *texts)
    turn.commit()
    assert (review_of(turn)["status"], counts(turn)) == ("failed", (1, 0, 0, 0))
    assert active(world, agent) == ["Part 0: read."]
    model.candidates = lambda asked: [fact(f"Part {asked['messages'][0]['text'][0]}: read.")]
    assert again(turn)["review"]["status"] == "done"
    assert counts(turn) == (3, 0, 0, 0)
    assert active(world, agent) == [f"Part {n}: read." for n in range(3)]


def _then_fails(model, asked):
    model.unavailable = 1
    return [fact(f"Part {asked['messages'][0]['text'][0]}: read.")]
