"""How the model's list of candidates is read (EX-1, EX-5, EX-6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_items import NOW, agent, answer, proposed

from agent_memory.domain.reviewing.candidates import Candidate, faults_text, read_candidates

EVERY_SCOPE = ("session", "user", "agent")


def read(text, config=None):
    return read_candidates(text, config or agent(), now=NOW)


def one(config=None, **fields):
    """The candidate that the fields make; it must be right."""
    ((_, candidate),) = read(answer(proposed(**fields)), config).right
    return candidate


def faults(config=None, **fields):
    (wrong,) = read(answer(proposed(**fields)), config).wrong
    return wrong.faults


# ---------------------------------------------------------------- a candidate


@pytest.mark.rule("EX-6")
def test_a_candidate_has_what_it_states_and_nothing_else():
    labels = {"room": "4 b"}
    stated = {
        "content": "Said twice.",
        "labels": labels,
        "scope": "session",
        "memory_key": "depot.hours",
        "priority": 0,
    }
    times = {"occurred_at": "2026-05-01T10:00:00+02:00", "expires_at": "2026-06-01T00:00:00Z"}
    whole = one(kind="event", **stated, **times)
    assert whole == Candidate(False, "The depot closes at noon.", "event", **stated, **times)
    assert whole.as_json() == {"retracts": False, "summary": whole.summary, "kind": "event", **stated, **times}
    assert one(retracts=True) == Candidate(True, "The depot closes at noon.", "fact")


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("absent", [None, ""])
def test_null_and_an_empty_text_mean_not_stated(absent):
    names = ("content", "labels", "scope", "memory_key", "priority", "occurred_at", "expires_at")
    assert one(**dict.fromkeys(names, absent)) == one()
    assert one(labels={"room": absent}) == one()


@pytest.mark.rule("EX-6", "EX-9")
def test_what_a_candidate_does_not_have_is_ignored():
    assert one(pinned=True, confidence="high", replaces=5, colour={"a": [1]}) == one()


@pytest.mark.rule("EX-6", "RC-1", "RC-2", "RC-4")
@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *(("retracts", wrong) for wrong in (None, "no", 0)),
        *(("summary", wrong) for wrong in (None, "", 5, "x" * 301, "a\u2028b", "a\nb", "\ud83d", "a\x00b", "a\u202eb")),
        *(("content", wrong) for wrong in (5, "x" * 16_001, "\udfff", "a\x00b", "a\ufffeb", "a\U000e0041b")),
        *(("kind", wrong) for wrong in (None, "", "preference", "Fact", 5)),
        *(
            ("labels", wrong)
            for wrong in ("room", [], {"room": 5}, {"room": "x" * 257}, {"zoo": "a"}, {"room": "\x00"})
        ),
        *(("memory_key", wrong) for wrong in (5, "a\nb", "x" * 129)),
        *(("priority", wrong) for wrong in (-1, 101, "high", 2.5, float("nan"), 10**400)),
        *(("occurred_at", wrong) for wrong in ("2026-05-12", "2026-05-12T10:00:00", 5)),
        *(("expires_at", wrong) for wrong in ("2026-05-12T08:00:00Z", "2026-06-12T10:00:00", "soon")),
    ],
)
def test_a_field_that_does_not_fit_makes_its_candidate_wrong_and_no_other(field, wrong):
    found = read(answer(proposed("One."), proposed(**{field: wrong}), proposed("Three.")))
    assert [(position, right.summary) for position, right in found.right] == [(0, "One."), (2, "Three.")]
    ((position, told),) = [(each.position, each.faults) for each in found.wrong]
    assert position == 1
    assert any(fault.startswith(field) or field in fault.split(":")[-1] for fault in told)
    assert found.whole
    assert not found.fits


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("value", [None, 5, "x", [], [proposed()], True])
def test_what_is_no_object_is_no_candidate(value):
    found = read(answer(value, proposed()))
    assert [position for position, _ in found.right] == [1]
    assert [wrong.position for wrong in found.wrong] == [0]


@pytest.mark.rule("EX-5", "SC-3")
@pytest.mark.parametrize("scope", ["user", "platform", "everyone", "Session", 5, ["session"], {}])
def test_a_scope_that_is_not_written_gives_way_to_the_default_one(scope):
    assert one(scope=scope).scope is None
    assert one(agent(write=EVERY_SCOPE), scope="user").scope == "user"


@pytest.mark.rule("EX-5", "SC-6")
def test_platform_memory_knows_kinds_of_its_own():
    config = agent(write=("session", "platform"), kinds=["recipe"])
    assert one(config, kind="lesson", scope="platform").kind == "lesson"
    assert one(config, kind="recipe").kind == "recipe"
    assert "kind takes one of recipe here" in faults(config, kind="lesson")


@pytest.mark.rule("EX-6", "TU-5")
def test_of_candidates_out_of_all_measure_the_first_1000_stand():
    found = read(answer(*(proposed(f"Fact {n}.") for n in range(1030))))
    assert [position for position, _ in found.right] == list(range(1000))
    assert [wrong.position for wrong in found.wrong] == [1000]


# ---------------------------------------------------------------- where the list stands


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("", ""),
        ("Here you are:\n```json\n", "\n```\nAnything else?"),
        ("Based on {about travel} and [notes]: ", " {that is all}"),
        ('I thought of {"candidates": []} first, then {"a": {"b": [1]}}: ', ' {"and": "more"}'),
        ('He said "{', '}" and left.'),
        ('{"result": ', "}"),
        ("\ufeff{{{[", "]}}}"),
        ("<think>{'candidates': [...]}</think>", ""),
    ],
)
def test_the_list_is_read_wherever_it_stands(before, behind):
    found = read(before + answer(proposed("Travels by train.")) + behind)
    assert [candidate.summary for _, candidate in found.right] == ["Travels by train."]
    assert found.fits


@pytest.mark.rule("EX-6")
@given(
    st.text("{}[]\"':, \\\na1"),
    st.lists(st.text("ab{}[]\"\\'", min_size=1, max_size=9), max_size=4),
    st.text("{}[]\"':, \\\na1"),
)
def test_any_list_is_read_in_any_prose(before, summaries, behind):
    found = read(before + "\n" + json.dumps({"candidates": [proposed(s) for s in summaries]}, indent=1) + behind)
    assert [candidate.summary for _, candidate in found.right] == summaries


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I found nothing worth keeping.",
        "[]",
        json.dumps([proposed()]),
        json.dumps(proposed()),
        '{"candidates": null}',
        '{"candidates": {}}',
        '{"memories": []}',
        answer(proposed(), proposed())[:-9],
        answer(proposed())[:-1],
    ],
)
def test_an_answer_without_the_whole_list_is_never_an_empty_one(text):
    found = read(text)
    assert (found.whole, found.fits, found.right, found.wrong) == (False, False, (), ())
    assert '"candidates"' in faults_text(found)


@pytest.mark.rule("EX-6")
def test_an_empty_list_is_a_whole_answer():
    assert read(answer()).fits


@pytest.mark.rule("EX-6")
def test_line_breaks_within_a_text_are_read_as_models_write_them():
    text = '{"candidates": [{"retracts": false, "summary": "A.", "kind": "fact", "content": "One.\nTwo."}]}'
    ((_, candidate),) = read(text).right
    assert candidate.content == "One.\nTwo."


@given(st.text())
def test_no_text_is_too_strange_to_be_read(text):
    assert read(text).whole is read(f"{text} ").whole
    read(f'{{"candidates": [{text}]}}')


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*proposed(), "labels", "x"]), inner),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=3))
def test_no_candidate_is_too_strange_to_be_told_of(values):
    found = read(answer(*values))
    assert found.whole
    assert len(found.right) + len(found.wrong) == len(values)


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"',
        '{"a":',
        '{"a":[',
        "[{",
        '{"candidates":[',
        '{"candidates":[]}',
        '{"a":{}}',
        "{}",
        '"{',
        '{"a":1,',
        "9" * 5000,
    ],
)
def test_two_hundred_thousand_hostile_characters_are_read_in_good_time(unit):
    """Would not end in the lifetime of a test run if it took quadratic time."""
    text = (unit * 200_000)[:200_000]
    for answered in (text, f'{{"candidates": [{text}'):
        assert read(answered) is not None


# ---------------------------------------------------------------- what is told of it


@pytest.mark.rule("EX-6", "EX-7", "GT-1")
def test_a_correction_names_fields_and_what_they_take_and_repeats_nothing():
    secret = {"summary": "qqsecret\n", "kind": "qqsecret", "priority": "qqsecret", "occurred_at": "qqsecret"}
    labels = [{"qqsecret": 5}, {"qqsecret": "a"}, {"room": ["qqsecret"]}]
    found = read(answer(secret, *(proposed(labels=each) for each in labels), "qqsecret", proposed()))
    told = faults_text(found)
    assert "qqsecret" not in told
    assert "qqsecret" not in repr(found.wrong)
    assert "candidates 0: retracts takes true or false (required); summary takes one line" in told
    assert "candidates 1: labels takes " in told


@pytest.mark.rule("EX-7")
def test_of_what_is_wrong_the_length_is_known():
    value = proposed("a\nb")
    (wrong,) = read(answer(value)).wrong
    assert wrong.length == len(json.dumps(value))


def test_a_correction_stays_short():
    assert len(faults_text(read(answer(*(proposed("x" * 301) for _ in range(100)))))) < 2000
