"""The one contract of the Reviewer port, on every one of its sides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from botocore.stub import Stubber
from embedding_server import bare_bedrock_client, scripted_server
from review_questions import CANDIDATES, DECIDED, DECISIONS, PROPOSED, conversed, reviewing

from agent_memory.adapters.bedrock_reviewer import BedrockReviewer
from agent_memory.adapters.openai_reviewer import OpenAIReviewer
from agent_memory.adapters.rule_reviewer import RuleReviewer
from agent_memory.domain.configuration import parse_config
from agent_memory.domain.ports import Correction, Reviewer
from agent_memory.domain.reviewing.candidates import Candidate, read_candidates
from agent_memory.domain.reviewing.compared import Compared, Neighbour
from agent_memory.domain.reviewing.decisions import Replace, read_decisions

pytestmark = pytest.mark.rule("EX-8")

CONFIG = parse_config({"memory": {"enabled": True, "kinds": ["fact", "guidance", "preference"]}})


@pytest.fixture(params=["rules", "openai", "bedrock"])
def reviewer(request: pytest.FixtureRequest) -> Iterator[Reviewer]:
    match request.param:
        case "rules":
            yield RuleReviewer()
        case "openai":
            with scripted_server() as server:
                server.path, server.script = "/v1/chat/completions", reviewing()
                yield OpenAIReviewer(server.url, "scripted")
        case "bedrock":
            client = bare_bedrock_client()
            with Stubber(client) as stub:
                # Each test asks for candidates, then for decisions.
                stub.add_response("converse", conversed(json.dumps(PROPOSED)))
                stub.add_response("converse", conversed(json.dumps(DECIDED)))
                yield BedrockReviewer("a.model", client=lambda: client)


def test_it_says_what_it_is(reviewer: Reviewer, request: pytest.FixtureRequest) -> None:
    assert reviewer.kind == request.node.callspec.params["reviewer"]
    assert reviewer.model


@pytest.mark.parametrize("correction", [None, Correction("[]", "This is a list and not an object.")])
def test_its_answers_fit_what_the_review_reads(reviewer: Reviewer, correction: Correction | None) -> None:
    proposed = reviewer.propose(CANDIDATES, correction)
    candidates = read_candidates(proposed.text, CONFIG, now=datetime(2026, 5, 12, 8, tzinfo=UTC))
    assert [candidate.kind for _, candidate in candidates.right] == ["fact"]
    decided = reviewer.decide(DECISIONS, correction)
    ((number, decision),) = read_decisions(decided.text, [compared()]).right
    assert (number, type(decision)) == (0, Replace)
    assert not candidates.wrong
    assert not proposed.is_cut
    assert not decided.is_cut


def test_only_a_model_costs_tokens(reviewer: Reviewer) -> None:
    said = [reviewer.propose(CANDIDATES), reviewer.decide(DECISIONS)]
    cost = (0, 0) if reviewer.kind == "rules" else (90, 12)
    assert [(one.input_tokens, one.output_tokens) for one in said] == [cost, cost]


def compared() -> Compared:
    asked = DECISIONS["candidates"][0]
    near = asked["neighbours"][0]
    candidate = Candidate(False, asked["summary"], asked["kind"])
    return Compared(0, candidate, [Neighbour(**near, version=1, protected=False)])
