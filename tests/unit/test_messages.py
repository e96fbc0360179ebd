"""The messages of a turn, and who speaks."""

import json

import pytest
from pydantic import TypeAdapter, ValidationError

from agent_memory.domain.bodies import Body
from agent_memory.domain.faults import faults_of
from agent_memory.domain.messages import Conversation, Messages, speaker

CONVERSATION = TypeAdapter(Conversation)


class Messaging(Body):
    messages: Messages


def taken(*messages):
    return Messaging.model_validate({"messages": list(messages)}).messages


def refused(messages):
    with pytest.raises(ValidationError) as refusal:
        Messaging.model_validate({"messages": messages})
    return {fault.path: fault.message for fault in faults_of(refusal.value, Messaging)}


@pytest.mark.rule("TU-10")
def test_each_role_has_its_fields_and_their_defaults():
    call = {"call_id": "c1", "tool": "look_up", "input": {"order": ["A17", 1.5, None]}}
    user, agent, tool, system = taken(
        {"role": "user", "text": "Hello."},
        {"role": "agent", "text": "", "calls": [call], "at": "2026-05-12T10:00:00.123456789+02:00"},
        {"role": "tool", "text": "x", "call_id": "c1", "tool": "look_up"},
        {"role": "system", "text": "x", "conversation": "helper:h 1", "purpose": "skill"},
    )
    common = {"conversation": "agent", "purpose": "message", "truncated": False, "said_at": "now"}
    assert user.stored(said_at="now") == {"role": "user", "text": "Hello.", **common}
    assert agent.stored(said_at="now") == {
        "role": "agent",
        "text": "",
        "calls": [call],
        **common,
        "said_at": "2026-05-12T10:00:00.123456789+02:00",
    }
    assert tool.stored(said_at="now") == {
        "role": "tool",
        "text": "x",
        "call_id": "c1",
        "tool": "look_up",
        "is_error": False,
        **common,
    }
    assert system.stored(said_at="now") == {
        "role": "system",
        "text": "x",
        **common,
        "conversation": "helper:h 1",
        "purpose": "skill",
    }


@pytest.mark.rule("TU-10")
@pytest.mark.parametrize("text", ["", "a\x00b \x1b[31m", "\u202eabc", "𝒳\ufffe", " \r\n\t ", "e\u0301é", "x" * 200_000])
def test_a_text_is_kept_to_the_character(text):
    (message,) = taken({"role": "user", "text": text})
    assert (message.text, message.truncated) == (text, False)


@pytest.mark.rule("TU-10")
def test_a_longer_text_is_cut_and_marked():
    (message,) = taken({"role": "user", "text": "𝒳" * 200_001})
    assert (message.text, message.truncated) == ("𝒳" * 200_000, True)
    assert message.stored(said_at="now")["truncated"] is True


@pytest.mark.rule("TU-10", "IF-1")
def test_all_faults_of_all_messages_are_told_at_once():
    faults = refused(
        [
            {"role": "user", "text": "x", "calls": [], "truncated": True},
            {"role": "boss", "text": 5, "at": "noon", "tool": 5, "calls": 7, "colour": "red"},
            {"text": "\ud800", "conversation": "helper:"},
            "hello",
            {
                "role": "agent",
                "text": None,
                "calls": [{"call_id": "\n", "tool": 5, "input": {"a": ["\ud800"]}, "x": 1}, 7],
            },
            {"role": "tool", "text": "x", "tool": "", "is_error": "no"},
            {"role": ["user"], "text": "x"},
        ]
    )
    assert set(faults) == {
        "messages[0].calls",
        "messages[0].truncated",
        "messages[1].role",
        "messages[1].text",
        "messages[1].at",
        "messages[1].tool",
        "messages[1].calls",
        "messages[1].colour",
        "messages[2].role",
        "messages[2].text",
        "messages[2].conversation",
        "messages[3]",
        "messages[4].text",
        "messages[4].calls[0].call_id",
        "messages[4].calls[0].tool",
        "messages[4].calls[0].input",
        "messages[4].calls[0].x",
        "messages[4].calls[1]",
        "messages[5].call_id",
        "messages[5].tool",
        "messages[5].is_error",
        "messages[6].role",
    }
    assert "user or" in faults["messages[1].role"]
    assert faults["messages[3]"] == "takes an object"


@pytest.mark.rule("IF-1", "IF-7")
@pytest.mark.parametrize("messages", [None, [], "hi", 5, {}, [{"role": "user", "text": "x"}] * 101])
def test_a_call_takes_1_to_100_messages(messages):
    faults = refused(messages)
    assert list(faults) == ["messages"]
    assert "1 to 100" in faults["messages"]


@pytest.mark.rule("IF-4")
@pytest.mark.parametrize("at", ["2026-05-12T10:00:00", "2026-05-12", 1_780_000_000, "9999-12-31T23:59:59-01:00"])
def test_the_time_of_a_message_needs_an_offset(at):
    assert list(refused([{"role": "user", "text": "x", "at": at}])) == ["messages[0].at"]


def test_a_calls_input_that_cannot_be_kept_is_refused():
    deep = json.loads('{"a":' * 100 + "1" + "}" * 100)
    for given in (deep, {"a": float("nan")}, [], "x"):
        call = {"call_id": "c", "tool": "t", "input": given}
        assert list(refused([{"role": "agent", "text": "x", "calls": [call]}])) == ["messages[0].calls[0].input"]


@pytest.mark.rule("TL-6")
@pytest.mark.parametrize(
    ("conversation", "who"),
    [("agent", "agent"), ("helper:a", "helper"), ("helper:a:b#c", "helper"), ("program:" + "x" * 128, "program")],
)
def test_a_conversation_says_who_speaks(conversation, who):
    assert speaker(CONVERSATION.validate_python(conversation)) == who


@pytest.mark.rule("TL-6")
@pytest.mark.parametrize(
    "conversation",
    [
        "",
        "Agent",
        "agent:a",
        "helper",
        "helper:",
        "helper:\n",
        "program:" + "x" * 129,
        "helper:\ud800",
        "user:a",
        "agent\n",
        5,
    ],
)
def test_what_is_no_conversation(conversation):
    with pytest.raises(ValidationError):
        CONVERSATION.validate_python(conversation)
