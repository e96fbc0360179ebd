"""What the chapters of the demo share: who tells, the server, the harness, and what was saved so far."""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

from harness import Harness, Turn
from narrator import Narrator
from running import Server

LEFT_S = 30.0  # for the index to catch up


class Stage:
    def __init__(self, narrator: Narrator, server: Server) -> None:
        self.tell = narrator
        self.server = server
        self.harness = Harness(narrator)
        self.saved: dict[str, dict[str, Any]] = {}

    def _start(self) -> None:
        self.tell.waiting("starting; the embedding model takes some seconds to load")
        url = self.server.start(self.tell.dot)
        self.tell.done("done")
        self.tell.say(f"listening on {url}")
        self.harness.connect(url)

    def _save(self, turn: Turn, name: str, **input: Any) -> None:
        self.saved[name] = turn.add(**input)

    def _id(self, name: str) -> str:
        id: str = self.saved[name]["id"]
        return id

    def _ids(self, *names: str) -> set[str]:
        return {self._id(name) for name in names}

    def _listed(self) -> set[str]:
        """Every active record of the agent, as a person sees them."""
        return ids(self.harness.agent("GET", "/memories?limit=200")["memories"])

    def _switch_index(self, state: str) -> None:
        self.tell.call("POST", "/v1/dev/index", {"state": state})
        answer = self.harness.call("POST", "/dev/index", {"state": state})
        self.tell.answer(answer["state"])

    def _index_state(self, *, until: str) -> str:
        """The index's state once it is `until`, or when waiting for that has taken too long."""
        self.tell.call("GET", "/v1/status")
        end = monotonic() + LEFT_S
        while (index := self.harness.call("GET", "/status")["index"])["state"] != until and monotonic() < end:
            sleep(0.1)
        self.tell.answer(f"index {index['state']}, commits waiting for it: {index['unindexed']}")
        return str(index["state"])


def ids(records: list[dict[str, Any]]) -> set[str]:
    return {record["id"] for record in records}
