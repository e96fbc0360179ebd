"""The record list with `query`, over HTTP: its parameters, its shape, its refusals (GR-3)."""

from __future__ import annotations

from typing import Any

import pytest
from http_api import Api, faults, ok, problem

from agent_memory.runtime.shapes import ANSWERS

pytestmark = pytest.mark.rule("GR-3")


@pytest.fixture
def agent(api: Api) -> str:
    return api.configure(memory={"labels": {"room": {"number": 5, "description": "The room."}}})


def records(api: Api, agent: str, **query: Any) -> dict[str, Any]:
    body = ok(api.get(f"/v1/agents/{agent}/memories", **query))
    ANSWERS["list_memories"].model_validate(body)
    return body


def refused(api: Api, agent: str, **query: Any) -> dict[str, str]:
    return faults(problem(api.get(f"/v1/agents/{agent}/memories", **query), 400, "invalid_request"))


def test_records_of_all_sessions_are_ranked_and_explained(api: Api, agent: str) -> None:
    best = api.remember(agent, "Invoice, invoice.", "s1", labels={"room": "7"})
    other = api.remember(agent, "An invoice by post, and nothing else.", "s2")
    api.remember(agent, "Likes tea.", "s3")
    page = records(api, agent, query="invoice", explain="true")
    assert [record["id"] for record in page["memories"]] == [best["id"], other["id"]]
    assert [record["ranks"]["lexical"] for record in page["memories"]] == [1, 2]
    assert [record["cosine"] for record in page["memories"]] == [None, None]
    assert (page["next"], page["degraded"]) == (None, False)
    narrowed = records(api, agent, query="invoice", **{"label.room": "7"})
    assert [record["id"] for record in narrowed["memories"]] == [best["id"]]
    assert {"score"} == {"score", "cosine", "ranks"} & narrowed["memories"][0].keys()
    assert len(records(api, agent, query="invoice", limit=1)["memories"]) == 1


def test_a_list_without_a_query_has_no_scores(api: Api, agent: str) -> None:
    api.remember(agent, "Invoice by post.")
    for query in ({}, {"query": " "}):
        assert not {"score", "cosine", "ranks"} & records(api, agent, **query)["memories"][0].keys()


@pytest.mark.rule("IF-1")
def test_what_does_not_go_with_a_query_is_named(api: Api, agent: str) -> None:
    told = refused(api, agent, query="invoice", after="x", status=["ACTIVE", "DELETED"], **{"label.no": "1"})
    assert told.keys() == {"after", "status", "label.no"}
    assert refused(api, agent, query="invoice", status="all").keys() == {"status"}
    assert refused(api, agent, explain="true").keys() == {"explain"}
    assert refused(api, agent, query=" ", explain="true").keys() == {"explain"}
    assert records(api, agent, query="invoice", status="ACTIVE")["memories"] == []


@pytest.mark.rule("RK-7", "IF-7")
@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 10_001}, "query"),
        ({"query": ["a", "b"]}, "query"),
        ({"query": "a", "explain": "yes"}, "explain"),
        ({"query": "a", "limit": 201}, "limit"),
        ({"query": "a", "limit": 0}, "limit"),
    ],
)
def test_a_parameter_out_of_its_range_is_named(api: Api, agent: str, given: dict[str, Any], path: str) -> None:
    assert refused(api, agent, **given).keys() == {path}


@pytest.mark.rule("RK-7")
@pytest.mark.parametrize("query", ["x" * 10_000, '"', "invoice AND (", "*", "summary:invoice", "a\u0000b", "東京"])
def test_any_text_is_a_query(api: Api, agent: str, query: str) -> None:
    api.remember(agent, "Invoice by post.")
    assert records(api, agent, query=query, limit=200)["degraded"] is False


@pytest.mark.rule("SC-6")
def test_platform_records_are_ranked_too(api: Api) -> None:
    made = {"summary": "Every invoice is checked twice.", "kind": "guidance", "scope": "platform"}
    saved = ok(api.post("/v1/platform/memories", made), 201)
    page = ok(api.get("/v1/platform/memories", query="invoice checked"))
    ANSWERS["list_platform_memories"].model_validate(page)
    assert saved["id"] in [record["id"] for record in page["memories"]]
    assert all(record["agent_id"] is None and "score" in record for record in page["memories"])
