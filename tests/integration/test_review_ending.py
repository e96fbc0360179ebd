"""A turn between its end and its commit, while it is reviewed; and what becomes of one whose process dies (TU-2)."""

from threading import Event, Thread

import pytest
from reviewing import active, counts, held, learn, reject, review_of, say, scripted
from scripted_reviewer import fact

from agent_memory.domain.errors import Conflict, StoreUnavailable
from agent_memory.operations.begin import Beginning, begin
from agent_memory.operations.end import end
from agent_memory.operations.review import review
from agent_memory.operations.turn_end import carry_out
from agent_memory.operations.upkeep import resume

rule = pytest.mark.rule

ALWAYS = lambda: True  # noqa: E731


def ending(world, model, agent, session="s1", **fields):
    """A turn that has ended and whose review nobody has begun."""
    model.candidates = [fact("Invoices: by post.")]
    turn = say(world.begin(agent, session, **fields), "Something was said.")
    with held(world):
        end(world.services, agent, turn.id, outcome="completed")
    assert turn.state()["status"] == "ending"
    return turn


def still_ending(world, agent, session="s1", **fields):
    return begin(world.services, agent, Beginning(session_id=session, **fields)).still_ending


def go_on(turn):
    carry_out(turn.world.services, turn.agent, turn.id)


@rule("TU-2")
def test_an_ending_turn_takes_nothing_more(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    for late in (
        lambda: turn.recall("x"),
        lambda: turn.call("search_memory"),
        lambda: turn.call("add_memory", {"summary": "Late.", "kind": "fact"}),
        lambda: say(turn, "Late."),
        lambda: reject(turn, "Late."),
    ):
        with pytest.raises(Conflict) as refused:
            late()
        assert refused.value.code == "turn_not_open"
    go_on(turn)
    assert model.shown == [["Something was said."]]
    assert active(world, agent) == ["Invoices: by post."]


@rule("TU-2", "TU-6")
def test_the_first_outcome_stands_while_it_is_ending_too(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    again = end(world.services, agent, turn.id, outcome="completed")
    assert (again.turn.status.value, again.by_this_call) == ("ending", False)
    with pytest.raises(Conflict) as differs:
        turn.roll_back()
    assert differs.value.code == "outcome_differs"
    with pytest.raises(Conflict) as retried:
        world.begin(agent, None, retry_of=turn.id)
    assert retried.value.code == "not_retryable"
    go_on(turn)
    go_on(turn)
    assert (turn.state()["status"], len(model.calls)) == ("committed", 1)


@rule("TU-2")
def test_the_next_turns_of_the_session_are_told_of_those_that_are_still_ending(world):
    world, model = scripted(world)
    agent = world.configure()
    first, second = ending(world, model, agent), ending(world, model, agent, preview=True)
    ending(world, model, agent, "s10")
    assert still_ending(world, agent) == [first.id, second.id]
    go_on(first)
    assert still_ending(world, agent) == [second.id]
    go_on(second)
    assert still_ending(world, agent) == []


@rule("TU-1", "TU-4")
def test_nothing_of_it_is_seen_before_it_commits(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    review(world.services, agent, turn.id)
    assert (active(world, agent), world.begin(agent).search()) == ([], [])
    assert (turn.state()["status"], review_of(turn)["status"]) == ("ending", "pending")
    go_on(turn)
    assert active(world, agent) == ["Invoices: by post."]


@rule("TU-2", "EX-6")
def test_a_process_that_dies_before_the_reviews_transaction_has_it_asked_again(world, monkeypatch):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    with monkeypatch.context() as dying:
        dying.setattr(world.services.turns, "transact", _dies)
        with pytest.raises(_Died):
            go_on(turn)
    assert turn.state()["status"] == "ending"
    go_on(turn)
    assert model.names == ["candidates"] * 2
    assert (active(world, agent), counts(turn)) == (["Invoices: by post."], (1, 0, 0, 0))
    assert [e["decision"] for e in turn.transcript("review")] == ["add"]


@rule("TU-2", "TU-1", "EX-6")
def test_a_process_that_dies_between_review_and_commit_costs_no_second_call(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    review(world.services, agent, turn.id)  # and no commit
    go_on(turn)
    assert (model.names, active(world, agent)) == (["candidates"], ["Invoices: by post."])
    assert turn.state()["status"] == "committed"


@rule("TU-2", "EX-6")
def test_upkeep_begins_a_review_that_got_stuck_once_more(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    with held(world):
        assert resume(world.services, ALWAYS) == 0  # somebody may be at it: told by the same name it begins once
    assert world.ends.started[-1] == (agent, turn.id, 0, "")
    world.clock.advance(minutes=31)
    assert resume(world.services, ALWAYS) == 1
    *told, again = world.ends.started[-1]
    assert (told, again.isalnum()) == ([agent, turn.id, 0], True)
    assert turn.state()["status"] == "committed"
    assert resume(world.services, ALWAYS) == 0


@rule("TU-2")
def test_an_end_that_cannot_be_handed_on_is_answered_and_carried_out_later(world, monkeypatch):
    world, model = scripted(world)
    agent = world.configure()
    model.candidates = [fact("Invoices: by post.")]
    turn = say(world.begin(agent), "Something was said.")
    with monkeypatch.context() as down:
        down.setattr(world.ends, "start", _unavailable)
        assert end(world.services, agent, turn.id, outcome="completed").turn.status.value == "ending"
    world.clock.advance(minutes=31)
    resume(world.services, ALWAYS)
    assert active(world, agent) == ["Invoices: by post."]


@rule("TU-2", "TU-7")
def test_a_slow_review_holds_up_no_other_turn(machine):
    world, model = scripted(machine)
    agent = world.configure()
    slow = ending(world, model, agent)
    model.goes_on = Event()
    thread = Thread(target=lambda: go_on(slow))
    thread.start()
    assert model.is_asked.wait(30)
    other = world.begin(agent)
    saved = other.add("By a tool.")
    assert other.commit()["status"] == "committed"  # nothing was said in it
    assert (slow.state()["status"], world.recall(agent, "tool")) == ("ending", [saved])
    model.goes_on.set()
    thread.join()
    assert set(active(world, agent)) == {"Invoices: by post.", "By a tool."}


@rule("TU-2", "EX-3")
def test_two_processes_that_carry_out_one_end_commit_it_once(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = ending(world, model, agent)
    model.candidates = lambda asked: _meanwhile(lambda: go_on(turn), model)
    go_on(turn)
    assert len(model.calls) == 2
    assert (active(world, agent), counts(turn)) == (["Invoices: by post."], (1, 0, 0, 0))
    assert [e["type"] for e in turn.transcript()].count("turn.committed") == 1
    assert learn(world, model, agent).state()["status"] == "committed"


def _meanwhile(happens, model):
    model.candidates = [fact("Invoices: by post.")]
    happens()
    return model.candidates


class _Died(Exception):
    pass


def _dies(writes):
    raise _Died


def _unavailable(*told, **more):
    raise StoreUnavailable("scripted")
