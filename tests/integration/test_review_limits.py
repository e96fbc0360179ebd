"""How much a review may change, and what becomes of the rest (TU-5)."""

from random import Random

import pytest
from reviewing import active, again, counts, decided, held, learn, record, records, review_of, say, scripted
from scripted_reviewer import deleting, fact, replacing, retraction, skipping

from agent_memory.operations.review import review
from agent_memory.operations.turn_end import carry_out

rule = pytest.mark.rule

WINDOW = 24_000 * 4  # characters


def facts(number, start=0, **fields):
    return [fact(f"Topic {n}: one.", **fields) for n in range(start, start + number)]


def known(world, agent, number, **turn):
    """So many records, saved by turns of their own."""
    for start in range(0, number, 15):
        begun = world.begin(agent, **turn)
        for n in range(start, min(number, start + 15)):
            begun.add(f"Topic {n}: one.")
        begun.commit()


@rule("TU-5")
def test_the_review_has_what_the_tools_left_of_twenty_five_changes(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent), "Hello.")
    for n in range(15):
        turn.add(f"By a tool {n}.")
    model.candidates = facts(14)
    turn.commit()
    assert (counts(turn), len(turn.state()["memories"])) == ((10, 0, 0, 4), 25)
    assert decided(turn)[10:] == [("skip", "turn_full")] * 4


@rule("TU-5", "EX-1")
def test_what_is_replaced_is_a_change_too(world):
    world, model = scripted(world)
    agent = world.configure()
    known(world, agent, 14)
    corrections = [fact(f"Topic {n}: two.") for n in range(14)]
    turn = learn(world, model, agent, *corrections, decides=replacing)
    assert counts(turn) == (0, 12, 0, 2)
    assert len(active(world, agent)) == 14
    one_more = learn(world, model, agent, *corrections[12:], retraction("Topic 0: no more."), decides=_by_kind)
    assert counts(one_more) == (0, 2, 1, 0)


def _by_kind(candidate):
    return deleting(candidate) if candidate["retracts"] else replacing(candidate)


@rule("TU-5", "EX-6")
def test_a_review_that_is_done_again_has_no_more_room_than_the_turn(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent), "Hello.")
    for n in range(15):
        turn.add(f"By a tool {n}.")
    model.unavailable, model.candidates = 1, facts(14)
    turn.commit()
    again(turn)
    assert (counts(turn), len(turn.state()["memories"])) == ((10, 0, 0, 4), 25)


@rule("TU-5", "EX-2")
def test_windows_share_the_room_of_their_turn(world):
    world, model = scripted(world)
    agent = world.configure()
    model.candidates = lambda asked: facts(10, 10 * int(asked["messages"][0]["text"][0]))
    turn = say(world.begin(agent), *(str(n) * WINDOW for n in range(3)))
    turn.commit()
    assert (counts(turn), len(model.calls)) == ((25, 0, 0, 5), 3)


@rule("TU-5", "RC-3", "PN-1", "PV-3", "UP-1")
@pytest.mark.parametrize(("preview", "tools", "added"), [(False, 7, 5), (True, 15, 1)])
def test_as_much_as_one_transaction_takes_is_changed_and_the_turn_commits(machine, preview, tools, added):
    """In all scopes, with keys that others hold, and pins; and more is told again than there is room to confirm. What
    a preview turn covers is no change, and still a row of its transaction."""
    world, model = scripted(machine)
    agent = world.configure(memory={"pinned": {"max_tokens": 20_000}}, history={"index": "messages"})
    who = {"user_id": "u-1", "workflow_id": "w-1", "preview": preview}
    known(world, agent, 50, preview=preview)
    for start in (0, 12, 24):
        learn(world, model, agent, *_keyed("old", start, 12), **{**who, "preview": False})
    turn = say(world.begin(agent, **who), *(str(n) * WINDOW for n in range(3)))
    for n in range(tools):
        turn.add(f"Tool {n}: new.", memory_key=f"key {n}", pinned=True, scope=SCOPES[n % 4])
    windows = iter((facts(25), facts(25, 25), _keyed("new", tools, 36 - tools)))
    model.candidates, model.decides = lambda asked: next(windows), _told_again
    state = turn.commit()
    assert (state["status"], state["review"]["status"], counts(turn)[:3]) == ("committed", "done", (added, 0, 0))
    assert len(state["memories"]) == tools + added
    assert sum(one["confirmed_at"] is not None for one in records(world, agent)) < 25


SCOPES = ("session", "workflow", "user", "agent")


def _keyed(word, start, number):
    several = range(start, start + number)
    return [fact(f"Keyed {n}: {word}.", memory_key=f"key {n}", scope=SCOPES[n % 4]) for n in several]


def _told_again(candidate):
    is_new = candidate["summary"].startswith("Keyed")
    return {"action": "add", "memory_id": None, "reason": "It is new."} if is_new else skipping(candidate)


@rule("TU-5", "TU-8", "RC-3")
def test_what_has_no_room_once_others_have_taken_its_keys_gives_way_and_the_turn_commits(machine):
    world, model = scripted(machine)
    agent = world.configure()
    model.candidates = [fact(f"Topic {n}: new.", memory_key=f"key {n}") for n in range(25)]
    turn = say(world.begin(agent), "Hello.")
    with held(world):
        turn.commit()
    review(world.services, agent, turn.id)
    for start in (0, 13):
        other = world.begin(agent)
        for n in range(start, min(25, start + 13)):
            other.add(f"Other {n}: one.", memory_key=f"key {n}")
        other.commit()
    carry_out(world.services, agent, turn.id)
    added, _, _, skipped = counts(turn)
    assert (turn.state()["status"], review_of(turn)["status"]) == ("committed", "done")
    assert (added + skipped, len(active(world, agent))) == (25, 25)
    assert 0 < decided(turn).count(("skip", "turn_full")) == skipped
    assert len(turn.state()["memories"]) == added


@rule("TU-5", "EX-6")
def test_of_five_hundred_candidates_the_first_have_room_and_the_rest_is_skipped(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = learn(world, model, agent, *facts(500))
    assert (counts(turn), review_of(turn)["status"], model.names) == ((25, 0, 0, 475), "done", ["candidates"])
    assert active(world, agent) == [f"Topic {n}: one." for n in range(25)]


@rule("TU-5", "EX-7")
def test_the_longest_candidates_fit_in_any_script(world):
    world, model = scripted(world)
    agent = world.configure()
    longest = [fact(f"Topic {n}: {'🙂' * 250}", content=_noise(n, 16_000)) for n in range(27)]
    turn = learn(world, model, agent, *longest)
    state = turn.state()
    assert (state["status"], state["review"]["status"], counts(turn)) == ("committed", "done", (25, 0, 0, 2))
    assert record(world, agent, state["memories"][-1]["id"])["content"] == longest[24]["content"]
    told = turn.transcript("review")
    assert told[0]["candidate"]["content"] == longest[0]["content"]
    assert ("candidate" in told[-1], told[-1]["length"]) == (False, len(longest[-1]["summary"]))


def _noise(seed, length):
    """Text of four-byte characters that no compression makes shorter."""
    random = Random(seed)
    return "".join(chr(0x20000 + random.randrange(0xA000)) for _ in range(length))
