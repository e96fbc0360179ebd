"""A step of the state machine shows nothing of what broke it."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory.domain.errors import ReviewerUnavailable
from agent_memory.runtime.turn_ends import StepBroke, step

TEXT = "the teapot of Zanzibar"


@pytest.mark.rule("IF-1")
def test_what_a_fault_of_ours_says_is_not_kept_by_the_state_machine(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(event: Any, context: Any) -> dict[str, Any]:
        raise ValueError(TEXT)

    with pytest.raises(StepBroke) as raised:
        step(broken)({"turn_id": "01HZZZZZZZZZZZZZZZZZZZZZZZ"}, None)
    assert (str(raised.value), raised.value.__suppress_context__) == ("ValueError", True)
    assert TEXT not in "".join(capsys.readouterr())


def test_what_does_not_answer_is_raised_as_it_is_so_that_it_is_tried_again() -> None:
    def down(event: Any, context: Any) -> dict[str, Any]:
        raise ReviewerUnavailable("The model did not answer.")

    with pytest.raises(ReviewerUnavailable):
        step(down)({}, None)
