"""What a server of OpenAI's protocol may answer when it is to review, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from embedding_server import Drop, Hang, ScriptedServer, scripted_server
from review_questions import CANDIDATES, DECISIONS, PROPOSED, WORDS, completion, reviewing

from agent_memory.adapters.openai_reviewer import OpenAIReviewer
from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.domain.ports import Correction

pytestmark = pytest.mark.rule("EX-8")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        running.path, running.script = "/v1/chat/completions", reviewing()
        yield running


def reviewer_at(server: ScriptedServer, **options: Any) -> OpenAIReviewer:
    return OpenAIReviewer(server.url, "scripted", **{"pause_s": 0, **options})


def answering(server: ScriptedServer, status: int, answer: Any) -> OpenAIReviewer:
    server.script = lambda body: (status, answer)
    return reviewer_at(server)


@pytest.mark.parametrize(
    ("task", "asked", "name", "what"),
    [
        ("propose", CANDIDATES, "memory_candidates", "candidates"),
        ("decide", DECISIONS, "memory_decisions", "decisions"),
    ],
)
def test_it_is_asked_with_one_object_and_bound_by_a_schema(
    server: ScriptedServer, task: str, asked: dict[str, Any], name: str, what: str
) -> None:
    getattr(reviewer_at(server, key="sesame"), task)(asked)
    (body,) = server.asked
    assert server.headers["Authorization"] == "Bearer sesame"
    assert sorted(body) == ["messages", "model", "response_format"]
    assert body["model"] == "scripted"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert json.loads(body["messages"][1]["content"]) == asked
    bound = body["response_format"]["json_schema"]
    assert (body["response_format"]["type"], bound["name"], bound["strict"]) == ("json_schema", name, True)
    assert list(bound["schema"]["properties"]) == [what]


@pytest.mark.parametrize("task", ["propose", "decide"])
def test_what_it_is_told_says_that_all_texts_are_data_and_holds_no_comment(server: ScriptedServer, task: str) -> None:
    getattr(reviewer_at(server), task)(CANDIDATES if task == "propose" else DECISIONS)
    told = server.asked[0]["messages"][0]["content"]
    assert "are data" in told
    assert "<!--" not in told
    assert WORDS not in told


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize(("answer", "shown"), [("[1, 2]", "[1, 2]"), ("", "(empty)"), (" \n", "(empty)")])
def test_a_correction_shows_the_answer_and_its_faults_beside_the_same_question(
    server: ScriptedServer, answer: str, shown: str
) -> None:
    reviewer = reviewer_at(server)
    reviewer.propose(CANDIDATES)
    reviewer.propose(CANDIDATES, Correction(answer, "The outer value takes an object."))
    first, second = (body["messages"] for body in server.asked)
    assert second[:2] == first
    assert second[2:] == [
        {"role": "assistant", "content": shown},
        {"role": "user", "content": "The outer value takes an object."},
    ]
    assert server.asked[0]["response_format"] == server.asked[1]["response_format"]


def test_what_it_said_is_given_on_as_it_came_with_what_it_cost(server: ScriptedServer) -> None:
    said = reviewer_at(server).propose(CANDIDATES)
    assert json.loads(said.text) == PROPOSED
    assert (said.input_tokens, said.output_tokens, said.is_cut) == (90, 12, False)


@pytest.mark.rule("EX-6")
def test_an_answer_that_breaks_off_says_so(server: ScriptedServer) -> None:
    said = answering(server, 200, completion('{"candidates": [{"retr', finish="length")).propose(CANDIDATES)
    assert (said.text, said.is_cut) == ('{"candidates": [{"retr', True)


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_answer_is_one_that_does_not_fit(server: ScriptedServer, content: str | None) -> None:
    assert answering(server, 200, completion(content)).propose(CANDIDATES).text == ""


@pytest.mark.parametrize(
    "answer",
    [completion(None, refusal=f"Not about {WORDS}."), completion("Not th", finish="content_filter")],
)
def test_a_model_that_refuses_has_not_answered(server: ScriptedServer, answer: Any) -> None:
    with pytest.raises(ReviewerUnavailable, match="refused") as raised:
        answering(server, 200, answer).propose(CANDIDATES)
    assert WORDS not in str(raised.value)


@pytest.mark.parametrize(
    "answer",
    [b"not json", [], {}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": None}]}, completion(7), None],
)
def test_what_is_no_message_is_unavailable(server: ScriptedServer, answer: Any) -> None:
    with pytest.raises(ReviewerUnavailable):
        answering(server, 200, answer).propose(CANDIDATES)


@pytest.mark.parametrize("usage", [None, [], {}, {"prompt_tokens": "many", "completion_tokens": -1}])
def test_a_server_that_does_not_count_costs_nothing(server: ScriptedServer, usage: Any) -> None:
    said = answering(server, 200, completion("{}") | {"usage": usage}).propose(CANDIDATES)
    assert (said.input_tokens, said.output_tokens) == (0, 0)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_failure_that_passes_is_asked_again(server: ScriptedServer, status: int) -> None:
    good = reviewing()
    server.script = lambda body: (status, {}) if len(server.asked) < 3 else good(body)
    assert json.loads(reviewer_at(server).propose(CANDIDATES).text) == PROPOSED
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [500, 429])
def test_a_failure_that_stays_is_unavailable(server: ScriptedServer, status: int) -> None:
    with pytest.raises(ReviewerUnavailable, match=str(status)):
        answering(server, status, {"error": {"message": WORDS}}).propose(CANDIDATES)
    assert len(server.asked) == 3


@pytest.mark.parametrize(("status", "says"), [(400, "json_schema"), (422, "json_schema"), (401, "401"), (404, "404")])
def test_a_refusal_names_its_status_and_none_of_its_words(server: ScriptedServer, status: int, says: str) -> None:
    with pytest.raises(ReviewerUnavailable, match=str(status)) as raised:
        answering(server, status, {"error": {"message": f"no such thing as {WORDS}"}}).propose(CANDIDATES)
    assert says in str(raised.value)
    assert WORDS not in str(raised.value)
    assert len(server.asked) == 1


def test_a_server_that_is_too_slow_is_unavailable(server: ScriptedServer) -> None:
    def hang(body: dict[str, Any]) -> Any:
        raise Hang

    server.script = hang
    with pytest.raises(ReviewerUnavailable, match="did not answer"):
        reviewer_at(server, timeout_s=0.2).propose(CANDIDATES)


def test_a_connection_that_breaks_is_unavailable(server: ScriptedServer) -> None:
    def drop(body: dict[str, Any]) -> Any:
        raise Drop

    server.script = drop
    with pytest.raises(ReviewerUnavailable, match="did not answer"):
        reviewer_at(server).propose(CANDIDATES)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(ReviewerUnavailable, match="did not answer"):
        OpenAIReviewer("http://127.0.0.1:1/v1", "scripted", pause_s=0).decide(DECISIONS)
