"""What is told again is confirmed, and so grows no older (UP-1)."""

from datetime import timedelta

import pytest
from people import publish
from reviewing import active, counts, learn, record, scripted
from scripted_reviewer import fact, replacing, retraction, skipping

from agent_memory.domain.times import written
from agent_memory.operations.memories import versions

rule = pytest.mark.rule

FADING = {"decay": {"fact": {"half_life": "10d"}}, "min_confidence": 0.4}
READ_ONLY = {"scope": {"read": ["session", "agent"], "write": ["session"]}}


@rule("UP-1", "EX-1")
@pytest.mark.parametrize("words", ["invoices: by  POST.", "Invoices: by letter."])
def test_a_fact_that_is_told_again_is_confirmed_by_a_version_of_its_own(world, words):
    world, model = scripted(world)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.", priority=70)
    before = record(world, agent, saved)
    world.clock.advance(days=3)
    turn = learn(world, model, agent, fact(words), decides=skipping)
    after = record(world, agent, saved)
    assert (before["confirmed_at"], before["version"], after["version"]) == (None, 1, 2)
    assert after["confirmed_at"] == after["written_at"] > before["written_at"]
    changed = {"version", "confirmed_at", "written_at", "written_by"}
    assert {name: after[name] for name in after if name not in changed} == {
        name: before[name] for name in before if name not in changed
    }
    assert after["written_by"]["turn_id"] == turn.id
    assert (turn.state()["memories"], counts(turn)) == ([], (0, 0, 0, 1))


@rule("UP-1")
def test_its_confidence_fades_from_then_on(world):
    world, model = scripted(world)
    agent = world.configure(memory=FADING)
    saved = world.remember(agent, "Invoices: by post.")
    forgotten = world.remember(agent, "Parcels: on Mondays.")
    for _ in range(3):
        world.clock.advance(days=9)
        learn(world, model, agent, fact("Invoices: by post."))
    assert world.recall(agent, "invoices parcels") == [saved]
    world.clock.advance(days=14)
    assert world.recall(agent, "invoices parcels") == []
    assert set(world.begin(agent).search()) == {saved, forgotten}


@rule("UP-1", "TU-1")
def test_a_turn_that_does_not_commit_confirms_nothing(world):
    world, model = scripted(world)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.")
    model.candidates = [fact("Invoices: by post.")]
    world.begin(agent).roll_back()
    assert record(world, agent, saved)["version"] == 1


@rule("UP-1", "EX-1")
@pytest.mark.parametrize("how", ["replaced", "taken back", "never near"])
def test_what_is_corrected_or_only_mentioned_is_not_confirmed(world, how):
    world, model = scripted(world)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.")
    match how:
        case "replaced":
            learn(world, model, agent, fact("Invoices: by post."), fact("Invoices: by mail."), decides=replacing)
            assert record(world, agent, saved)["status"] == "SUPERSEDED"
            assert active(world, agent) == ["Invoices: by mail."]
        case "taken back":
            learn(world, model, agent, retraction("Invoices: by post."), decides=skipping)
            assert record(world, agent, saved)["version"] == 1
        case _:
            learn(world, model, agent, fact("Parcels: on Mondays."))
            assert record(world, agent, saved)["confirmed_at"] is None


@rule("UP-1", "EX-9")
def test_constraints_platform_records_and_what_is_not_written_are_not_confirmed(world):
    world, model = scripted(world)
    scopes = {"read": ["session", "agent", "platform"], "write": ["session", "platform"]}
    agent = world.configure(memory={"kinds": ["fact", "constraint"]})
    common = world.remember(agent, "Common: known.", scope="agent")
    world.configure(agent=agent, memory={"kinds": ["fact", "constraint"], "scope": scopes})
    bound = world.remember(agent, "Bound: known.", kind="constraint")
    public = publish(world, "Public: known.")
    turn = learn(world, model, agent, *(fact(f"{word}: known.") for word in ("Common", "Bound", "Public")))
    assert counts(turn) == (0, 0, 0, 3)
    for owner, id in ((agent, common), (agent, bound), (None, public)):
        assert record(world, owner, id)["version"] == 1


@rule("UP-1", "PV-3", "PV-4")
def test_each_mode_confirms_its_own(world):
    world, model = scripted(world)
    agent = world.configure()
    live = world.remember(agent, "Invoices: by post.")
    trial = world.remember(agent, "Parcels: on Mondays.", turn={"preview": True})
    both = fact("Invoices: by post."), fact("Parcels: on Mondays.")
    learn(world, model, agent, *both, preview=True)
    assert (record(world, agent, live)["version"], record(world, agent, trial)["version"]) == (1, 2)
    learn(world, model, agent, both[0])
    assert (record(world, agent, live)["version"], record(world, agent, trial)["version"]) == (2, 2)


@rule("UP-1", "TU-5")
def test_confirming_is_no_change_and_takes_no_room(world):
    world, model = scripted(world)
    agent = world.configure()
    kept = [world.remember(agent, f"Topic {n}: one.") for n in range(20)]
    told = [fact(f"Topic {n}: one.") for n in range(20)]
    turn = learn(world, model, agent, *told, *(fact(f"Topic {n}: new.") for n in range(20, 45)))
    assert counts(turn) == (25, 0, 0, 20)
    confirmed = [record(world, agent, id)["version"] for id in kept]
    assert confirmed.count(2) + confirmed.count(1) == 20


@rule("UP-1", "RC-5")
def test_what_is_told_in_every_turn_grows_by_a_version_a_day_at_most_once_it_has_many(machine):
    world, model = scripted(machine)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.")
    for _ in range(60):
        learn(world, model, agent, fact("Invoices: by post."))
    assert record(world, agent, saved)["version"] == 50
    for _ in range(3):
        world.clock.advance(days=1)
        learn(world, model, agent, fact("Invoices: by post."))
    assert record(world, agent, saved)["version"] == 53
    told = record(world, agent, saved)["confirmed_at"]
    assert told >= written(world.clock.moment - timedelta(hours=1))


@rule("UP-1", "TU-8")
def test_a_record_that_goes_before_the_commit_is_not_brought_back_by_being_confirmed(world):
    world, model = scripted(world)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.")

    def goes():
        turn = world.begin(agent)
        turn.remove(saved)
        turn.commit()

    model.before_deciding = goes
    learn(world, model, agent, fact("Invoices: by letter."), decides=skipping)
    assert (record(world, agent, saved)["status"], record(world, agent, saved)["version"]) == ("DELETED", 2)


@rule("UP-1", "RC-5")
def test_a_record_that_is_confirmed_and_replaced_at_once_has_a_version_for_each(world):
    world, model = scripted(world)
    agent = world.configure()
    saved = world.remember(agent, "Invoices: by post.")
    several = fact("Invoices: by post."), fact("Invoices: by mail.")
    learn(world, model, agent, *several, decides=replacing)
    found = versions(world.services, agent, saved)["versions"]
    assert [one["status"] for one in found] == ["SUPERSEDED", "ACTIVE", "ACTIVE"]
    assert [one["version"] for one in found] == [3, 2, 1]
