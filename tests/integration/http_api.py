"""The HTTP interface of the one-machine edition, in this process: the very app that the server serves, over a folder of
the test's own. What needs a process of its own (signals, kills, two servers) is in `test_http_server.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from embedders import HashEmbedder

from agent_memory.domain.ports import Reviewer
from agent_memory.local.edition import Edition
from agent_memory.local.gateway import Gateway
from agent_memory.runtime.rates import Rates
from agent_memory.runtime.shapes import Problem

FASTER_THAN_US = 1_000_000  # calls a second: no test is refused for being quick
EVERY_SCOPE = ["session", "workflow", "user", "agent"]
NOWHERE = "01HZZZZZZZZZZZZZZZZZZZZZZZ"  # the form of an id that nothing has


class Api:
    """Thin HTTP: no retries, no judgement."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.request("GET", path, params=query)

    def post(self, path: str, body: Any = None, **query: Any) -> httpx.Response:
        return self.request("POST", path, json={} if body is None else body, params=query)

    def put(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self.request("PUT", path, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def raw(self, path: str, text: str | bytes) -> httpx.Response:
        """POST the text as it stands."""
        return self.request("POST", path, content=text, headers={"Content-Type": "application/json"})

    # -- what nearly every test does

    def configure(self, agent: str | None = None, *, memory: dict[str, Any] | None = None, **rest: Any) -> str:
        agent = agent or "a" + uuid4().hex[:12]
        default = {
            "enabled": True,
            "scope": {"read": EVERY_SCOPE, "write": EVERY_SCOPE},
            "tools": ["add_memory", "read_memory", "delete_memory"],
            "search": {"mode": "lexical"},
        }
        body = {"memory": default | (memory or {}), **rest}
        ok(self.put(f"/v1/agents/{agent}/config", body, If_None_Match="*"), 201)
        return agent

    def begin(self, agent: str, session: str | None = "s1", **fields: Any) -> TurnOverHttp:
        made = ok(self.post(f"/v1/agents/{agent}/turns", {"session_id": session, **fields}), 201)
        return TurnOverHttp(self, agent, made)

    def remember(self, agent: str, summary: str, session: str = "s1", **fields: Any) -> dict[str, Any]:
        """Save one record in a turn of its own and commit it; gives its view."""
        turn = self.begin(agent, session)
        view = turn.add(summary, **fields)
        turn.end()
        return view


class TurnOverHttp:
    def __init__(self, api: Api, agent: str, made: dict[str, Any]) -> None:
        self.api, self.agent, self.made, self.id = api, agent, made, made["turn_id"]
        self.path = f"/v1/agents/{agent}/turns/{self.id}"

    def call(self, tool: str, input: Any = None, **fields: Any) -> dict[str, Any]:
        return ok(self.api.post(f"{self.path}/tools/{tool}", {"input": input or {}, **fields}))

    def add(self, summary: str, *, kind: str = "fact", **fields: Any) -> dict[str, Any]:
        view: dict[str, Any] = self.call("add_memory", {"summary": summary, "kind": kind, **fields})["output"][
            "memories"
        ][0]
        return view

    def search(self, query: str | None = None, **fields: Any) -> list[str]:
        asked = {"query": query} if query is not None else {}
        return [view["id"] for view in self.call("search_memory", {**asked, **fields})["output"]["memories"]]

    def recall(self, query: str, **fields: Any) -> dict[str, Any]:
        return ok(self.api.post(f"{self.path}/recall", {"query": query, **fields}))

    def end(self, outcome: str = "completed", *, wait: float = 25, **fields: Any) -> dict[str, Any]:
        """wait: seconds for its review, as the client waits; a turn without messages has none."""
        return ok(self.api.post(f"{self.path}/end", {"outcome": outcome, **fields}, wait=wait))


def ok(response: httpx.Response, code: int = 200) -> dict[str, Any]:
    assert response.status_code == code, f"{response.status_code}: {response.text[:1000]}"
    assert response.headers["content-type"] == "application/json"
    assert response.headers["request-id"]
    body: dict[str, Any] = response.json()
    return body


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is that problem, in the form that every problem has."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:1000]}"
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    Problem.model_validate(body)
    assert body["code"] == code, body
    assert body["status"] == status
    assert body["request_id"] == response.headers["request-id"]
    return body


def faults(problem: dict[str, Any]) -> dict[str, str]:
    """Codes by path."""
    return {fault["path"]: fault["code"] for fault in problem["faults"]}


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edition]:
    with running(tmp_path_factory.mktemp("data")) as edition:
        yield edition


@pytest.fixture(scope="module")
def api(edition: Edition) -> Api:
    return Api(Gateway(edition.switches).app())


class running:
    """An edition at work over a folder, with the dev switches and an embedder without meaning."""

    def __init__(
        self,
        path: Path,
        make_embedder: Callable[[Path], Any] | None = None,
        *,
        reviewer: Reviewer | None = None,
        dev: bool = True,
    ) -> None:
        make_embedder = make_embedder or (lambda _: HashEmbedder())
        self.edition = Edition(path, make_embedder, reviewer=reviewer, dev=dev, rates=Rates(FASTER_THAN_US))

    def __enter__(self) -> Edition:
        self.edition.start()
        return self.edition

    def __exit__(self, *_: object) -> None:
        self.edition.stop()
