"""What a judgement takes (JD-1)."""

import pytest

from agent_memory.runtime.requests import JudgementBody, body_of


def faults(**given):
    _, found = body_of(JudgementBody, given)
    return {fault.path: fault.code for fault in found}


@pytest.mark.rule("JD-1")
@pytest.mark.parametrize(
    "given",
    [
        {"verdict": "accepted"},
        {"verdict": "accepted", "feedback": None, "judge": None},
        {"verdict": "rejected", "feedback": "x"},
        {"verdict": "rejected", "feedback": "字" * 4000, "judge": "j" * 128},
    ],
)
def test_a_rejection_has_feedback_and_an_acceptance_may(given):
    assert faults(**given) == {}


@pytest.mark.rule("JD-1")
@pytest.mark.parametrize("blank", [None, "", " \n\t", "\u200b", "\u3000"])
def test_a_rejection_that_says_nothing_is_refused(blank):
    assert faults(verdict="rejected", feedback=blank) == {"feedback": "invalid_request"}


@pytest.mark.rule("JD-1", "IF-1")
def test_all_faults_of_a_judgement_are_told_at_once():
    given = {"verdict": "rejected", "judge": "", "why": 1}
    assert faults(**given) == {"feedback": "invalid_request", "judge": "invalid_request", "why": "unknown_field"}
    assert set(faults(verdict="fine", feedback="x" * 4001, judge="j" * 129)) == {"verdict", "feedback", "judge"}
    assert set(faults(verdict="accepted", feedback="\ud800", judge=5)) == {"feedback", "judge"}
