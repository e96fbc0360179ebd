"""What is true of the OpenSearch side alone: its names, how it is made anew, and what a missing answer leads to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from index_fixtures import AGENT, DIMENSIONS, PLACE, entry, ids, numbered, opensearch_index, packed, random_units, ulid

from agent_memory.adapters.opensearch import MAX_BULK_BYTES, OpenSearchIndex, bodies
from agent_memory.adapters.opensearch_client import connect
from agent_memory.domain.errors import IndexUnavailable
from agent_memory.domain.ports import IndexQuery

TEA = IndexQuery([PLACE], ["tea"])
SECRET = "xyzzy"


@pytest.fixture
def index(opensearch_url: str) -> Iterator[OpenSearchIndex]:
    with opensearch_index(opensearch_url) as opened:
        yield opened


def names(index: OpenSearchIndex) -> list[str]:
    return sorted(index._client.indices.get_alias(name=index._alias))


def test_ensuring_twice_makes_one_index(index: OpenSearchIndex) -> None:
    assert index.ensure() is False
    assert names(index) == [f"{index._alias}-m-1"]


def test_a_fresh_index_is_empty_and_takes_the_place_of_the_old_one(index: OpenSearchIndex) -> None:
    index.apply([entry(1, "tea")])
    assert index.fresh() == f"{index._alias}-m-2"
    assert names(index) == [f"{index._alias}-m-2"]
    assert index.search(TEA).lexical == []
    index.apply([entry(1, "tea")])
    assert ids(index.search(TEA).lexical) == numbered(1)


def test_another_model_gets_an_index_of_its_own(index: OpenSearchIndex) -> None:
    other = OpenSearchIndex(index._client, index._alias, model="Org/Model_v2:1", dimensions=DIMENSIONS * 2)
    assert other.ensure() is True
    assert names(index) == [f"{index._alias}-org-model-v2-1-1"]
    assert other.apply([entry(1, "tea", vectors=packed(*random_units(1, 1, DIMENSIONS * 2)))]) == {}


@pytest.mark.rule("RK-6")
def test_a_wiped_index_does_not_answer_and_takes_nothing_until_it_is_made_anew(index: OpenSearchIndex) -> None:
    index.apply([entry(1, "tea")])
    index._client.indices.delete(index=f"{index._alias}-m-1")
    for call in (lambda: index.search(TEA), lambda: index.apply([entry(2, "tea")])):
        with pytest.raises(IndexUnavailable):
            call()
    assert index.ensure() is True
    assert index.apply([entry(2, "tea")]) == {}
    assert ids(index.search(TEA).lexical) == numbered(2)
    mapping = index._client.indices.get_mapping(index=index._alias)
    assert {made["mappings"]["dynamic"] for made in mapping.values()} == {"strict"}


def test_searching_the_shards_of_the_agents_alone_finds_the_same(index: OpenSearchIndex) -> None:
    routed = OpenSearchIndex(
        index._client, index._alias, model="m", dimensions=DIMENSIONS, agent_of=lambda place: place.split("#")[0]
    )
    index.apply([entry(1, "tea"), entry(2, "tea", partition="#platform#", agent_id="")])
    query = IndexQuery([PLACE, "#platform#"], ["tea"])
    assert sorted(ids(routed.search(query).lexical)) == numbered(1, 2)
    assert routed.search(TEA) == index.search(TEA)


def test_a_document_that_the_node_refuses_holds_up_no_other(index: OpenSearchIndex) -> None:
    """The id is longer than 512 bytes, which nothing of ours checks."""
    good, bad = entry(1, "tea"), entry(2, f"tea {SECRET}", id="i" * 513)
    with pytest.raises(IndexUnavailable) as raised:  # the node refuses the whole request
        index.apply([good, bad])
    assert SECRET not in str(raised.value)
    index._client.indices.put_settings(index=index._alias, body={"index": {"mapping.nested_objects.limit": 1}})
    refused = index.apply([good, entry(3, f"tea {SECRET}", vectors=packed(*random_units(2, 1)))])
    assert list(refused) == numbered(3)
    assert SECRET not in refused[ulid(3)]
    assert ids(index.search(TEA).lexical) == numbered(1)


def test_a_batch_larger_than_one_request_is_written_whole(index: OpenSearchIndex) -> None:
    entries = [entry(number, [f"w{number}"] + ["x" * 50] * 5000) for number in range(30)]
    assert index.apply(entries) == {}
    assert index.search(IndexQuery([PLACE], ["w29"])).statistics.documents == 30


def test_bodies_keep_to_the_limit_and_the_order() -> None:
    lines = ["x" * (MAX_BULK_BYTES // 2), "y" * (MAX_BULK_BYTES // 2), "z", "w" * MAX_BULK_BYTES]
    cut = list(bodies(lines))
    assert "".join(cut) == "".join(lines)
    assert [len(body) for body in cut] == [MAX_BULK_BYTES, 1, MAX_BULK_BYTES]
    assert list(bodies([])) == []


# ---------------------------------------------------------------- when it does not answer


@contextmanager
def server(status: int, body: bytes) -> Iterator[str]:
    """Answers everything the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    listening.server_close()


def at(url: str) -> OpenSearchIndex:
    return OpenSearchIndex(connect(url), "memories", model="m", dimensions=DIMENSIONS)


def unavailable(index: OpenSearchIndex) -> str:
    """What a search and a write say, both of which must be `IndexUnavailable`."""
    with pytest.raises(IndexUnavailable) as searching:
        index.search(IndexQuery([PLACE], [SECRET]))
    with pytest.raises(IndexUnavailable) as writing:
        index.apply([entry(1, SECRET, agent_id=AGENT)])
    return f"{searching.value} {writing.value}"


@pytest.mark.rule("RK-6")
def test_a_node_that_is_down_is_an_index_that_does_not_answer() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert SECRET not in unavailable(at(url))


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("status", [400, 401, 403, 413, 429, 500, 503])
def test_a_node_that_refuses_everything_is_an_index_that_does_not_answer(status: int) -> None:
    with server(status, b'{"error": {"type": "oops", "reason": "near xyzzy"}}') as url:
        assert SECRET not in unavailable(at(url))


@pytest.mark.rule("RK-6")
@pytest.mark.parametrize("body", [b"<html>", b"", b"{}"])
def test_an_answer_that_is_no_answer_is_an_index_that_does_not_answer(body: bytes) -> None:
    with server(200, body) as url:
        assert SECRET not in unavailable(at(url))


@pytest.mark.rule("RK-6")
def test_one_part_of_a_search_that_failed_fails_the_search() -> None:
    failed = b'{"responses": [{"status": 503, "error": {"type": "search_phase_execution_exception"}}]}'
    with server(200, failed) as url, pytest.raises(IndexUnavailable):
        at(url).search(IndexQuery([PLACE]))


@pytest.mark.rule("RK-6")
def test_documents_that_a_busy_node_turns_away_are_not_refused_for_good() -> None:
    busy = b'{"errors": true, "items": [{"index": {"_id": "a", "status": 429, "error": {"type": "rejected"}}}]}'
    with server(200, busy) as url, pytest.raises(IndexUnavailable):
        at(url).apply([entry(1, "tea")])


@pytest.mark.rule("RK-6")
def test_a_node_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(IndexUnavailable):
            at(f"http://127.0.0.1:{silent.getsockname()[1]}").search(TEA)
