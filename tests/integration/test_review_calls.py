"""How often a review asks its model, what that costs, and what it does without asking (EX-2, RL-6)."""

from collections import Counter

import pytest
from reviewing import active, again, counts, decided, learn, reject, review_of, say, scripted
from scripted_reviewer import adding, fact, replacing, retraction, skipping
from world import with_services

from agent_memory.domain.ports import Said
from agent_memory.operations.usage import usage
from agent_memory.store.records import Records

rule = pytest.mark.rule

WINDOW = 24_000 * 4  # characters


def spent(world, agent):
    """Calls and tokens by purpose."""
    return {one["key"]: one for one in usage(world.services, agent, by="purpose")["usage"]}


@rule("EX-2", "EX-3")
def test_a_turn_in_which_nobody_said_anything_is_committed_at_once_without_a_call(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = world.begin(agent)
    turn.add("By a tool.")
    assert turn.commit()["review"]["status"] == "none"
    assert (model.calls, world.ends.started) == ([], [])


@rule("EX-2", "CF-1", "CF-2")
@pytest.mark.parametrize("memory", [{"enabled": False}, {"scope": {"read": ["session"], "write": []}}])
def test_no_review_runs_where_nothing_may_be_written(world, memory):
    world, model = scripted(world)
    agent = world.configure(memory=memory)
    turn = learn(world, model, agent, fact("Invoices: by post."))
    assert (turn.state()["status"], review_of(turn)["status"], model.calls) == ("committed", "none", [])


@rule("EX-2")
def test_a_candidate_without_a_near_neighbour_is_added_without_a_second_call(world):
    world, model = scripted(world)
    agent = world.configure()
    learn(world, model, agent, fact("Parcels: on Mondays."))
    turn = learn(world, model, agent, fact("Invoices: by post."))
    assert model.names == ["candidates"] * 2
    assert (decided(turn), counts(turn)) == ([("add", "no_neighbour")], (1, 0, 0, 0))


@rule("EX-2")
def test_one_call_decides_on_all_that_have_a_neighbour(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    world.remember(agent, "Parcels: on Mondays.")
    model.calls.clear()
    turn = learn(
        world,
        model,
        agent,
        fact("Invoices: by mail."),
        fact("Tone: formal."),
        fact("Parcels: on Tuesdays."),
        decides=replacing,
    )
    assert model.names == ["candidates", "decisions"]
    assert [one["candidate"] for one in model.compared] == [0, 2]
    assert counts(turn) == (1, 2, 0, 0)


@rule("EX-2", "EX-6")
def test_there_are_at_most_four_calls_two_of_them_corrections(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    good = '{"candidates": [{"retracts": false, "summary": "Invoices: by mail.", "kind": "fact"}]}'
    model.answers = ["Sorry.", good, "{}"]
    turn = learn(world, model, agent, decides=replacing)
    assert model.names == ["candidates", "candidates", "decisions", "decisions"]
    assert [call.correction.answer if call.correction else None for call in model.calls] == [
        None,
        "Sorry.",
        None,
        "{}",
    ]
    assert counts(turn) == (0, 1, 0, 0)
    assert len(turn.transcript("usage")) == 2 + 4  # two embeddings: of what was looked for, and of the new record


@rule("EX-2")
@pytest.mark.parametrize("again", ["invoices:  BY post.", "Ｉnvoices: by\u3000post.", "Invoices:\nby post."])
def test_what_is_there_already_is_skipped_without_a_call(world, again):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    summary, _, content = again.partition("\n")
    turn = learn(world, model, agent, fact(summary, content=content or None))
    assert model.names == ["candidates"]
    assert (decided(turn), counts(turn)) == ([("skip", "same_text")], (0, 0, 0, 1))
    assert active(world, agent) == ["Invoices: by post."]


@rule("EX-2", "EX-1")
def test_a_candidate_that_is_given_twice_is_kept_once(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = learn(world, model, agent, fact("Invoices: by post."), fact("invoices: by  post."), fact("Parcels: late."))
    assert active(world, agent) == ["Invoices: by post.", "Parcels: late."]
    assert counts(turn) == (2, 0, 0, 1)


@rule("EX-2", "JD-1")
def test_where_lessons_alone_are_due_the_first_call_is_not_made(world):
    world, model = scripted(world)
    agent = world.configure(memory={"extraction": {"every": {"messages": 50}}})
    world.remember(agent, "Tone: cheerful.")
    turn = say(world.begin(agent), "Hello.")
    reject(turn, "Tone: be formal.")
    turn.commit()
    assert model.names == ["decisions"]
    assert model.compared[0]["lesson"] is True
    lone = world.begin(agent)
    reject(lone, "Greetings: none.")
    lone.commit()
    assert (model.names, counts(lone)) == (["decisions"], (1, 0, 0, 0))


@rule("EX-2", "RL-6")
def test_every_call_of_the_model_and_of_the_embedder_is_recorded_and_summed(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    before = spent(world, agent)
    turn = learn(world, model, agent, fact("Invoices: by mail."), decides=replacing)
    told = turn.transcript("usage")
    asked = [one for one in told if one["purpose"] == "memory"]
    assert {(one["model"], one["input_tokens"], one["output_tokens"], one["limited"]) for one in asked} == {
        ("scripted-1", 90, 12, False)
    }
    assert {one["for"] for one in told} == {"review"}
    assert [one["purpose"] for one in told].count("embed") == 2
    after = spent(world, agent)
    assert after["memory"] == {"key": "memory", "calls": 2, "input_tokens": 180, "output_tokens": 24}
    assert after["embed"]["calls"] == before["embed"]["calls"] + 2


@rule("EX-2", "EX-6", "RL-6")
def test_a_call_that_came_to_nothing_is_recorded_too(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    model.before_deciding = lambda: setattr(model, "unavailable", 1)
    turn = learn(world, model, agent, fact("Invoices: by mail."))
    assert review_of(turn)["status"] == "failed"
    assert spent(world, agent)["memory"]["calls"] == 1
    model.answers = ["?", Said("", is_cut=True)]
    again(turn)
    assert spent(world, agent)["memory"]["calls"] == 3


@rule("EX-2")
def test_a_long_conversation_is_reviewed_in_windows_each_of_which_counts_as_a_review(world):
    world, model = scripted(world)
    agent = world.configure()
    texts = [f"{n} " + "x" * (WINDOW // 3) for n in range(6)]
    model.candidates = lambda asked: [fact(f"Part {asked['messages'][0]['text'][0]}: read.")]
    turn = say(world.begin(agent), *texts)
    turn.commit()
    assert [text for window in model.shown for text in window] == texts
    assert [len(window) for window in model.shown] == [2, 2, 2]
    assert active(world, agent) == ["Part 0: read.", "Part 2: read.", "Part 4: read."]
    assert (turn.state()["status"], counts(turn)) == ("committed", (3, 0, 0, 0))


@rule("EX-2", "TU-3")
def test_a_later_window_is_compared_with_what_an_earlier_one_has_proposed(world):
    world, model = scripted(world)
    agent = world.configure()
    model.candidates = lambda asked: [fact("Invoices: by post."), fact(f"Parcels: {asked['messages'][0]['text'][0]}.")]
    model.decides = replacing
    turn = say(world.begin(agent), "1" * WINDOW, "2" * WINDOW)
    turn.commit()
    assert model.names == ["candidates", "candidates", "decisions"]
    assert active(world, agent) == ["Invoices: by post.", "Parcels: 2."]
    assert counts(turn) == (2, 1, 0, 1)


@rule("EX-2")
def test_skips_and_retractions_without_neighbours_cost_nothing_more(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = learn(world, model, agent, retraction("Invoices: no more."), decides=skipping)
    assert (model.names, active(world, agent), counts(turn)) == (["candidates"], [], (0, 0, 0, 1))
    assert learn(world, model, agent, decides=adding).state()["memories"] == []


class Watched(Records):
    """How often it was asked for what: the reads of a search."""

    def __init__(self, table):
        super().__init__(table)
        self.reads = Counter()

    def stored(self, places, model):
        self.reads["stored"] += 1
        return super().stored(places, model)

    def vectors(self, places, model):
        self.reads["vectors"] += 1
        return super().vectors(places, model)

    def newest(self, place, **page):
        self.reads["newest"] += 1
        return super().newest(place, **page)


MANY = [fact(f"Shelf {n}: holds boxes.") for n in range(12)]


@rule("EX-2")
@pytest.mark.parametrize("down", [False, True])
def test_what_all_candidates_are_compared_with_is_read_once(world, down):
    watched = Watched(world.table)
    world, model = scripted(with_services(world, records=watched))
    agent = world.configure()
    for n in range(3):
        world.remember(agent, f"Tone: formal {n}.")
    turn = world.begin(agent)
    turn.add("Invoices: by post.")
    watched.reads.clear()
    world.index.searches, world.index.down = 0, down
    model.candidates = lambda asked: MANY
    say(turn, "Hello.").commit()
    assert counts(turn) == (12, 0, 0, 0)
    assert world.index.searches == len(MANY)
    newest = {"newest": 3} if down else {}  # of the session, the agent and the platform
    assert watched.reads == Counter(stored=1, vectors=2 if down else 1, **newest)


@rule("EX-2", "EX-3")
def test_of_many_turns_and_a_long_one_among_them_all_is_read_once_and_in_order(world):
    world, model = scripted(world)
    agent = world.configure(memory={"extraction": {"every": {"messages": 22}}})
    model.candidates = lambda asked: []
    texts = [f"{n}. " + "x" * (WINDOW * 2 // 5) if 5 <= n < 15 else f"{n}. short" for n in range(22)]
    turns = [[text] for text in texts[:5]] + [texts[5:15]] + [[text] for text in texts[15:]]
    for several in turns:
        turn = say(world.begin(agent), *several)
        turn.commit()
    assert [text for window in model.shown for text in window] == texts
    assert [len(window) for window in model.shown] == [5, 2, 2, 2, 2, 9]
    assert review_of(turn)["status"] == "done"
