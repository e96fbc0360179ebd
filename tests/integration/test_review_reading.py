"""Which messages a review reads: each of a committed turn once, however turns end and reviews fail (EX-3)."""

import pytest
from reviewing import again, learn, review_of, say, scripted
from scripted_reviewer import fact

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.errors import Conflict, NotAllowed
from agent_memory.domain.messages import AgentMessage, SystemMessage, ToolMessage, UserMessage
from agent_memory.operations.end import end

rule = pytest.mark.rule


def every(messages):
    return {"extraction": {"every": {"messages": messages}}}


@rule("EX-3")
def test_it_waits_for_so_many_messages_and_reads_all_of_them(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(5))
    statuses = []
    for n in range(5):
        turn = say(world.begin(agent), f"user {n}")
        say(turn, f"agent {n}", role="agent").commit()
        statuses.append(review_of(turn)["status"])
    assert statuses == ["not_due", "not_due", "done", "not_due", "not_due"]
    assert model.shown == [["user 0", "agent 0", "user 1", "agent 1", "user 2", "agent 2"]]
    say(world.begin(agent), "user 5").commit()
    assert model.shown[1] == ["user 3", "agent 3", "user 4", "agent 4", "user 5"]


@rule("EX-3", "EX-4")
def test_only_what_user_and_agent_said_to_each_other_is_counted(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(2))
    turn = world.begin(agent, messages=_other_messages())
    say(turn, "The only one.").commit()
    assert review_of(turn)["status"] == "not_due"
    quiet = world.begin(agent, "s2", messages=_other_messages())
    quiet.commit()
    assert (review_of(quiet)["status"], model.calls) == ("none", [])


@rule("EX-3", "TU-7")
def test_turns_that_end_in_another_order_are_read_in_the_order_in_which_they_began(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(3))
    turns = [say(world.begin(agent), f"turn {n}") for n in range(3)]
    for n in (2, 0, 1):
        turns[n].commit()
    assert model.shown == [["turn 0", "turn 2", "turn 1"]]  # the ending one comes last, those before it in order


@rule("EX-3")
def test_a_turn_that_began_before_a_review_and_ends_after_it_is_read_by_the_next(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(2))
    slow = say(world.begin(agent), "slow")
    say(world.begin(agent), "quick 1", "quick 2").commit()
    slow.commit()
    assert review_of(slow)["status"] == "not_due"
    say(world.begin(agent), "last").commit()
    assert model.shown == [["quick 1", "quick 2"], ["slow", "last"]]


@rule("EX-3", "TU-1", "TU-6")
def test_what_was_said_in_an_attempt_that_was_rolled_back_is_never_read(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(2))
    first = say(world.begin(agent), "lost 1", "lost 2", "lost 3")
    first.roll_back()
    second = say(world.begin(agent, None, retry_of=first.id), "kept")
    second.commit()
    say(world.begin(agent), "next").commit()
    assert model.shown == [["kept", "next"]]


@rule("EX-3", "EX-6")
def test_after_a_failed_review_the_next_one_begins_where_the_last_good_one_ended(world):
    world, model = scripted(world)
    agent = world.configure()
    say(world.begin(agent), "good").commit()
    model.unavailable = 2
    for text in ("failed 1", "failed 2"):
        say(world.begin(agent), text).commit()
    say(world.begin(agent), "next").commit()
    assert model.shown[-1] == ["failed 1", "failed 2", "next"]
    say(world.begin(agent), "last").commit()
    assert model.shown[-1] == ["last"]


@rule("EX-3", "PV-4")
def test_live_and_preview_turns_have_marks_of_their_own(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(2))
    for preview in (False, True, True, False):
        say(world.begin(agent, preview=preview), "preview" if preview else "live").commit()
    assert model.shown == [["preview", "preview"], ["live", "live"]]


@rule("EX-3", "SC-1")
def test_sessions_and_agents_have_marks_of_their_own(world):
    world, model = scripted(world)
    one, other = world.configure(memory=every(2)), world.configure(memory=every(2))
    for agent, session in ((one, "s1"), (one, "s10"), (other, "s1")):
        say(world.begin(agent, session), "alone").commit()
    assert model.calls == []


@rule("EX-3", "TU-9")
def test_an_agent_without_sessions_reviews_each_turn_by_itself(world):
    world, model = scripted(world)
    agent = world.configure(sessions=False, memory={"scope": {"read": ["agent"], "write": ["agent"]}})
    model.unavailable = 1
    first = learn(world, model, agent, fact("Invoices: by post."), session=None)
    assert review_of(first)["status"] == "failed"
    second = learn(world, model, agent, fact("Parcels: late."), session=None)
    assert model.shown == [["Something was said."]] * 2
    assert again(first)["review"]["status"] == "done"
    with pytest.raises(Conflict) as refused:
        again(first)
    assert (refused.value.code, review_of(second)["added"]) == ("no_failed_review", 1)


@rule("EX-3")
def test_waiting_for_messages_of_a_session_is_refused_where_there_is_none(world):
    with pytest.raises(NotAllowed):
        parse_config({"sessions": False, "memory": {"scope": {"read": ["agent"], "write": ["agent"]}, **every(3)}})


@rule("HI-5", "PV-4")
def test_the_review_of_a_replay_reads_its_own_messages_alone_and_leaves_none_behind(world):
    world, model = scripted(world)
    agent = world.configure(memory=every(2))
    original = say(world.begin(agent), "original")
    original.commit()
    replay = say(world.begin(agent, None, replay_of=original.id), "replayed")
    replay.commit()
    assert review_of(replay)["status"] == "not_due"
    say(world.begin(agent, None, replay_of=original.id), "again 1", "again 2").commit()
    say(world.begin(agent), "live").commit()
    assert model.shown == [["again 1", "again 2"], ["original", "live"]]


@rule("EX-3", "TU-7")
@pytest.mark.parametrize(("messages", "first"), [(2, [["before", "b"]]), (3, [["before", "b", "a"]])])
def test_of_two_turns_that_end_at_once_one_takes_what_waits(world, messages, first):
    world, model = scripted(world)
    agent = world.configure(memory=every(messages))
    say(world.begin(agent), "before").commit()
    a, b = say(world.begin(agent), "a"), say(world.begin(agent), "b")
    end(world.services, agent, a.id, outcome="completed", also=_meanwhile(b.commit))
    assert (a.state()["status"], model.shown) == ("committed", first)
    say(world.begin(agent), *["after"] * messages).commit()
    read = [text for window in model.shown for text in window]
    assert sorted(read) == sorted(["before", "a", "b", *["after"] * messages])


@rule("TU-2", "EX-3")
def test_of_two_ends_of_one_turn_at_once_one_takes_its_messages(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = world.begin(agent)
    one, other = ([UserMessage(role="user", text=text)] for text in ("one", "other"))
    faster = lambda: end(world.services, agent, turn.id, outcome="completed", messages=other)  # noqa: E731
    ended = end(world.services, agent, turn.id, outcome="completed", messages=one, also=_meanwhile(faster))
    assert (ended.by_this_call, ended.turn.status.value, model.shown) == (False, "committed", [["other"]])


def _meanwhile(happens):
    """What is written along with an end, and made once something else has happened."""
    several = [happens]

    def also(_):
        while several:
            several.pop()()
        return []

    return also


def _other_messages():
    return [
        SystemMessage(role="system", text="You are helpful."),
        UserMessage(role="user", text="A skill.", purpose="skill"),
        UserMessage(role="user", text="Found.", purpose="retrieval"),
        AgentMessage(role="agent", text="For a helper.", conversation="helper:h"),
        ToolMessage(role="tool", text="42", call_id="c", tool="count"),
    ]
