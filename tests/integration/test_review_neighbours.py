"""What a review compares a candidate with: near records of the turn's own places, and of nobody else's (EX-1, EX-2)."""

import pytest
from people import publish
from reviewing import active, counts, decided, learn, record, saved_by, say, scripted
from scripted_reviewer import adding, fact, replacing, retraction

rule = pytest.mark.rule

WHO = {"user_id": "u-1", "workflow_id": "w-1"}
OTHERS = {
    "session": {"session": "s1b", **WHO},
    "user": {"session": "s1", "user_id": "u-10", "workflow_id": "w-1"},
    "workflow": {"session": "s1", "user_id": "u-1", "workflow_id": "w-10"},
}


def shown(model):
    """The ids that the model saw in its last call for decisions."""
    return [near["id"] for near in model.compared[-1]["neighbours"]] if model.compared else []


@rule("EX-1", "SC-1", "SC-2")
@pytest.mark.parametrize("scope", OTHERS)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_near_record_of_somebody_else_is_never_shown_to_the_model(world, scope, indexed):
    world, model = scripted(world)
    agent = world.configure()
    other = dict(OTHERS[scope])
    world.remember(agent, "Invoices: secret.", other.pop("session"), turn=other, scope=scope)
    if indexed:
        world.index_all()
    turn = learn(world, model, agent, fact("Invoices: by mail.", scope=scope), **WHO)
    assert model.names == ["candidates"]
    assert decided(turn) == [("add", "no_neighbour")]


@rule("EX-1", "SC-1")
def test_a_near_record_of_another_agent_is_never_shown_to_the_model(world):
    world, model = scripted(world)
    stranger, agent = world.configure(), world.configure()
    for scope in ("session", "workflow", "user", "agent"):
        world.remember(stranger, "Invoices: secret.", turn=WHO, scope=scope)
    world.index_all()
    learn(world, model, agent, fact("Invoices: by mail."), retraction("Invoices: no more."), **WHO)
    assert model.names == ["candidates"]


@rule("EX-1", "SC-2")
def test_with_the_index_down_it_is_compared_with_the_same(world):
    world, model = scripted(world)
    agent = world.configure()
    mine = world.remember(agent, "Invoices: by post.", turn=WHO, scope="user")
    world.remember(agent, "Invoices: secret.", turn={**WHO, "user_id": "u-2"}, scope="user")
    world.index_all()
    world.index.down = True
    learn(world, model, agent, fact("Invoices: by mail."), **WHO)
    assert shown(model) == [mine]


@rule("EX-1", "PV-1", "PV-4")
def test_a_preview_record_is_never_shown_to_the_review_of_a_live_turn(world):
    world, model = scripted(world)
    agent = world.configure()
    learn(world, model, agent, fact("Invoices: by mail."), preview=True)
    world.index_all()
    turn = learn(world, model, agent, fact("Invoices: by fax."))
    assert decided(turn) == [("add", "no_neighbour")]
    assert model.compared == []


@rule("EX-1", "PV-2", "PV-3")
def test_the_review_of_a_preview_turn_sees_live_records_and_changes_none(world):
    world, model = scripted(world)
    agent = world.configure()
    (live,) = saved_by(learn(world, model, agent, fact("Invoices: by post.")))
    (trial,) = saved_by(learn(world, model, agent, fact("Invoices: by mail."), decides=replacing, preview=True))
    assert shown(model) == [live]
    assert (record(world, agent, trial)["preview"], record(world, agent, trial)["replaces"]) == (True, [live])
    assert record(world, agent, live)["version"] == 1
    assert world.recall(agent, "Invoices") == [live]
    assert world.recall(agent, "Invoices", preview=True) == [trial]
    learn(world, model, agent, fact("Invoices: by fax."), decides=adding, preview=True)
    assert shown(model) == [trial]  # what a preview record replaces is not seen any more


@rule("EX-1", "EX-9")
def test_a_platform_constraint_is_shown_though_the_agent_reads_no_platform(world):
    world, model = scripted(world)
    agent = world.configure()
    bound = publish(world, "Refunds: need approval.", kind="constraint")
    turn = learn(world, model, agent, fact("Refunds: need none."), decides=replacing)
    assert bound in shown(model)
    assert decided(turn) == [("skip", "protected")]


@rule("EX-1", "RC-5", "LC-1")
def test_what_is_superseded_deleted_or_expired_is_no_neighbour(world):
    world, model = scripted(world)
    agent = world.configure()
    expiring = "2026-05-12T11:00:00Z"
    for summary, fields in {"A: one.": {"expires_at": expiring}, "B: two.": {}, "C: three.": {}}.items():
        world.remember(agent, summary, **fields)
    turn = world.begin(agent)
    turn.remove(turn.search("B")[0])
    newer = turn.add("Unlike it.", replaces=turn.search("C")[0])
    turn.commit()
    world.clock.advance(hours=6)
    learn(world, model, agent, fact("A: 1."), fact("B: 2."), fact("C: 3."))
    assert model.names == ["candidates"]
    assert newer in world.recall(agent, "Unlike it")


@rule("EX-2")
def test_at_most_the_five_nearest_are_shown_nearest_first_with_their_cosine(world):
    world, model = scripted(world)
    agent = world.configure()
    for n in range(8):
        world.remember(agent, f"Invoices: in manner {n}.")
    world.remember(agent, "Parcels: on Mondays.")
    world.index_all()
    turn = learn(world, model, agent, fact("Invoices: by mail."))
    cosines = [near["cosine"] for near in model.compared[-1]["neighbours"]]
    assert len(cosines) == 5
    assert cosines == sorted(cosines, reverse=True)
    (event,) = turn.transcript("review")
    assert [near["id"] for near in event["neighbours"]] == shown(model)
    assert [near["cosine"] for near in event["neighbours"]] == cosines


@rule("EX-2", "RC-3")
def test_the_holder_of_the_candidates_key_is_a_neighbour_however_unlike_it_is(world):
    world, model = scripted(world)
    agent = world.configure()
    holder = world.remember(agent, "Nothing alike at all.", memory_key="invoices")
    turn = learn(world, model, agent, fact("Invoices: by mail.", memory_key="invoices"), decides=replacing)
    assert [(near["id"], near["cosine"]) for near in model.compared[-1]["neighbours"]] == [(holder, None)]
    assert counts(turn) == (0, 1, 0, 0)
    assert record(world, agent, saved_by(turn)[0])["memory_key"] == "invoices"
    elsewhere = learn(world, model, agent, fact("Unlike it.", memory_key="invoices", scope="agent"))
    assert decided(elsewhere) == [("add", "no_neighbour")]  # a key is one of its scope and owner
    assert len(active(world, agent)) == 2


@rule("EX-1", "TU-3")
def test_what_the_turn_itself_has_saved_by_tools_is_compared_with(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = world.begin(agent)
    own = turn.add("Invoices: by post.")
    gone = turn.add("Parcels: on Mondays.")
    turn.remove(gone)
    model.candidates, model.decides = [fact("Invoices: by mail."), fact("Parcels: on Tuesdays.")], replacing
    say(turn, "By mail, please.").commit()
    assert shown(model) == [own]
    assert active(world, agent) == ["Invoices: by mail.", "Parcels: on Tuesdays."]
    assert record(world, agent, own)["status"] == "SUPERSEDED"
