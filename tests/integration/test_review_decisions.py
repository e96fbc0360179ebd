"""What a review makes of candidates: a record, one in place of another, a deletion, or nothing (EX-1, EX-5, EX-9)."""

import pytest
from people import publish
from reviewing import active, counts, decided, learn, record, saved_by, scripted
from scripted_reviewer import adding, deleting, fact, replacing, retraction, skipping

rule = pytest.mark.rule

WHO = {"user_id": "u-1", "workflow_id": "w-1"}


@rule("EX-1", "TU-1")
def test_a_fact_is_added_and_is_there_from_the_commit_on(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = learn(world, model, agent, fact("Invoices: by post.", content="Said in May."), user_id="u-1")
    state = turn.state()
    assert (state["status"], state["review"]["status"], counts(turn)) == ("committed", "done", (1, 0, 0, 0))
    (saved,) = saved_by(turn)
    kept = record(world, agent, saved)
    assert (kept["summary"], kept["content"], kept["scope"], kept["session_id"]) == (
        "Invoices: by post.",
        "Said in May.",
        "session",
        "s1",
    )
    assert (kept["source"], kept["about"], kept["priority"], kept["pinned"]) == ("review", ["u-1"], 50, False)
    assert kept["written_by"]["turn_id"] == turn.id
    assert world.recall(agent, "invoices") == [saved]


@rule("EX-1", "RC-5")
def test_a_correction_takes_the_place_of_what_it_corrects(world):
    world, model = scripted(world)
    agent = world.configure()
    (old,) = saved_by(learn(world, model, agent, fact("Invoices: by post.")))
    turn = learn(world, model, agent, fact("Invoices: by mail."), decides=replacing)
    (new,) = saved_by(turn)
    assert counts(turn) == (0, 1, 0, 0)
    assert (record(world, agent, old)["status"], record(world, agent, old)["replaced_by"]) == ("SUPERSEDED", new)
    assert record(world, agent, new)["replaces"] == [old]
    assert world.recall(agent, "invoices") == [new]


@rule("EX-1")
def test_a_contradiction_leaves_exactly_the_new_fact_and_cannot_delete(world):
    world, model = scripted(world)
    agent = world.configure()
    learn(world, model, agent, fact("Food: loves Chinese food."))
    turn = learn(world, model, agent, fact("Food: hates Chinese food."), decides=deleting)
    assert active(world, agent) == ["Food: loves Chinese food."]  # a fact deletes nothing, whatever the model says
    assert decided(turn) == [("skip", "unreadable")]
    learn(world, model, agent, fact("Food: hates Chinese food."), decides=replacing)
    assert active(world, agent) == ["Food: hates Chinese food."]
    assert world.begin(agent).search("Chinese food", limit=50) == world.recall(agent, "Chinese food")


@rule("EX-1")
def test_a_retraction_deletes_or_does_nothing_and_is_never_kept_itself(world):
    world, model = scripted(world)
    agent = world.configure()
    (old,) = saved_by(learn(world, model, agent, fact("Invoices: by post.")))
    for wrong in (adding, replacing):
        learn(world, model, agent, retraction("Invoices: not by post."), decides=wrong)
        assert active(world, agent) == ["Invoices: by post."]
    nothing_like_it = learn(world, model, agent, retraction("Parcels: not on Mondays."))
    assert decided(nothing_like_it) == [("skip", "no_neighbour")]
    turn = learn(world, model, agent, retraction("Invoices: by post."), decides=deleting)  # to the letter
    assert (counts(turn), active(world, agent)) == ((0, 0, 1, 0), [])
    assert record(world, agent, old)["status"] == "DELETED"


@rule("EX-1")
def test_what_is_deleted_does_not_come_back_by_a_later_review(world):
    world, model = scripted(world)
    agent = world.configure()
    learn(world, model, agent, fact("Invoices: by post."), fact("Parcels: on Mondays."))
    gone = world.begin(agent)
    gone.remove(gone.search("Invoices")[0])
    gone.commit()
    learn(world, model, agent, fact("Parcels: on Mondays."), retraction("Invoices: by post."), decides=skipping)
    assert active(world, agent) == ["Parcels: on Mondays."]


@rule("EX-1", "EX-9")
def test_two_decisions_on_one_record_take_it_away_once(world):
    world, model = scripted(world)
    agent = world.configure()
    (old,) = saved_by(learn(world, model, agent, fact("Invoices: by post.")))
    turn = learn(world, model, agent, fact("Invoices: by mail."), fact("Invoices: by fax."), decides=replacing)
    assert active(world, agent) == ["Invoices: by fax."]
    assert [one[0] for one in decided(turn)] == ["replace", "replace"]  # of what took its place (TU-8)
    twice = retraction("Invoices: not by fax."), retraction("Invoices: never by fax.")
    assert counts(learn(world, model, agent, *twice, decides=deleting)) == (0, 0, 1, 1)
    assert record(world, agent, old)["version"] == 2


@rule("EX-1", "CF-2")
def test_a_scope_that_is_only_read_is_compared_with_and_never_changed(world):
    world, model = scripted(world)
    agent = world.configure()
    common = world.remember(agent, "Invoices: by post.", scope="agent")
    world.configure(agent=agent, memory={"scope": {"read": ["session", "agent"], "write": ["session"]}})
    for decides in (replacing, deleting):
        candidate = fact if decides is replacing else retraction
        turn = learn(world, model, agent, candidate("Invoices: by mail."), decides=decides)
        assert model.compared[-1]["neighbours"][0] == {
            "id": common,
            "summary": "Invoices: by post.",
            "content": None,
            "kind": "fact",
            "scope": "agent",
            "cosine": model.compared[-1]["neighbours"][0]["cosine"],
            "writable": False,
        }
        assert decided(turn) == [("skip", "not_writable")]
    assert record(world, agent, common)["version"] == 1


@rule("EX-1", "CF-2")
def test_a_scope_that_is_written_and_not_read_is_compared_with_and_may_be_replaced(world):
    world, model = scripted(world)
    agent = world.configure(memory={"scope": {"read": ["session"], "write": ["session", "agent"]}})
    (old,) = saved_by(learn(world, model, agent, fact("Invoices: by post.", scope="agent")))
    assert world.recall(agent, "Invoices") == []
    world.index_all()
    turn = learn(world, model, agent, fact("Invoices: by mail.", scope="agent"), decides=replacing)
    assert counts(turn) == (0, 1, 0, 0)
    assert record(world, agent, old)["status"] == "SUPERSEDED"
    assert active(world, agent) == ["Invoices: by mail."]
    learn(world, model, agent, retraction("Invoices: not by mail."), decides=deleting)
    assert active(world, agent) == []


@rule("EX-5", "SC-3")
def test_a_scope_that_is_not_written_gives_way_to_the_default_one_and_one_without_an_id_is_skipped(world):
    world, model = scripted(world)
    agent = world.configure(memory={"scope": {"read": ["session"], "write": ["session", "user"]}})
    given = {"A: one.": "agent", "B: two.": "workflow", "C: three.": "user", "D: four.": None, "E: five.": "nonsense"}
    turn = learn(world, model, agent, *(fact(summary, scope=scope) for summary, scope in given.items()))
    assert model.calls[0].asked["scopes"].keys() == {"session"}
    places = {record(world, agent, id)["summary"]: record(world, agent, id)["scope"] for id in saved_by(turn)}
    assert places == dict.fromkeys(["A: one.", "B: two.", "D: four.", "E: five."], "session")
    assert ("skip", "no_id") in decided(turn)


@rule("EX-5", "SC-4")
def test_what_a_review_saves_in_platform_memory_waits_for_a_person_and_replaces_nothing(world):
    world, model = scripted(world)
    scopes = {"read": ["session", "platform"], "write": ["session", "platform"]}
    agent = world.configure(memory={"scope": scopes})
    old = publish(world, "Refunds: within 14 days.")
    turn = learn(world, model, agent, fact("Parcels: by noon.", scope="platform"))
    (proposal,) = turn.state()["memories"]
    assert (proposal["status"], counts(turn)) == ("PENDING", (1, 0, 0, 0))
    assert world.recall(agent, "Parcels") == [old]
    turn = learn(world, model, agent, fact("Refunds: within 30 days.", scope="platform"), decides=replacing)
    assert decided(turn) == [("skip", "protected")]
    assert record(world, None, old)["version"] == 1


@rule("EX-9")
@pytest.mark.parametrize("candidate", [fact, retraction])
def test_a_constraint_is_neither_replaced_nor_deleted(world, candidate):
    world, model = scripted(world)
    agent = world.configure(memory={"kinds": ["fact", "constraint"]})
    bound = world.remember(agent, "Refunds: above 100 need approval.", kind="constraint")
    decides = replacing if candidate is fact else deleting
    turn = learn(world, model, agent, candidate("Refunds: need none."), decides=decides)
    assert decided(turn) == [("skip", "protected")]
    assert record(world, agent, bound)["version"] == 1


@rule("EX-9", "RC-3")
@pytest.mark.parametrize("kind", ["fact", "constraint"])
def test_a_constraint_is_not_replaced_by_way_of_its_key_either(world, kind):
    world, model = scripted(world)
    agent = world.configure(memory={"kinds": ["fact", "constraint"]})
    bound = world.remember(agent, "Refunds: need approval.", kind="constraint", memory_key="refunds")
    turn = learn(world, model, agent, fact("Anything goes.", memory_key="refunds") | {"kind": kind}, decides=adding)
    assert [one[0] for one in decided(turn)] == ["skip"]
    assert record(world, agent, bound)["status"] == "ACTIVE"
    assert active(world, agent) == ["Refunds: need approval."]


@rule("EX-9")
def test_what_replaces_a_record_takes_over_what_the_candidate_does_not_state(world):
    world, model = scripted(world)
    labels = {name: {"number": n, "description": "One."} for n, name in enumerate(("customer", "town"), 5)}
    agent = world.configure(memory={"labels": labels, "pinned": {"max_tokens": 100}})
    old = world.remember(
        agent,
        "Invoices: by post.",
        labels={"customer": "1187", "town": "Ulm"},
        memory_key="invoices",
        priority=80,
        pinned=True,
    )
    moved = fact("Invoices: by mail.", labels={"town": "Bonn"})
    (new,) = saved_by(learn(world, model, agent, moved, decides=replacing))
    kept = record(world, agent, new)
    assert (kept["labels"], kept["memory_key"]) == ({"customer": "1187", "town": "Bonn"}, "invoices")
    assert (kept["priority"], kept["pinned"], kept["replaces"]) == (80, True, [old])
    stated = fact("Invoices: by fax.", priority=10, memory_key="fax")
    (newest,) = saved_by(learn(world, model, agent, stated, decides=replacing))
    assert (record(world, agent, newest)["priority"], record(world, agent, newest)["memory_key"]) == (10, "fax")


@rule("EX-9", "PN-2")
def test_a_pin_that_does_not_fit_any_more_is_left_and_a_review_pins_nothing_by_itself(world):
    world, model = scripted(world)
    agent = world.configure(memory={"pinned": {"max_tokens": 20}})
    world.remember(agent, "Invoices: by post.", pinned=True)
    longer = "Invoices: by mail, and a copy on paper to the accounts department in the annex."
    (new,) = saved_by(learn(world, model, agent, fact(longer), decides=replacing))
    assert record(world, agent, new)["pinned"] is False
    (other,) = saved_by(learn(world, model, agent, fact("Parcels: on Mondays.", pinned=True)))
    assert record(world, agent, other)["pinned"] is False
    assert world.begin(agent).recall("x")["pinned"] == []


@rule("EX-1")
def test_a_correction_whose_scope_is_not_stated_stays_where_the_record_was(world):
    world, model = scripted(world)
    agent = world.configure()
    old = world.remember(agent, "Invoices: by post.", turn=WHO, scope="user")
    (new,) = saved_by(learn(world, model, agent, fact("Invoices: by mail."), decides=replacing, **WHO))
    assert (record(world, agent, new)["scope"], record(world, agent, new)["user_id"]) == ("user", "u-1")
    narrower = learn(world, model, agent, fact("Invoices: by fax.", scope="session"), decides=replacing, **WHO)
    assert decided(narrower) == [("skip", "broader_target")]
    assert record(world, agent, old)["replaced_by"] == new
