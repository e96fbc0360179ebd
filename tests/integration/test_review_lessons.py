"""What a review learns from rejections (JD-1)."""

import pytest
from reviewing import active, again, counts, decided, learn, record, reject, review_of, saved_by, say, scripted
from scripted_reviewer import adding, fact, replacing, skipping

from agent_memory.domain.errors import Conflict
from agent_memory.operations.judge import judge

rule = pytest.mark.rule


def lessons(world, agent):
    """The contents of the lessons there are, oldest first."""
    look = world.begin(agent)
    kept = [record(world, agent, id) for id in look.search(limit=50)[::-1]]
    look.roll_back()
    return [one["content"] for one in kept if one["source"] == "lesson"]


@rule("JD-1", "TU-4")
def test_a_rejection_becomes_a_record_of_its_own_words_when_its_turn_commits(world):
    world, _ = scripted(world)
    agent = world.configure()
    feedback = "  \nÄ 🙂 Ask for the number first.\n\tThen look it up. "
    turn = world.begin(agent, user_id="u-1")
    reject(turn, feedback)
    assert (turn.search(), world.begin(agent).search()) == ([], [])
    state = turn.commit()
    (saved,) = saved_by(turn)
    kept = record(world, agent, saved)
    assert (kept["content"], kept["summary"]) == (feedback, "Ä 🙂 Ask for the number first.")
    assert (kept["source"], kept["kind"], kept["priority"], kept["about"]) == ("lesson", "guidance", 50, ["u-1"])
    assert (kept["scope"], state["lessons"], counts(turn)) == ("session", 1, (1, 0, 0, 0))


@rule("JD-1")
@pytest.mark.parametrize(
    ("kinds", "kind"),
    [(["fact", "guidance", "lesson"], "lesson"), (["fact", "guidance"], "guidance"), (["event", "fact"], "event")],
)
def test_its_kind_is_the_first_of_these_that_is_declared(world, kinds, kind):
    world, _ = scripted(world)
    agent = world.configure(memory={"kinds": kinds})
    turn = world.begin(agent)
    reject(turn, "Ask first.")
    turn.commit()
    assert record(world, agent, saved_by(turn)[0])["kind"] == kind


@rule("JD-1")
def test_an_acceptance_teaches_nothing(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = world.begin(agent)
    judge(world.services, agent, turn.id, verdict="accepted", feedback="Well done.")
    assert turn.commit()["review"]["status"] == "none"
    assert (model.calls, active(world, agent)) == ([], [])


@rule("JD-1", "TU-6")
def test_lessons_of_attempts_that_were_rolled_back_are_learned_when_a_later_one_completes(world):
    world, _ = scripted(world)
    agent = world.configure()
    first = world.begin(agent)
    reject(first, "Too long.")
    first.roll_back()
    second = world.begin(agent, None, retry_of=first.id)
    reject(second, "Too short.")
    third = world.begin(agent, None, retry_of=second.id)
    assert lessons(world, agent) == []
    assert third.commit()["lessons"] == 2
    assert lessons(world, agent) == ["Too long.", "Too short."]


@rule("JD-1", "TU-1")
def test_they_are_dropped_where_none_completes(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = world.begin(agent)
    reject(turn, "Too long.")
    turn.roll_back()
    learn(world, model, agent)
    assert (lessons(world, agent), model.names) == ([], ["candidates"])


@rule("JD-1", "EX-3")
def test_they_are_learned_also_when_no_messages_are_due_and_these_are_read_later_once(world):
    world, model = scripted(world)
    agent = world.configure(memory={"extraction": {"every": {"messages": 3}}})
    turn = say(world.begin(agent), "one", "two")
    reject(turn, "Too long.")
    turn.commit()
    assert (review_of(turn)["status"], lessons(world, agent), model.calls) == ("done", ["Too long."], [])
    say(world.begin(agent), "three").commit()
    assert model.shown == [["one", "two", "three"]]
    assert lessons(world, agent) == ["Too long."]


@rule("JD-1", "EX-1", "EX-2")
def test_a_lesson_is_compared_as_every_candidate_and_told_as_a_lesson(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Tone: cheerful.", kind="guidance")
    turn = say(world.begin(agent), "Hello.")
    reject(turn, "Tone: be formal.")
    model.candidates, model.decides = [fact("Parcels: late.")], replacing
    turn.commit()
    (asked,) = model.compared
    assert (asked["lesson"], asked["content"]) == (True, "Tone: be formal.")
    assert {e["source"]: e["decision"] for e in turn.transcript("review")} == {"lesson": "replace", "review": "add"}
    assert record(world, agent, old)["status"] == "SUPERSEDED"
    repeated = world.begin(agent)
    reject(repeated, "tone:  be FORMAL.")
    repeated.commit()
    assert decided(repeated) == [("skip", "same_text")]


@rule("JD-1", "EX-6")
@pytest.mark.parametrize("who", ["itself", "the next"])
def test_lessons_of_a_failed_review_are_learned_once_by_whoever_reads_its_turn(world, who):
    world, model = scripted(world)
    agent = world.configure()
    model.unavailable = 1
    failed = say(world.begin(agent, user_id="u-1"), "Hello.")
    reject(failed, "Too long.")
    failed.commit()
    assert (review_of(failed)["status"], lessons(world, agent)) == ("failed", [])
    if who == "itself":
        again(failed)
    learn(world, model, agent, user_id="u-2")
    with pytest.raises(Conflict):
        again(failed)
    learn(world, model, agent)
    assert lessons(world, agent) == ["Too long."]
    (kept,) = world.begin(agent).tool("search_memory")["memories"]
    assert record(world, agent, kept["id"])["about"] == ["u-1"]


@rule("JD-1", "EX-6")
def test_lessons_alone_that_failed_are_learned_by_the_next_review(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Tone: cheerful.")
    model.unavailable, model.decides = 1, adding
    failed = world.begin(agent)
    reject(failed, "Tone: be formal.")
    failed.commit()
    assert (review_of(failed)["status"], model.names) == ("failed", ["decisions"])
    learn(world, model, agent)
    assert lessons(world, agent) == ["Tone: be formal."]
    with pytest.raises(Conflict):
        again(failed)


@rule("JD-1", "CF-2")
def test_without_a_scope_to_write_nothing_is_learned(world):
    world, model = scripted(world)
    agent = world.configure(memory={"scope": {"read": ["session"], "write": []}})
    turn = world.begin(agent)
    reject(turn, "Too long.")
    assert turn.commit()["review"]["status"] == "none"
    assert model.calls == []


@rule("JD-1", "PV-1", "PV-4")
def test_what_a_preview_turn_is_told_is_learned_in_preview_alone(world):
    world, _ = scripted(world)
    agent = world.configure()
    turn = world.begin(agent, preview=True)
    reject(turn, "Too long.")
    turn.commit()
    assert world.begin(agent).search() == []
    assert world.begin(agent, preview=True).search() == saved_by(turn)


@rule("JD-1", "TU-5")
def test_lessons_come_before_what_the_model_proposes_where_there_is_no_room_for_all(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent), "Hello.")
    reject(turn, "Too long.")
    model.candidates, model.decides = [fact(f"Topic {n}: one.") for n in range(30)], skipping
    turn.commit()
    assert (lessons(world, agent), counts(turn)) == (["Too long."], (25, 0, 0, 6))
