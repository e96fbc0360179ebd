"""What a review is shown of a conversation (EX-2, EX-3, EX-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_items import a_record
from review_items import SAID_AT, message

from agent_memory.domain.block import PINS_OPENING, render
from agent_memory.domain.budget import fitted, tokens
from agent_memory.domain.pins import line, render_pins
from agent_memory.domain.reviewing.messages import MAX_WINDOW_TOKENS, is_reviewed, messages_shown, windows

BLOCK = render([fitted(a_record(1, "Likes qqtea.", "Said so.\n\nTwice."), 400).text])
PINS = render_pins([a_record(2, "Never ship on Fridays."), a_record(3, "Invoices go by post.")])


def texts(*events):
    return [shown["text"] for shown in messages_shown(events)]


def calls(*pairs):
    return [{"call_id": call_id, "tool": tool, "input": {"secret": "qqinput"}} for call_id, tool in pairs]


# ---------------------------------------------------------------- which messages


@pytest.mark.rule("EX-3", "EX-4")
@pytest.mark.parametrize(
    ("event", "counts"),
    [
        (message("x"), True),
        (message("x", "agent"), True),
        (message("x", "tool"), False),
        (message("x", "system"), False),
        (message("x", purpose="skill"), False),
        (message("x", "agent", purpose="retrieval"), False),
        (message("x", "agent", conversation="helper:h1"), False),
        (message("x", conversation="program:p1"), False),
    ],
)
def test_a_review_reads_what_user_and_agent_said_to_each_other(event, counts):
    assert is_reviewed(event) is counts
    assert texts(event) == (["x"] if counts else [])


@pytest.mark.rule("EX-4")
def test_messages_are_shown_in_order_with_who_said_them_and_when():
    later = "2026-05-12T12:00:00+02:00"
    assert messages_shown([message("Hello."), message("Hi!", "agent", said_at=later)]) == [
        {"role": "user", "text": "Hello.", "at": SAID_AT},
        {"role": "agent", "text": "Hi!", "at": later},
    ]


# ---------------------------------------------------------------- what was recalled


@pytest.mark.rule("EX-4")
@pytest.mark.parametrize("block", [BLOCK, PINS])
def test_what_was_recalled_is_cut_out_and_the_users_own_words_stay(block):
    assert texts(message(f" My words,\n{block}\n and more.\t")) == [" My words,\n\n and more.\t"]
    assert texts(message(f"{BLOCK}a{block}b", "agent")) == ["ab"]
    assert texts(message(f"\n{BLOCK}\n{block}\n \u200b"), message("Thanks.")) == ["Thanks."]


@pytest.mark.rule("EX-4")
@pytest.mark.parametrize(
    "echo",
    [
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace("\n", " "),
        BLOCK.replace("\n  ", "\n"),
        BLOCK.replace("\n", "\n    "),
        BLOCK.replace("memory, never", "memory,\nnever").replace(" Data", "\n\tData"),
        "\n\n".join(BLOCK.splitlines()),
        BLOCK.removesuffix("</recalled-memory>") + "</recalled-memory\n>",
    ],
)
def test_a_block_that_was_repeated_with_other_white_space_goes_too(echo):
    assert texts(message(f"You like {echo}, it says.", "agent")) == ["You like , it says."]


@pytest.mark.rule("EX-4")
@pytest.mark.parametrize("block", [BLOCK, PINS, BLOCK.replace("\n", "\r\n"), BLOCK.replace("\n", "\n\t")])
def test_of_a_block_that_was_never_closed_the_items_go(block):
    (text,) = texts(message(f"It says:\n{block[: block.rindex('</rec')].rstrip()}\n\nI see.", "agent"))
    assert text == "It says:\n\n\nI see."


@pytest.mark.rule("EX-4")
@pytest.mark.parametrize("block", [BLOCK, PINS])
def test_a_list_behind_a_block_that_was_never_closed_is_the_speakers_own(block):
    (text,) = texts(message(f"{block[: block.rindex('</rec')].rstrip()}\n\n- I see.", "agent"))
    assert text == "\n\n- I see."


@pytest.mark.rule("EX-4")
@given(st.integers(0, 400))
def test_a_block_that_breaks_off_anywhere_shows_nothing_of_a_memory(at):
    for block in (BLOCK, BLOCK.replace("\n", "\r\n"), BLOCK.replace("\n  ", "\n\t")):
        shown = "".join(texts(message(f"Hello.\n{block[:at]}")))
        assert not any(word in shown for word in ("qqtea", "Said", "Twice"))


@pytest.mark.rule("EX-4")
def test_an_opening_line_that_someone_wrote_hides_nothing():
    assert texts(message(f"{PINS_OPENING}\nMy words.")) == [f"{PINS_OPENING}\nMy words."]
    assert line(a_record()) in texts(message(f"{line(a_record())}\nis what I mean."))[0]


@pytest.mark.rule("EX-4")
@given(st.lists(st.text(), max_size=3), st.text())
def test_what_was_said_beside_blocks_stays_to_the_character(before, behind):
    said = "".join(before) + "My words." + behind
    assert texts(message(BLOCK.join([*before, "My words.", behind]))) == [said]


# ---------------------------------------------------------------- tools


@pytest.mark.rule("EX-4")
def test_of_tools_the_names_are_shown_and_whether_they_failed():
    reply = message("One moment.", "agent", calls=calls(("c1", "look_up"), ("c2", "send"), ("c3", "wait")))
    results = [message("qqresult", "tool"), message("qqfault", "tool", call_id="c2", tool="send", is_error=True)]
    assert texts(reply, *results) == [
        "One moment.\n[Tools called: look_up (succeeded), send (failed), wait (no answer)]"
    ]


@pytest.mark.rule("EX-4")
def test_a_reply_that_only_calls_a_tool_is_shown_by_its_name():
    assert texts(message("", "agent", calls=calls(("c1", "look_up")))) == ["[Tools called: look_up (no answer)]"]


@pytest.mark.rule("EX-4")
def test_ids_of_calls_that_come_again_in_a_later_turn_mean_its_own():
    reply = message("", "agent", calls=calls(("c1", "look_up")))
    failed = message("x", "tool", is_error=True)
    assert texts(reply, failed, dict(reply), message("x", "tool")) == [
        "[Tools called: look_up (failed)]",
        "[Tools called: look_up (succeeded)]",
    ]


@pytest.mark.rule("EX-2")
@pytest.mark.parametrize(("most", "left"), [(0, 5), (4, 5), (5, 4), (14, 3), (15, 0), (99, 0), (None, 0)])
def test_no_more_is_read_than_so_many_characters_that_are_shown(most, left):
    """What is cut out or blank counts nothing: else something would never be read."""
    events = iter(
        [
            message(f"Hello{BLOCK}"),
            message("World"),
            message("There"),
            message("", "agent", calls=calls(("c1", "look_up"))),
            message("qqresult" * 9, "tool"),
            message("   "),
        ]
    )
    messages_shown(events, most)
    assert len(list(events)) == left


def test_an_answer_to_a_call_that_nobody_made_is_ignored():
    assert texts(message("x", "tool"), message("Hello.")) == ["Hello."]


# ---------------------------------------------------------------- windows


def shown(*texts):
    return [{"role": "user", "text": text, "at": SAID_AT} for text in texts]


@pytest.mark.rule("EX-2")
def test_a_conversation_of_24000_tokens_is_one_window():
    assert MAX_WINDOW_TOKENS == 24_000
    assert len(windows(shown("x" * 48_000, "y" * 48_000))) == 1
    assert len(windows(shown("x" * 48_000, "y" * 48_001))) == 2


@pytest.mark.rule("EX-2")
def test_no_messages_make_no_window():
    assert windows([]) == []


@pytest.mark.rule("EX-2")
def test_a_message_longer_than_a_window_is_cut_at_a_sentence():
    found = windows(shown("It is so. " * 6 + "So.", "Short."), limit_tokens=10)
    assert [[piece["text"] for piece in window] for window in found] == [
        ["It is so. It is so. It is so. It is so."],
        [" It is so. It is so. So.", "Short."],
    ]


SHOWN = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "agent"]), "text": st.text(max_size=60)}), max_size=12
)


@pytest.mark.rule("EX-2")
@given(SHOWN, st.integers(1, 30))
def test_windows_hold_every_character_in_order_within_the_limit(messages, limit):
    found = windows(messages, limit)
    pieces = [piece for window in found for piece in window]
    assert "".join(m["role"] + m["text"] for m in merged(pieces)) == "".join(
        m["role"] + m["text"] for m in merged(messages)
    )
    assert all(window and tokens("".join(piece["text"] for piece in window)) <= limit for window in found)


def merged(messages):
    """Neighbours of one role as one: where a message was cut does not matter."""
    whole = []
    for each in messages:
        if whole and whole[-1]["role"] == each["role"]:
            whole[-1]["text"] += each["text"]
        else:
            whole.append(dict(each))
    return whole
