"""The typed client's way to the app of an edition in this process."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx

from agent_memory.runtime.routes import ROUTES


class InProcess(httpx.BaseTransport):
    """The app, called as a server would. called: methods and paths."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.called: set[tuple[str, str]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.called.add((request.method, request.url.path))

        async def send() -> httpx.Response:
            answer = await httpx.ASGITransport(self.app).handle_async_request(
                httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            )
            return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

        return asyncio.run(send())

    def routes(self) -> set[tuple[str, str]]:
        return {
            (route.method, route.resource)
            for route in ROUTES
            for method, path in self.called
            if method == route.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.resource), path)
        }
