"""Reviews by a model behind a network, with the server stopped and killed while it thinks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from embedding_server import ScriptedServer, scripted_server
from server import MARK, MakeServer, Server, answered, problem

SAID = [{"role": "user", "text": f"My bill comes by post, {MARK}."}]
LEARNED = f"Wants invoices by post, {MARK}."


@dataclass
class Thinking:
    """A model that proposes one fact. at_work: it was asked; may_answer: until then it thinks."""

    at_work: Event = field(default_factory=Event)
    may_answer: Event = field(default_factory=Event)
    proposed: int = 0

    def script(self, body: dict[str, Any]) -> tuple[int, Any]:
        name = body["response_format"]["json_schema"]["name"]
        assert name == "memory_candidates", name  # nothing is near
        self.at_work.set()
        self.may_answer.wait()
        self.proposed += 1
        candidate = {"retracts": False, "summary": LEARNED, "kind": "fact"}
        return 200, completion({"candidates": [candidate]})


def completion(answer: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": json.dumps(answer)}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with scripted_server() as scripted:
        scripted.path = "/v1/chat/completions"
        yield scripted


@pytest.fixture
def thinking(model: ScriptedServer) -> Iterator[Thinking]:
    thinking = Thinking()
    model.script = thinking.script
    yield thinking
    thinking.may_answer.set()


@pytest.fixture
def reviewed(serve: MakeServer, model: ScriptedServer) -> Server:
    return serve("--reviewer", f"openai:{model.url}", "--reviewer-model", "scripted")


def summaries(server: Server, agent: str) -> list[str]:
    return [record["summary"] for record in server.records(agent, status="all").values()]


@pytest.mark.rule("TU-2", "EX-6", "IF-5")
@pytest.mark.parametrize("leave", [Server.stop, Server.kill], ids=["stopped", "killed"])
def test_a_turn_that_was_being_reviewed_commits_after_a_restart(
    reviewed: Server, thinking: Thinking, leave: Any
) -> None:
    agent = reviewed.configure("billing")
    turn = reviewed.begin(agent, messages=SAID)
    ended = reviewed.post(f"{turn.path}/end", {"outcome": "completed"}, 202)
    assert (ended["status"], ended["review"]["status"]) == ("ending", "pending")
    assert thinking.at_work.wait(30)
    assert reviewed.begin(agent).made["still_ending"] == [turn.id]
    leave(reviewed)

    thinking.may_answer.set()
    reviewed.start()
    committed = reviewed.get(turn.path, wait=25)
    assert (committed["status"], committed["review"]["added"]) == ("committed", 1)
    assert summaries(reviewed, agent) == [LEARNED]
    assert reviewed.begin(agent).made["still_ending"] == []


@pytest.mark.rule("TU-2", "EX-3")
def test_an_end_that_is_told_again_and_waited_for_reviews_once(reviewed: Server, thinking: Thinking) -> None:
    agent = reviewed.configure("billing")
    turn = reviewed.begin(agent, messages=SAID)
    key = {"Idempotency-Key": "end-1"}
    first = reviewed.http.post(f"{turn.path}/end", json={"outcome": "completed"}, headers=key)
    assert answered(first, 202)["status"] == "ending"
    again = reviewed.http.post(f"{turn.path}/end", json={"outcome": "completed"}, headers=key)
    assert again.headers["Idempotency-Replayed"] == "true"
    problem(reviewed.http.post(f"{turn.path}/end", json={"outcome": "failed"}), 409, "outcome_differs")
    thinking.may_answer.set()
    waited = reviewed.http.post(f"{turn.path}/end", params={"wait": 25}, json={"outcome": "completed"})
    assert answered(waited)["status"] == "committed"
    assert (thinking.proposed, summaries(reviewed, agent)) == (1, [LEARNED])


@pytest.mark.rule("EX-6")
def test_a_review_whose_model_is_down_fails_without_failing_its_turn_and_is_done_again(
    reviewed: Server, model: ScriptedServer, thinking: Thinking
) -> None:
    model.script = lambda body: (500, {})
    agent = reviewed.configure("billing")
    turn = reviewed.begin(agent, messages=SAID)
    ended = reviewed.http.post(f"{turn.path}/end", params={"wait": 25}, json={"outcome": "completed"})
    assert answered(ended)["status"] == "committed"
    assert (ended.json()["review"]["status"], ended.json()["review"]["error"]) == ("failed", "unavailable")
    failed = reviewed.get(f"/v1/agents/{agent}/turns", review="failed")["turns"]
    assert [one["turn_id"] for one in failed] == [turn.id]

    model.script = thinking.script
    thinking.may_answer.set()
    assert reviewed.post(f"{turn.path}/review", {}, 202)["review"]["status"] == "pending"
    assert reviewed.get(turn.path, wait=25)["review"]["added"] == 1
    assert summaries(reviewed, agent) == [LEARNED]
    problem(reviewed.http.post(f"{turn.path}/review"), 409, "no_failed_review")
