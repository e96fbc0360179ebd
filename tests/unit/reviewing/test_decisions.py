"""What may become of a candidate, and how the model's decisions are read (EX-1, EX-2, EX-6, EX-9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_items import answer, candidate, compared, near

from agent_memory.domain.reviewing.compared import Compared
from agent_memory.domain.reviewing.decisions import (
    NO_NEIGHBOUR,
    NOT_WRITABLE,
    PROTECTED,
    SAME,
    Add,
    Delete,
    Replace,
    Skip,
    decided_without_call,
    read_decisions,
)
from agent_memory.domain.reviewing.reading import faults_text


def decided(action, memory_id=None, number=0, reason="So it is."):
    """A decision as a model gives it."""
    return {"candidate": number, "action": action, "memory_id": memory_id, "reason": reason}


def read(values, *asked):
    return read_decisions(answer(*values, name="decisions"), asked)


def one(value, asked):
    """What becomes of the only candidate: a decision, or the faults of what was decided."""
    found = read([value], asked)
    return found.right[0][1] if found.right else found.wrong[0].faults


FACT = compared(near("01"), near("02"))
RETRACTION = compared(near("01"), near("02"), retracts=True)


# ---------------------------------------------------------------- which are allowed


@pytest.mark.rule("EX-1")
def test_a_fact_is_added_or_replaces_one_or_is_skipped():
    assert one(decided("add"), FACT) == Add("So it is.")
    assert one(decided("replace", "02"), FACT) == Replace("02", "So it is.")
    assert one(decided("skip"), FACT) == Skip("So it is.")
    assert one(decided("skip", "02"), FACT) == Skip("So it is.", "02")


@pytest.mark.rule("EX-1")
def test_a_retraction_deletes_one_or_is_skipped():
    assert one(decided("delete", "01"), RETRACTION) == Delete("01", "So it is.")
    assert one(decided("skip"), RETRACTION) == Skip("So it is.")


@pytest.mark.rule("EX-1", "EX-6")
@pytest.mark.parametrize(
    ("asked", "value", "told"),
    [
        (FACT, decided("delete", "01"), "action takes add, replace or skip here"),
        (RETRACTION, decided("add"), "action takes delete or skip here"),
        (RETRACTION, decided("replace", "01"), "action takes delete or skip here"),
        *(
            (FACT, decided(action), "action takes add, replace or skip here")
            for action in ("ADD", None, 5, ["add"], "")
        ),
        *((FACT, decided("replace", id), "memory_id takes") for id in (None, "", "9", "zzz", 1, ["01"])),
        (RETRACTION, decided("delete"), "memory_id takes"),
    ],
)
def test_what_is_not_allowed_is_wrong(asked, value, told):
    (fault,) = one(value, asked)
    assert fault.startswith(told)


@pytest.mark.rule("EX-9")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"protected": True}, PROTECTED),
        ({"writable": False}, NOT_WRITABLE),
        ({"protected": True, "writable": False}, PROTECTED),
    ],
)
def test_what_a_review_leaves_alone_is_skipped_with_that_reason(fields, reason):
    neighbours = near("01"), near("02", **fields)
    assert one(decided("replace", "02"), compared(*neighbours)) == Skip(reason, "02")
    assert one(decided("delete", "02"), compared(*neighbours, retracts=True)) == Skip(reason, "02")
    assert one(decided("replace", "01"), compared(*neighbours)) == Replace("01", "So it is.")


# ---------------------------------------------------------------- an answer


THREE = [compared(near("01"), number=0), compared(near("02"), number=4), compared(near("03"), number=7, retracts=True)]


@pytest.mark.rule("EX-6")
def test_a_wrong_decision_costs_its_own_candidate_alone():
    found = read([decided("add"), decided("replace", "01", 4), decided("delete", "9", 7)], *THREE)
    assert found.right == [(0, Add("So it is."))]
    assert [wrong.position for wrong in found.wrong] == [4, 7]


@pytest.mark.rule("EX-6")
def test_a_missing_candidate_is_wrong_and_one_that_was_not_asked_is_nobodys():
    found = read([decided("add", number=5), decided("add", number=4), "add", {"action": "add"}], *THREE)
    assert [number for number, _ in found.right] == [4]
    assert [wrong.position for wrong in found.wrong] == [0, 7]
    assert "decisions 0: this candidate takes a decision" in faults_text(found)
    assert read([decided("add"), decided("add", number=1)], FACT).fits


@pytest.mark.rule("EX-6")
def test_a_candidate_takes_one_decision():
    found = read([decided("add"), decided("skip"), decided("add", number=4), decided("add", None, 4, "Again.")], *THREE)
    assert found.right == [(4, Add("So it is."))]
    assert [wrong.position for wrong in found.wrong] == [0, 7]


@pytest.mark.rule("EX-6")
def test_true_is_no_number_of_a_candidate():
    assert not read([decided("add", number=True)], compared(near(), number=1)).right


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("text", ["", "All new.", '{"decisions": null}', answer(decided("add"), name="decisions")[:-1]])
def test_an_answer_without_the_whole_list_decides_nothing(text):
    found = read_decisions(text, [FACT])
    assert (found.whole, found.right) == (False, ())
    assert '"decisions"' in faults_text(found)


@pytest.mark.rule("EX-6")
def test_decisions_are_read_from_prose():
    text = f"Of {{two}}:\n```json\n{answer(decided('add'), name='decisions')}\n```"
    assert read_decisions(text, [FACT]).right == [(0, Add("So it is."))]


@pytest.mark.rule("EX-7")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, ""),
        (5, ""),
        ("  A\x00b\nc\x85 ", "A b c"),
        ("\ud83d half", "\ufffd half"),
        ("word " * 200, ("word " * 100).rstrip()),
        ("x" * 501, "x" * 500),
    ],
)
def test_a_reason_is_kept_in_bounds_whatever_was_given(given, kept):
    assert one(decided("add", reason=given), FACT) == Add(kept)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(0, 8) | st.text(st.characters(exclude_categories=[])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries(
            {"candidate": st.sampled_from([0, 4, 7])}, optional={"action": inner, "memory_id": inner}
        )
    ),
    max_leaves=8,
)


@pytest.mark.rule("EX-6")
@given(st.lists(JSON, max_size=4), st.text(max_size=3))
def test_every_candidate_is_right_or_wrong_once_whatever_was_answered(values, around):
    found = read_decisions(f"{around}{answer(*values, name='decisions')}{around}", THREE)
    positions = [number for number, _ in found.right] + [wrong.position for wrong in found.wrong]
    assert sorted(positions) == [0, 4, 7]


@pytest.mark.rule("EX-6")
def test_an_answer_nested_a_hundred_thousand_deep_is_read():
    deep = json.loads("[" * 300 + "]" * 300)
    assert read([decided(deep, deep), decided("add", number=4)], *THREE).right
    assert not read_decisions('{"decisions": [' + '{"candidate":' * 100_000, THREE).whole


# ---------------------------------------------------------------- without a call


@pytest.mark.rule("EX-2")
def test_without_a_near_neighbour_a_fact_is_added_and_a_retraction_skipped():
    assert decided_without_call(compared()) == Add(NO_NEIGHBOUR)
    assert decided_without_call(compared(retracts=True)) == Skip(NO_NEIGHBOUR)


@pytest.mark.rule("EX-2")
def test_a_text_that_is_there_already_is_skipped():
    neighbours = near("01"), near("02", "the  DEPOT closes\u00a0at\nnoon.")
    assert decided_without_call(compared(*neighbours)) == Skip(SAME, "02")


@pytest.mark.rule("EX-1", "EX-2")
def test_a_retraction_may_say_what_it_takes_back():
    text = candidate().summary
    assert decided_without_call(compared(near("01", text), retracts=True)) is None


@pytest.mark.rule("EX-2")
@pytest.mark.parametrize("lesson", [False, True])
def test_what_has_a_near_neighbour_is_for_the_model(lesson):
    assert decided_without_call(Compared(0, candidate(lesson=lesson), [near()])) is None
