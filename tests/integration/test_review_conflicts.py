"""Decisions whose targets others have changed meanwhile: taken again once, then dropped (TU-8)."""

import pytest
from people import discard
from reviewing import active, counts, decided, held, learn, record, review_of, say, scripted
from scripted_reviewer import adding, deleting, fact, replacing, retraction, skipping

from agent_memory.operations.commit import commit
from agent_memory.operations.review import review
from agent_memory.operations.turn_end import carry_out

rule = pytest.mark.rule


def reviewed(world, model, agent, candidate, decides, **turn):
    """A turn whose review is done and not committed yet."""
    model.candidates, model.decides = [candidate], decides
    begun = say(world.begin(agent, **turn), "Something was said.")
    with held(world):
        begun.commit()
    review(world.services, agent, begun.id)
    assert review_of(begun)["status"] == "pending"
    return begun


def go_on(turn):
    carry_out(turn.world.services, turn.agent, turn.id)


def replaced(world, agent, old, summary, **turn):
    by = world.begin(agent, **turn)
    new = by.add(summary, replaces=old)
    by.commit()
    return new


def deleted(world, agent, id):
    by = world.begin(agent)
    by.remove(id)
    by.commit()


def told(turn, *names):
    return [event for event in turn.transcript("review") if event.get("decision") in names]


@rule("TU-8", "EX-2")
def test_a_correction_whose_target_was_replaced_is_decided_again_on_what_took_its_place(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    turn = reviewed(world, model, agent, fact("Invoices: by mail."), replacing)
    newer = replaced(world, agent, old, "Invoices: by fax.")
    go_on(turn)
    assert model.names == ["candidates", "decisions", "decisions"]
    assert [near["id"] for near in model.compared[-1]["neighbours"]] == [newer]
    assert active(world, agent) == ["Invoices: by mail."]
    assert record(world, agent, newer)["replaced_by"] == turn.state()["memories"][-1]["id"]
    assert (counts(turn), turn.state()["conflicts"]) == ((0, 1, 0, 0), [])
    assert [event["memory_id"] for event in told(turn, "replace")] == [old, newer]


@rule("TU-8", "RC-6")
def test_a_correction_whose_target_was_deleted_is_decided_again_without_it(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    turn = reviewed(world, model, agent, fact("Invoices: by mail."), replacing)
    discard(world, agent, old)
    go_on(turn)
    assert model.names == ["candidates", "decisions"]  # nothing is near any more
    assert (active(world, agent), counts(turn)) == (["Invoices: by mail."], (1, 0, 0, 0))
    assert record(world, agent, turn.state()["memories"][0]["id"])["replaces"] == []


@rule("TU-8")
def test_a_retraction_whose_target_was_replaced_is_decided_again(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    turn = reviewed(world, model, agent, retraction("Invoices: not by post."), deleting)
    replaced(world, agent, old, "Invoices: by fax.")
    model.decides = skipping
    go_on(turn)
    assert (active(world, agent), counts(turn)) == (["Invoices: by fax."], (0, 0, 0, 1))
    assert record(world, agent, old)["status"] == "SUPERSEDED"


@rule("TU-8")
@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_what_changes_a_second_time_is_skipped_and_said_so(world, change):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    turn = reviewed(world, model, agent, fact("Invoices: by mail."), replacing)
    newer = replaced(world, agent, old, "Invoices: by fax.")
    assert commit(world.services, agent, turn.id).look_again
    review(world.services, agent, turn.id)
    if change == "replaced":
        replaced(world, agent, newer, "Invoices: by pigeon.")
    else:
        deleted(world, agent, newer)
    assert commit(world.services, agent, turn.id).by_this_call
    assert len(model.calls) == 3
    state = turn.state()
    assert (state["status"], state["review"]["status"], counts(turn)) == ("committed", "done", (0, 0, 0, 1))
    last = turn.transcript("review")[-1]
    assert (last["decision"], last["reason"], last["memory_id"]) == ("skip", "target_changed", newer)
    assert active(world, agent) == (["Invoices: by pigeon."] if change == "replaced" else [])
    assert (state["memories"], state["conflicts"]) == ([], [])
    assert world.begin(agent).search("mail") == world.begin(agent).search("pigeon", limit=5)


@rule("TU-8", "EX-1")
def test_the_other_decisions_of_the_review_stand(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    world.remember(agent, "Tone: formal.")
    model.candidates = [fact("Invoices: by mail."), fact("Parcels: late."), fact("Tone: cheerful.")]
    model.decides = replacing
    turn = say(world.begin(agent), "Something was said.")
    with held(world):
        turn.add("By a tool.")
        turn.commit()
    review(world.services, agent, turn.id)
    deleted(world, agent, old)
    model.decides = adding
    go_on(turn)
    assert sorted(active(world, agent)) == ["By a tool.", "Invoices: by mail.", "Parcels: late.", "Tone: cheerful."]
    assert counts(turn) == (2, 1, 0, 0)


@rule("TU-8", "EX-6")
@pytest.mark.parametrize("fails", ["nonsense", "unavailable"])
def test_where_it_cannot_be_decided_again_it_is_dropped_and_the_review_is_done(world, fails):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.")
    model.candidates = [fact("Invoices: by mail."), fact("Parcels: late.")]
    turn = reviewed(world, model, agent, fact("Invoices: by mail."), replacing)
    replaced(world, agent, old, "Invoices: by fax.")
    if fails == "nonsense":
        model.answers = ["?", "?"]
    else:
        model.unavailable = 1
    go_on(turn)
    assert (turn.state()["status"], review_of(turn)["status"], counts(turn)) == ("committed", "done", (0, 0, 0, 1))
    assert turn.transcript("review")[-1]["reason"] == "target_changed"
    assert active(world, agent) == ["Invoices: by fax."]


@rule("TU-8", "PV-3", "PV-4")
def test_of_a_preview_turn_a_target_that_another_preview_turn_hid_is_decided_again(world):
    world, model = scripted(world)
    agent = world.configure()
    live = world.remember(agent, "Invoices: by post.")
    turn = reviewed(world, model, agent, retraction("Invoices: not by post."), deleting, preview=True)
    newer = replaced(world, agent, live, "Invoices: by fax.", preview=True)
    go_on(turn)
    assert [near["id"] for near in model.compared[-1]["neighbours"]] == [newer]
    assert record(world, agent, newer)["status"] == "DELETED"
    assert record(world, agent, live)["version"] == 1


@rule("TU-8", "EX-2")
@pytest.mark.parametrize("how", ["expired", "deleted"])
def test_a_neighbour_that_goes_while_the_model_thinks_is_no_target_any_more(world, how):
    world, model = scripted(world)
    agent = world.configure()
    ends = {"expires_at": "2026-05-12T12:00:00Z"} if how == "expired" else {}
    old = world.remember(agent, "Invoices: by post.", **ends)
    model.before_deciding = (
        (lambda: world.clock.advance(hours=6)) if how == "expired" else (lambda: deleted(world, agent, old))
    )
    turn = learn(world, model, agent, fact("Invoices: by mail."), decides=replacing)
    assert (turn.state()["status"], review_of(turn)["status"]) == ("committed", "done")
    assert active(world, agent) == ["Invoices: by mail."]
    assert ("add", "no_neighbour") in decided(turn)
    assert record(world, agent, turn.state()["memories"][0]["id"])["replaces"] == []


@rule("TU-8")
def test_a_record_saved_while_the_model_thinks_survives(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    model.before_deciding = lambda: world.remember(agent, "Invoices: in two copies.")
    learn(world, model, agent, fact("Invoices: by mail."), decides=replacing)
    assert sorted(active(world, agent)) == ["Invoices: by mail.", "Invoices: in two copies."]


@rule("TU-8", "TU-7")
def test_of_two_reviews_that_replace_one_record_both_corrections_are_weighed(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    first = reviewed(world, model, agent, fact("Invoices: by mail."), replacing)
    second = reviewed(world, model, agent, fact("Invoices: by fax."), replacing)
    go_on(second)
    go_on(first)
    assert active(world, agent) == ["Invoices: by mail."]
    assert (counts(first), counts(second)) == ((0, 1, 0, 0), (0, 1, 0, 0))
