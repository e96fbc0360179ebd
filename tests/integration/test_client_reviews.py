"""The typed client where a turn's end takes a while: reviews that are slow, or fail and are done again; and history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from embedders import HashEmbedder
from http_api import EVERY_SCOPE, FASTER_THAN_US
from in_process import InProcess

from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.client import Agent, AgentMemory, Conflict, Resending, ToolRefused
from agent_memory.domain.ports import Correction, Said
from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.runtime.rates import Rates

CONFIG = {
    "memory": {
        "enabled": True,
        "scope": {"read": EVERY_SCOPE, "write": EVERY_SCOPE},
        "search": {"mode": "lexical"},
    },
    "history": {"index": "messages"},
}
RULE: Any = {"role": "user", "text": "From now on answer in German."}


class Steered(RuleReviewer):
    """The rules, held back until `go_on` is set, or broken: what it says then is no JSON."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.broken = False

    def propose(self, asked: Mapping[str, Any], correction: Correction | None = None) -> Said:
        assert self.go_on.wait(60)
        return Said("Let me think.") if self.broken else super().propose(asked, correction)


@pytest.fixture
def reviewer() -> Steered:
    return Steered()


@pytest.fixture
def agent(tmp_path: Path, reviewer: Steered) -> Iterator[Agent]:
    edition = Edition(tmp_path, lambda _: HashEmbedder(), reviewer=reviewer, dev=True, rates=Rates(FASTER_THAN_US))
    edition.start()
    transport = InProcess(Gateway(edition.switches).app())
    with AgentMemory("http://127.0.0.1", transport=transport, resending=Resending(attempts=1)) as memory:
        agent = memory.agent("a" + uuid4().hex[:12])
        agent.configure(CONFIG)
        yield agent
    reviewer.go_on.set()
    edition.stop()


@pytest.mark.rule("TU-2")
def test_who_does_not_wait_for_a_slow_review_is_told_and_waits_later(agent: Agent, reviewer: Steered) -> None:
    turn = agent.begin(session_id="s", messages=[RULE])
    assert turn.end(wait=0).status == "ending"
    later = agent.begin(session_id="s")
    assert later.still_ending == [turn.id]
    assert agent.turn(turn.id).wait(0).status == "ending"
    reviewer.go_on.set()
    assert [agent.turn(id).wait().status for id in later.still_ending] == ["committed"]
    assert agent.begin(session_id="s").still_ending == []


@pytest.mark.rule("TU-2", "IF-2")
def test_an_end_that_is_sent_again_waits_as_the_first_did(agent: Agent, reviewer: Steered) -> None:
    turn = agent.begin(session_id="s", messages=[RULE])
    turn.end(wait=0, idempotency_key="job-7")
    reviewer.go_on.set()
    assert turn.end(idempotency_key="job-7").status == "committed"
    assert len(list(turn.transcript(types="turn.committed"))) == 1


@pytest.mark.rule("TU-2", "EX-7")
def test_the_end_gives_what_the_review_came_to(agent: Agent, reviewer: Steered) -> None:
    reviewer.go_on.set()
    with agent.begin(session_id="s", messages=[RULE]) as turn:
        pass
    review = turn.state.review
    assert (turn.state.status, review.status, review.added) == ("committed", "done", 1)
    (decided,) = turn.transcript(types="review")
    assert (decided["decision"], decided["candidate"]["summary"]) == ("add", RULE["text"])
    assert [record.source for record in agent.memories()] == ["review"]


@pytest.mark.rule("EX-6")
def test_a_failed_review_is_listed_and_done_again(agent: Agent, reviewer: Steered) -> None:
    reviewer.go_on.set()
    reviewer.broken = True
    with agent.begin(session_id="s", messages=[RULE]) as turn:
        pass
    assert (turn.state.status, turn.state.review.status, turn.state.review.error) == (
        "committed",
        "failed",
        "unreadable",
    )
    assert [state.turn_id for state in agent.turns(review="failed")] == [turn.id]
    assert turn.review_again().review.status == "failed"
    reviewer.broken = False
    done = agent.review_again(turn.id)
    assert (done.status, done.review.status, done.review.added) == ("committed", "done", 1)
    assert list(agent.turns(review="failed")) == []
    assert [record.summary for record in agent.memories()] == [RULE["text"]]
    with pytest.raises(Conflict) as refused:
        turn.review_again()
    assert refused.value.code == "no_failed_review"


@pytest.mark.rule("EX-6")
def test_who_does_not_wait_for_another_review_is_told_that_it_goes_on(agent: Agent, reviewer: Steered) -> None:
    reviewer.go_on.set()
    reviewer.broken = True
    with agent.begin(session_id="s", messages=[RULE]) as turn:
        pass
    reviewer.go_on.clear()
    reviewer.broken = False
    assert agent.review_again(turn.id, wait=0).review.status == "pending"
    assert agent.turn(turn.id).wait(0).is_settling
    reviewer.go_on.set()
    assert turn.wait().review.status == "done"


@pytest.mark.rule("JD-1")
def test_a_rejection_teaches(agent: Agent, reviewer: Steered) -> None:
    reviewer.go_on.set()
    with agent.begin(session_id="s") as turn:
        turn.judge("rejected", "Refunds are never promised.")
    assert turn.state.lessons == 1
    assert [(record.source, record.content) for record in agent.memories()] == [
        ("lesson", "Refunds are never promised.")
    ]


@pytest.mark.rule("HI-2", "HI-3", "HI-4", "TR-2")
def test_a_program_searches_what_earlier_turns_said(agent: Agent, reviewer: Steered) -> None:
    reviewer.go_on.set()
    with agent.begin(session_id="s", messages=[{"role": "user", "text": "The parcel is number 4711."}]) as told:
        pass
    turn = agent.begin(session_id="s")
    found = turn.search_history("number of the parcel", limit=3)
    (event,) = found.events
    assert (event.turn, event.role, event.execution_id) == (1, "user", told.id)
    assert event.text == "turn 1, user\nThe parcel is number 4711."
    assert (event.part, event.parts, found.degraded, found.ranked) == (1, 1, False, 1)
    (whole,) = turn.search_history(ids=[event.id, "none"]).events
    assert (whole.text, whole.score) == (event.text, None)
    assert turn.search_history(ids=["none"]).missing == ["none"]
    with pytest.raises(ToolRefused) as refused:
        turn.search_history(" ")
    assert refused.value.code == "query_required"
    searches = [each["tool_execution_id"] for each in turn.transcript(types="execution")]
    execution = agent.execution(searches[0])
    assert [(part.id, part.part) for use in execution.output_uses for part in use.events] == [(event.id, 1)]
    assert json.loads(json.dumps(execution.output))["events"][0]["text"] == event.text
