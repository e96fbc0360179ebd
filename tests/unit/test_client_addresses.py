"""Paths and queries of the client: nothing that is filled in can become another path, filter or value."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.client.addresses import address
from agent_memory.domain.errors import NotFound

PARTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in (".", ".."))
RESOURCE = "/v1/agents/{agent}/memories"


@given(PARTS, st.dictionaries(PARTS, PARTS, max_size=4))
def test_what_is_filled_in_arrives_as_it_was(agent: str, query: dict[str, str]) -> None:
    sent = httpx.URL("https://x.test/prod" + address(RESOURCE, {"agent": agent}, query)).raw_path.decode()
    path, _, pairs = sent.partition("?")
    assert [unquote(part) for part in path.split("/")] == ["", "prod", "v1", "agents", agent, "memories"]
    assert parse_qsl(pairs, keep_blank_values=True, strict_parsing=bool(pairs)) == list(query.items())
    assert "+" not in sent  # a space by another name, which signatures take for a plus


@pytest.mark.parametrize("part", ["", ".", ".."])
def test_a_part_that_would_make_another_path_is_not_found(part: str) -> None:
    with pytest.raises(NotFound):
        address(RESOURCE, {"agent": part}, {})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, ""),
        (True, "?x=true"),
        (7, "?x=7"),
        ("", "?x="),
        (["b", "a"], "?x=b&x=a"),
        ((), ""),
        (datetime(2026, 5, 12, 10, tzinfo=UTC), "?x=2026-05-12T10%3A00%3A00%2B00%3A00"),
        ("\ud800", "?x=%ED%A0%80"),
    ],
)
def test_values_are_written_as_the_server_reads_them(value: object, written: str) -> None:
    assert address("/v1/status", {}, {"x": value}) == "/v1/status" + written


def test_a_query_keeps_the_order_in_which_it_was_given() -> None:
    assert address("/v1", {}, {"b": 1, "a": "ü /~"}) == "/v1?b=1&a=%C3%BC%20%2F~"
