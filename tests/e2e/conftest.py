"""Servers for this folder. The embedder is a scripted one on the loopback wherever a model is not the point: the server
starts fast, and a test can make it fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from embedding_server import ScriptedServer, scripted_server
from server import DIMENSIONS, MakeServer, Server, flags


@pytest.fixture(scope="module")
def embedder() -> Iterator[ScriptedServer]:
    with scripted_server(DIMENSIONS) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, embedder: ScriptedServer) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("e2e") / "data", "--dev", *flags(embedder))
    yield server
    server.drop()


@pytest.fixture
def server(shared: Server, embedder: ScriptedServer) -> Iterator[Server]:
    """The module's server; whatever a test does, its answers and the log are judged, and the next one finds it well."""
    yield shared
    embedder.script = embedder.answer
    shared.check()


@pytest.fixture
def serve(tmp_path: Path, embedder: ScriptedServer) -> Iterator[MakeServer]:
    """Makes servers of the test's own, over one folder of its own."""
    made: list[Server] = []

    def make(*more: str, min_score: str | None = "0.5") -> Server:
        made.append(Server(tmp_path / "data", "--dev", *flags(embedder, min_score=min_score), *more))
        return made[-1]

    yield make
    embedder.script = embedder.answer
    for server in made:
        server.drop()
    for server in made:
        server.check()
