"""What a server of OpenAI's protocol may answer, and what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from embedding_server import Drop, Hang, ScriptedServer, scripted_server

from agent_memory.adapters.openai_compatible import OpenAICompatibleModel
from agent_memory.domain.errors import EmbedderUnavailable

TEXTS = [f"text {n}" for n in range(20)]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(dimensions=8) as running:
        yield running


def model_at(server: ScriptedServer, **options: Any) -> OpenAICompatibleModel:
    return OpenAICompatibleModel(server.url, "scripted", **{"dimensions": 8, "pause_s": 0, **options})


def first(count: int, status: int, server: ScriptedServer) -> Any:
    """The first answers have this status, the others are good."""
    return lambda body: (status, {}) if len(server.asked) <= count else server.answer(body)


def test_the_key_is_sent_and_nothing_that_was_not_asked_for(server):
    model_at(server, key="sesame").embed(["hello"])
    assert server.headers["Authorization"] == "Bearer sesame"
    assert server.asked == [{"model": "scripted", "input": ["hello"]}]


def test_the_tokens_are_those_that_the_server_counted(server):
    assert model_at(server).embed(TEXTS).tokens == 60


def test_texts_travel_in_batches(server):
    model_at(server).embed([f"text {n}" for n in range(200)])
    assert [len(texts) for texts in server.texts()] == [96, 96, 8]
    server.asked.clear()
    model_at(server, window=50_000).embed(["x" * 50_000] * 5)
    assert [len(texts) for texts in server.texts()] == [2, 2, 1]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_failure_that_passes_is_asked_again(server, status):
    server.script = first(2, status, server)
    assert model_at(server).embed(["hello"], query=True).vectors[0] is not None
    assert len(server.asked) == 3


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("query", [True, False])
@pytest.mark.parametrize(
    "answer",
    [(500, {}), (503, b"<html>"), (429, {}), (401, {}), (403, {}), (404, {}), (302, {})],
    ids=lambda answer: str(answer[0]),
)
def test_a_server_that_does_not_serve_is_unavailable_and_not_asked_for_each_text(server, answer, query):
    server.script = lambda body: answer
    with pytest.raises(EmbedderUnavailable, match=str(answer[0])):
        model_at(server).embed(TEXTS, query=query)
    assert len(server.asked) <= 12


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize(
    "answer",
    [
        b"not json",
        b"[" * 100_000,
        [],
        {"data": None},
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": "abc"}]},
        {"data": [{"index": 0, "embedding": [1, "2"]}]},
        {"data": [{"index": [0], "embedding": [1.0] * 8}]},
        {"data": [{"index": 7, "embedding": [1.0] * 8}]},
        {"data": [{"index": 0, "embedding": [float("nan")] * 8}]},
        {"data": [{"index": 0, "embedding": [10**400] * 8}]},
        {"data": [{"index": 0, "embedding": [1.0] * 9}]},
        {"data": [{"index": 0, "embedding": [True] * 8}]},
    ],
    ids=lambda answer: str(answer)[:40],
)
def test_an_answer_that_is_no_vector_of_the_right_size_is_unavailable(server, answer):
    server.script = lambda body: (200, answer)
    with pytest.raises(EmbedderUnavailable):
        model_at(server).embed(["hello"])


def test_a_server_that_is_not_there_is_unavailable():
    with scripted_server() as gone:
        model = model_at(gone)
    with pytest.raises(EmbedderUnavailable):
        model.embed(["hello"])


@pytest.mark.rule("RK-6")
def test_a_server_that_never_answers_is_unavailable_in_bounded_time(server):
    def hang(body: dict[str, Any]) -> Any:
        raise Hang

    server.script = hang
    with pytest.raises(EmbedderUnavailable):
        model_at(server, timeout_s=0.2).embed(TEXTS)
    assert len(server.asked) == 1


def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(server):
    server.retry_after = "86400"
    server.script = lambda body: (429, {})
    with pytest.raises(EmbedderUnavailable):
        model_at(server, timeout_s=1).embed(["hello"], query=True)
    assert len(server.asked) == 1


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("how", ["400", "413", "422", "500", "dropped connection"])
@pytest.mark.parametrize("places", [[0], [7], [19], [0, 7, 13]])
def test_a_text_that_is_always_refused_holds_up_no_other(server, how, places):
    texts = [f"{text} poison" if n in places else text for n, text in enumerate(TEXTS)]
    server.script = server.dropping("poison") if how.startswith("drop") else server.refusing("poison", int(how))
    vectors = model_at(server).embed(texts).vectors
    assert [n for n, vector in enumerate(vectors) if vector is None] == places


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("how", ["400", "500", "dropped connection"])
def test_a_text_that_is_refused_alone_has_no_vector_while_the_server_answers_for_others(server, how):
    server.script = server.dropping("poison") if how.startswith("drop") else server.refusing("poison", int(how))
    assert model_at(server).embed(["poison"]).vectors == [None]


def test_a_server_that_refuses_every_text_is_wrongly_set_up(server):
    server.script = lambda body: (400, {"error": {"message": "no such model"}})
    for texts in (TEXTS, ["one"]):
        with pytest.raises(EmbedderUnavailable):
            model_at(server).embed(texts)


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("how", ["500", "dropped connection"])
def test_a_query_over_which_the_server_fails_is_said_to_be_unavailable(server, how):
    server.script = server.dropping("poison") if how.startswith("drop") else server.refusing("poison", 500)
    with pytest.raises(EmbedderUnavailable):
        model_at(server).embed(["poison"], query=True)


def test_a_server_that_came_back_meanwhile_gives_the_vector(server):
    """Three attempts of the text fail; then the server answers for a plain word, and so for the text."""
    server.script = first(3, 500, server)
    assert model_at(server).embed(["hello"]).vectors[0] is not None


@pytest.mark.parametrize(
    ("model", "dimensions", "sent"),
    [("text-embedding-3-small", 8, 8), ("text-embedding-3-small", 1536, None), ("other", 8, None)],
)
def test_dimensions_are_sent_to_models_that_can_be_shortened_alone(server, model, dimensions, sent):
    server.hash.dimensions = dimensions
    OpenAICompatibleModel(server.url, model, dimensions=dimensions).embed(["hello"])
    assert server.asked[0].get("dimensions") == sent


def test_dimensions_that_nobody_named_are_learned(server):
    model = model_at(server, dimensions=None)
    assert model.dimensions == 8
    assert len(server.asked) == 1
    assert model.dimensions == 8
    assert len(server.asked) == 1


def test_a_prefix_is_sent_where_the_models_card_asks_for_it(server):
    model = OpenAICompatibleModel(server.url, "intfloat/multilingual-e5-large", dimensions=8)
    model.embed(["tea?"], query=True)
    model.embed(["Likes tea."])
    assert server.texts() == [["query: tea?"], ["passage: Likes tea."]]


def test_a_text_is_cut_at_the_window(server):
    model_at(server, window=10).embed(["0123456789abc"])
    assert server.texts() == [["0123456789"]]


def test_no_text_reaches_a_log_or_an_error(server, caplog):
    caplog.set_level(logging.DEBUG)

    def fail(body: dict[str, Any]) -> Any:
        raise Drop

    server.script = fail
    with pytest.raises(EmbedderUnavailable) as raised:
        model_at(server, key="sesame").embed(["confidential words"])
    assert "confidential" not in caplog.text + repr(raised.value)
    assert "sesame" not in caplog.text + repr(raised.value)
