"""How a turn of the client ends: what it waits for, and what happens when the end itself fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scripted_api import DROP, TURN_ID, Say, ScriptedApi, problem, scripted_api, turn

from agent_memory.client import AgentMemory, Conflict, Resending, ToolRefused, Turn, Unavailable

ENDING, COMMITTED = turn("ending"), turn("committed")
TURN = f"/prod/v1/agents/support/turns/{TURN_ID}"


@pytest.fixture(scope="module")
def api() -> Iterator[ScriptedApi]:
    with scripted_api() as api:
        yield api


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def opened(api: ScriptedApi, pauses: list[float]) -> Iterator[Turn]:
    """A turn that is open."""
    with AgentMemory(api.url, resending=Resending(attempts=2, sleep=pauses.append)) as memory:
        api.says(turn())
        yield memory.agent("support").turn(TURN_ID)


def targets(api: ScriptedApi) -> list[str]:
    return [asked.target for asked in api.asked]


@pytest.mark.rule("TU-2", "IF-3")
def test_the_end_is_waited_for(api: ScriptedApi, opened: Turn) -> None:
    api.says(ENDING, ENDING, ENDING, COMMITTED)
    assert opened.end().status == opened.state.status == "committed"
    assert targets(api) == [f"{TURN}/end?wait=25", *[f"{TURN}?wait=25"] * 3]
    assert api.asked[0].json == {"outcome": "completed"}


@pytest.mark.rule("TU-2")
@pytest.mark.parametrize(("wait", "target"), [(0, "end"), (0.2, "end?wait=1"), (7, "end?wait=7"), (90, "end?wait=25")])
def test_the_server_is_asked_to_wait_as_long_as_it_can(
    api: ScriptedApi, opened: Turn, wait: float, target: str
) -> None:
    api.says(COMMITTED)
    opened.end(wait=wait)
    assert targets(api) == [f"{TURN}/{target}"]


@pytest.mark.rule("TU-2")
def test_who_does_not_wait_is_told_that_it_is_ending(api: ScriptedApi, opened: Turn) -> None:
    api.says(ENDING)
    assert opened.end(wait=0).status == "ending"
    assert len(api.asked) == 1


@pytest.mark.rule("TU-2", "EX-6")
def test_a_review_that_is_done_again_is_waited_for(api: ScriptedApi, opened: Turn) -> None:
    reviewing, reviewed = (turn("committed", review=review(status)) for status in ("pending", "done"))
    api.says(Say(202, reviewing.body), reviewing, reviewed)
    assert opened.review_again().review.status == opened.state.review.status == "done"
    assert targets(api) == [f"{TURN}/review", *[f"{TURN}?wait=25"] * 2]


@pytest.mark.rule("TU-2")
def test_a_turn_that_is_open_is_not_waited_for(api: ScriptedApi, opened: Turn, pauses: list[float]) -> None:
    assert opened.wait().status == "open"
    assert pauses == []


def review(status: str) -> dict[str, Any]:
    return dict(turn().body["review"], status=status)


def test_a_server_that_does_not_hold_its_answer_is_not_hammered(
    api: ScriptedApi, opened: Turn, pauses: list[float]
) -> None:
    api.says(ENDING, ENDING, COMMITTED)
    opened.end()
    assert pauses == [0.5, 0.5]


@pytest.mark.rule("TU-1")
def test_the_error_that_leaves_the_block_is_named_by_its_class_alone(api: ScriptedApi, opened: Turn) -> None:
    api.says(turn("rolled_back", reason="failed"))
    with pytest.raises(KeyError), opened:
        raise KeyError("what a user said")
    assert [(asked.target, asked.json) for asked in api.asked] == [
        (f"{TURN}/end?wait=25", {"outcome": "failed", "error": "KeyError"})
    ]


@pytest.mark.parametrize("failure", [DROP, problem(503, "unavailable"), problem(409, "outcome_differs")])
def test_an_end_that_fails_does_not_hide_what_left_the_block(api: ScriptedApi, opened: Turn, failure: Say) -> None:
    api.says(failure)
    with pytest.raises(KeyError) as error, opened:
        raise KeyError
    assert TURN_ID in error.value.__notes__[0]


def test_a_commit_that_fails_is_raised(api: ScriptedApi, opened: Turn) -> None:
    api.says(problem(409, "turn_not_open"))
    with pytest.raises(Conflict), opened:
        pass


@pytest.mark.rule("TL-5")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "not_found", "message": "No."}, ToolRefused),
        ({"code": "unavailable", "message": "Nothing was changed; call it again."}, Unavailable),
    ],
)
def test_what_a_tool_could_not_do_is_raised_to_a_program_as_it_is(
    api: ScriptedApi, opened: Turn, error: dict[str, Any], kind: type[Exception]
) -> None:
    api.says(Say(body={"tool_execution_id": "t", "error": error}))
    assert opened.call_tool("read_memory", {"id": "x"}).error
    with pytest.raises(kind, match=error["message"]):
        opened.read("x")


def test_a_tools_name_cannot_lead_to_another_route(api: ScriptedApi, opened: Turn) -> None:
    api.says(problem(404, "not_found"))
    with pytest.raises(Exception, match="Not so"):
        opened.call_tool("../end?x=#", {})
    assert targets(api) == [f"{TURN}/tools/..%2Fend%3Fx%3D%23"]
