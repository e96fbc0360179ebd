"""What the model is shown of a conversation, and what it is never shown (EX-4, EX-5)."""

import pytest
from reviewing import active, learn, reject, review_of, say, scripted
from scripted_reviewer import fact

from agent_memory.domain.messages import AgentMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from agent_memory.operations.messages import add_messages

rule = pytest.mark.rule


@rule("EX-4", "EX-5")
def test_it_is_told_of_kinds_labels_scopes_date_and_time_zone(world):
    world, model = scripted(world)
    labels = {"customer_id": {"number": 5, "description": "The customer's number."}}
    agent = world.configure(memory={"kinds": ["fact", "preference"], "labels": labels})
    learn(world, model, agent, time_zone="Asia/Tokyo", user_id="u-1")
    asked = model.calls[0].asked
    assert (asked["kinds"], asked["labels"]) == (["fact", "preference"], {"customer_id": "The customer's number."})
    assert asked["scopes"].keys() == {"session", "user", "agent"}
    assert (asked["time_zone"], asked["now"]) == ("Asia/Tokyo", "2026-05-12T17:00:00+09:00")
    assert asked["messages"][0].keys() == {"role", "text", "at"}


@rule("EX-3")
@pytest.mark.parametrize("prompt", [None, "Keep the names of birds alone."])
def test_the_prompt_of_the_configuration_stands_for_the_default_one(world, prompt):
    world, model = scripted(world)
    agent = world.configure(memory={"extraction": {"prompt": prompt}})
    learn(world, model, agent)
    given = model.calls[0].asked["instructions"]
    assert given == prompt if prompt else len(given) > 100


@rule("EX-4", "RL-4")
def test_a_recalled_block_is_cut_out_wherever_it_stands_and_the_users_words_stay(world):
    world, model = scripted(world)
    agent = world.configure(memory={"pinned": {"max_tokens": 100}})
    world.remember(agent, "Invoices: by post.", content="The secret of the recalled.", pinned=True)
    turn = world.begin(agent)
    recalled = turn.recall("Invoices")
    for number, block in enumerate((recalled["block"], recalled["instructions"])):
        assert block
        say(turn, f"Before {number}.\n{block}\nAfter {number}.", block)
        say(turn, f"As I know: {block}", role="agent")
    turn.commit()
    (texts,) = model.shown
    assert not [text for text in texts if "by post" in text or "secret" in text or "memory" in text]
    assert [text.split() for text in texts] == [
        ["Before", "0.", "After", "0."],
        ["As", "I", "know:"],
        ["Before", "1.", "After", "1."],
        ["As", "I", "know:"],
    ]


@rule("EX-4")
def test_whose_words_are_all_recalled_is_not_asked_about(world):
    world, model = scripted(world)
    agent = world.configure()
    world.remember(agent, "Invoices: by post.")
    turn = world.begin(agent)
    say(turn, turn.recall("Invoices")["block"]).commit()
    assert (model.calls, review_of(turn)["status"]) == ([], "done")


@rule("EX-4")
def test_system_text_skills_retrievals_helpers_and_results_are_never_shown(world):
    world, model = scripted(world)
    agent = world.configure()
    call = ToolCall(call_id="c-1", tool="lookup_order", input={"id": "secret"})
    failed = ToolCall(call_id="c-2", tool="refund")
    add_messages(
        world.services,
        agent,
        (turn := world.begin(agent)).id,
        [
            SystemMessage(role="system", text="secret system"),
            UserMessage(role="user", text="Where is it?"),
            UserMessage(role="user", text="secret skill", purpose="skill"),
            AgentMessage(role="agent", text="secret retrieval", purpose="retrieval"),
            UserMessage(role="user", text="secret helper", conversation="helper:h"),
            AgentMessage(role="agent", text="I look.", calls=[call, failed]),
            ToolMessage(role="tool", text="secret result", call_id="c-1", tool="lookup_order"),
            ToolMessage(role="tool", text="secret error", call_id="c-2", tool="refund", is_error=True),
        ],
    )
    turn.search("secret query")
    turn.commit()
    (asked,) = (call.asked for call in model.calls)
    assert "secret" not in str(asked["messages"])
    assert [one["text"] for one in asked["messages"]] == [
        "Where is it?",
        "I look.\n[Tools called: lookup_order (succeeded), refund (failed)]",
    ]


@rule("EX-4")
def test_messages_are_shown_to_the_character_with_their_own_times(world):
    world, model = scripted(world)
    agent = world.configure()
    text = " Ä\t🙂 \u200d漢字 «ß»\r\n "
    at = "2026-05-11T23:00:00+02:00"
    messages = [UserMessage(role="user", text=text, at=at)]
    turn = world.begin(agent, messages=messages)
    turn.commit()
    assert model.calls[0].asked["messages"] == [{"role": "user", "text": text, "at": at}]


@rule("EX-4", "EX-1")
def test_of_thanks_alone_nothing_is_learned_though_memories_were_recalled(world):
    """As a model that keeps all that it is shown."""
    world, model = scripted(world)
    agent = world.configure()
    for n in range(3):
        world.remember(agent, f"Fact {n}: known.")
    before = active(world, agent)
    model.candidates = lambda asked: [fact(one["text"]) for one in asked["messages"] if "known" in one["text"]]
    for _ in range(5):
        turn = world.begin(agent)
        say(turn, f"{turn.recall('Fact 1')['block']}\nthanks").commit()
    assert active(world, agent) == before


@rule("EX-4", "JD-1")
def test_feedback_is_no_message(world):
    world, model = scripted(world)
    agent = world.configure()
    turn = say(world.begin(agent), "Hello.")
    reject(turn, "Tone: too cheerful.")
    turn.commit()
    assert model.shown == [["Hello."]]
