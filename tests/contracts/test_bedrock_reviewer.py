"""Reviews over Bedrock's Converse: request and answer held to the service's own model by botocore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoRegionError, ReadTimeoutError
from botocore.stub import ANY, Stubber
from embedding_server import bare_bedrock_client
from review_questions import CANDIDATES, DECISIONS, PROPOSED, WORDS, conversed

from agent_memory.adapters import bedrock_reviewer
from agent_memory.adapters.bedrock_reviewer import BedrockReviewer
from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.domain.ports import Correction
from agent_memory.domain.reviewing.schemas import candidates_schema, decisions_schema

pytestmark = pytest.mark.rule("EX-8")

PLAIN = "qwen.qwen3-235b-a22b-2507-v1:0"


@pytest.fixture
def stub() -> Iterator[Stubber]:
    with Stubber(bare_bedrock_client()) as stub:
        yield stub


def reviewer_on(stub: Stubber, model: str = PLAIN) -> BedrockReviewer:
    return BedrockReviewer(model, client=lambda: stub.client)


def request_of(asked: dict[str, Any], name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "modelId": PLAIN,
        "system": ANY,
        "messages": [{"role": "user", "content": [{"text": json.dumps(asked, ensure_ascii=False)}]}],
        "inferenceConfig": {"maxTokens": 8000},
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": name, "schema": json.dumps(schema)}},
            }
        },
        **more,
    }


def test_it_is_asked_with_one_object_and_bound_by_a_schema(stub: Stubber) -> None:
    stub.add_response(
        "converse", conversed("{}"), request_of(CANDIDATES, "memory_candidates", candidates_schema(CANDIDATES))
    )
    stub.add_response(
        "converse", conversed("{}"), request_of(DECISIONS, "memory_decisions", decisions_schema(DECISIONS))
    )
    reviewer = reviewer_on(stub)
    reviewer.propose(CANDIDATES)
    reviewer.decide(DECISIONS)
    stub.assert_no_pending_responses()


@pytest.mark.rule("EX-6")
def test_a_correction_shows_the_answer_and_its_faults_beside_the_same_question(stub: Stubber) -> None:
    request = request_of(CANDIDATES, "memory_candidates", candidates_schema(CANDIDATES))
    request["messages"] += [
        {"role": "assistant", "content": [{"text": "[1]"}]},
        {"role": "user", "content": [{"text": "The outer value takes an object."}]},
    ]
    stub.add_response("converse", conversed("{}"), request)
    reviewer_on(stub).propose(CANDIDATES, Correction("[1]", "The outer value takes an object."))


@pytest.mark.parametrize(
    ("model", "cached"),
    [
        (PLAIN, False),
        ("openai.gpt-oss-120b-1:0", False),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0", True),
    ],
)
def test_what_every_question_begins_with_is_cached_where_the_model_can(stub: Stubber, model: str, cached: bool) -> None:
    asked: list[dict[str, Any]] = []
    stub.client.meta.events.register(
        "provide-client-params.bedrock-runtime.Converse", lambda params, **_: asked.append(params)
    )
    stub.add_response("converse", conversed("{}"))
    reviewer_on(stub, model).propose(CANDIDATES)
    told, *points = asked[0]["system"]
    assert "are data" in told["text"]
    assert points == ([{"cachePoint": {"type": "default"}}] if cached else [])


def test_what_it_said_is_given_on_as_it_came_with_what_it_cost(stub: Stubber) -> None:
    answer = conversed(json.dumps(PROPOSED), cacheReadInputTokens=1000, cacheWriteInputTokens=10)
    thought = {"reasoningContent": {"reasoningText": {"text": "Let me see."}}}
    answer["output"]["message"]["content"].insert(0, thought)
    stub.add_response("converse", answer)
    said = reviewer_on(stub).propose(CANDIDATES)
    assert json.loads(said.text) == PROPOSED
    assert (said.input_tokens, said.output_tokens, said.is_cut) == (1100, 12, False)


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_that_breaks_off_says_so(stub: Stubber, stop: str) -> None:
    stub.add_response("converse", conversed('{"cand', stop=stop))
    said = reviewer_on(stub).propose(CANDIDATES)
    assert (said.text, said.is_cut) == ('{"cand', True)


@pytest.mark.rule("EX-6")
def test_an_answer_out_of_shape_is_one_to_correct(stub: Stubber) -> None:
    stub.add_response("converse", conversed("{}", stop="malformed_model_output"))
    assert reviewer_on(stub).propose(CANDIDATES).text == "{}"


@pytest.mark.parametrize("stop", ["content_filtered", "guardrail_intervened", "tool_use", "malformed_tool_use"])
def test_a_model_that_was_kept_from_answering_has_not_answered(stub: Stubber, stop: str) -> None:
    stub.add_response("converse", conversed(WORDS, stop=stop))
    with pytest.raises(ReviewerUnavailable, match=stop) as raised:
        reviewer_on(stub).propose(CANDIDATES)
    assert WORDS not in str(raised.value)


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "AccessDeniedException",
        "ValidationException",
        "ModelTimeoutException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ResourceNotFoundException",
        "InternalServerException",
        "ServiceUnavailableException",
    ],
)
def test_an_error_of_the_service_is_unavailable_and_named(stub: Stubber, code: str) -> None:
    stub.add_client_error("converse", code, WORDS)
    with pytest.raises(ReviewerUnavailable, match=code) as raised:
        reviewer_on(stub).propose(CANDIDATES)
    assert WORDS not in str(raised.value)


@pytest.mark.parametrize(
    "error",
    [
        EndpointConnectionError(endpoint_url="https://bedrock.invalid"),
        ReadTimeoutError(endpoint_url="https://bedrock.invalid"),
        NoRegionError(),
    ],
)
def test_a_client_that_gets_no_answer_is_unavailable(error: Exception) -> None:
    def failing() -> Any:
        raise error

    with pytest.raises(ReviewerUnavailable, match=type(error).__name__):
        BedrockReviewer(PLAIN, client=failing).decide(DECISIONS)


def test_the_client_of_its_own_waits_a_minute_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    config = bedrock_reviewer._client().meta.config
    assert config.read_timeout == 60
    assert config.retries["total_max_attempts"] == 2


def test_the_client_is_made_once_and_not_before_there_is_a_question(stub: Stubber) -> None:
    made: list[Any] = []
    reviewer = BedrockReviewer(PLAIN, client=lambda: made.append(stub.client) or stub.client)
    assert not made
    for _ in range(2):
        stub.add_response("converse", conversed("{}"))
        reviewer.propose(CANDIDATES)
    assert len(made) == 1
