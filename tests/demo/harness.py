"""The harness of the demo: one call of the HTTP API at a time, each told as it is sent and as it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from narrator import DoesNotHold, Narrator, remembered, short

AGENT = "support"


class Harness:
    """narrator: told of each call, but for those made quietly."""

    def __init__(self, narrator: Narrator) -> None:
        self.narrator = narrator
        self._http = httpx.Client()

    def connect(self, url: str) -> None:
        self._http.close()
        # trust_env: a proxy of the environment has no business on this machine.
        self._http = httpx.Client(base_url=url, timeout=30.0, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: object = None, *, expect: int = 200) -> dict[str, Any]:
        """Raises `DoesNotHold` for another status than the expected one."""
        answer = self._http.request(method, f"/v1{path}", json=body)
        if answer.status_code != expect:
            raise DoesNotHold(f"{method} {path} answers {expect} (it answered {answer.status_code}: {answer.text})")
        told: dict[str, Any] = answer.json()
        return told

    def agent(self, method: str, path: str, body: object = None, *, expect: int = 200) -> dict[str, Any]:
        return self.call(method, f"/agents/{AGENT}{path}", body, expect=expect)

    def begin(self, name: str, **body: Any) -> Turn:
        """Begins a turn that the story calls `name`."""
        told = {key: short(value) if key == "retry_of" else value for key, value in body.items()}
        self.narrator.call("POST", ".../turns", told)
        turn = self.agent("POST", "/turns", body, expect=201)
        self.narrator.answer(
            f"turn_id {short(turn['turn_id'])}, number {turn['number']} of its session, attempt {turn['attempt']}"
        )
        return Turn(self, name, turn["turn_id"], turn["number"], turn["attempt"])


@dataclass(frozen=True)
class Turn:
    harness: Harness
    name: str
    id: str
    number: int
    attempt: int

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.harness.agent("POST", f"/turns/{self.id}/{path}", body)

    def _told(self, path: str, body: object) -> None:
        self.harness.narrator.call("POST", f".../{self.name}/{path}", body)

    def add(self, **input: Any) -> dict[str, Any]:
        told = input | ({"replaces": short(input["replaces"])} if "replaces" in input else {})
        self._told("tools/add_memory", {"input": told})
        record: dict[str, Any] = self._output("add_memory", input)["memories"][0]
        self.harness.narrator.answer(f"staged: {short(record['id'])}, scope {record['scope']}")
        return record

    def search(self, query: str | None = None) -> list[dict[str, Any]]:
        """Ranked; without a query all that the turn sees."""
        input: dict[str, Any] = {"query": query} if query else {}
        self._told("tools/search_memory", {"input": input})
        found: list[dict[str, Any]] = self._output("search_memory", input)["memories"]
        self.harness.narrator.answer(remembered(found))
        return found

    def recall(self, query: str) -> dict[str, Any]:
        self._told("recall", {"query": query})
        answer = self._post("recall", {"query": query})
        self.harness.narrator.answer(remembered(answer["memories"]))
        return answer

    def replies(self, text: str) -> None:
        body = {"messages": [{"role": "agent", "text": text}]}
        self._told("messages", body)
        self._post("messages", body)

    def judge(self, verdict: str, feedback: str) -> None:
        body = {"verdict": verdict, "feedback": feedback}
        self._told("judgements", body)
        judged = self.harness.agent("POST", f"/turns/{self.id}/judgements", body, expect=201)
        self.harness.narrator.answer(f"noted, lesson: {str(judged['lesson']).lower()}")

    def search_history(self, query: str) -> list[dict[str, Any]]:
        self._told("tools/search_history", {"input": {"query": query}})
        events: list[dict[str, Any]] = self._output("search_history", {"query": query})["events"]
        self.harness.narrator.answer(f"{len(events)} of what was said, best first")
        return events

    def end(self, outcome: str, **body: Any) -> dict[str, Any]:
        self._told("end?wait=25", {"outcome": outcome, **body})
        turn = self._post("end?wait=25", {"outcome": outcome, **body})
        self.harness.narrator.answer(f"{turn['status']}, {len(turn['memories'])} changed")
        return turn

    def leave(self) -> None:
        """Ends a turn that changed nothing, without a word."""
        self._post("end", {"outcome": "completed"})

    def decisions(self) -> list[dict[str, Any]]:
        """What its review has decided, on what, and why."""
        self.harness.narrator.call("GET", f".../{self.name}/transcript?type=review")
        decided: list[dict[str, Any]] = self.harness.agent("GET", f"/turns/{self.id}/transcript?type=review")["events"]
        for one in decided:
            self.harness.narrator.answer(f"{one['decision']} ({one['source']}): {one['candidate']['summary']!r}")
            self.harness.narrator.answer(f"  since {one['reason']}")
        return decided

    def _output(self, tool: str, input: dict[str, Any]) -> dict[str, Any]:
        answer = self._post(f"tools/{tool}", {"input": input})
        if "error" in answer:
            raise DoesNotHold(f"{tool} is carried out (it was refused: {answer['error']['message']})")
        output: dict[str, Any] = answer["output"]
        return output
