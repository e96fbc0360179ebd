"""How faults are put into words: all of them, one a place, and nothing of what was given."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from agent_memory.domain.bodies import Body, Bounded, Different, GivenId, Name, OneLine, Several, Text, Whole
from agent_memory.domain.durations import Duration
from agent_memory.domain.faults import MAX_FAULTS, faults_of, path_of, tool_faults_of
from agent_memory.domain.instants import Instant


class Inner(Body):
    flag: bool
    score: Annotated[float, Field(ge=-1, le=1)] | None = None


class Sample(Body):
    count: Annotated[int, Field(ge=1, le=50), Whole] = 5
    title: Annotated[Text, Field(min_length=1, max_length=10), OneLine] = "t"
    names: Annotated[Several[Name], Field(min_length=1, max_length=3), Different, Bounded] = ("a",)
    mode: Literal["x", "y"] = "x"
    inner: Inner = Inner(flag=True)
    each: Several[Inner] = ()
    by_name: dict[Name, Duration] = Field({})
    at: Instant | None = None
    who: GivenId | None = None


def faults(body, model=Sample):
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    return faults_of(refused.value, model)


def told(body):
    return {fault.path: (fault.code, fault.message) for fault in faults(body)}


@pytest.mark.rule("CF-1", "IF-1")
@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({"count": "many"}, "count", "takes a whole number from 1 to 50"),
        ({"count": True}, "count", "takes a whole number from 1 to 50"),
        ({"count": 2.5}, "count", "takes a whole number from 1 to 50"),
        ({"count": 10**400}, "count", "takes a whole number from 1 to 50"),
        ({"title": "x" * 11}, "title", "takes text of 1 to 10 characters"),
        ({"title": "a\u2028b"}, "title", "takes one line, without line breaks"),
        ({"title": "\ud800"}, "title", "takes text without lone surrogates (halves of a surrogate pair)"),
        ({"names": "a"}, "names", "takes a list of 1 to 3, each text of the form [a-z][a-z0-9_]{0,63}"),
        ({"names": ["a", "B"]}, "names[1]", "takes text of the form [a-z][a-z0-9_]{0,63}"),
        ({"names": ["a", "a"]}, "names[1]", "takes a value that the list does not hold yet"),
        ({"mode": "z"}, "mode", "takes one of x, y"),
        ({"inner": 5}, "inner", "takes an object with the fields flag, score"),
        ({"inner": {}}, "inner.flag", "is required: takes true or false"),
        ({"inner": {"flag": 1}}, "inner.flag", "takes true or false"),
        ({"inner": {"flag": True, "score": float("nan")}}, "inner.score", "takes a number from -1 to 1"),
        ({"each": [{"flag": True}, 5]}, "each[1]", "takes an object with the fields flag, score"),
        ({"by_name": {"B": "1d"}}, "by_name.B", "takes text of the form [a-z][a-z0-9_]{0,63}"),
        ({"by_name": {"b": "1w"}}, "by_name.b", "takes a duration such as 30s, 15m, 12h or 30d, at most 36500d"),
        ({"by_name": []}, "by_name", "takes an object"),
        ({"at": 5}, "at", "takes a date and time with an offset, such as 2026-05-12T10:00:00+02:00"),
        ({"at": "2026-05-12"}, "at", "takes a date and time with an offset, such as 2026-05-12T10:00:00+02:00"),
        ({"who": "a\nb"}, "who", "takes text of 1 to 128 characters without control characters"),
        ([], "", "takes an object with the fields count, title, names, mode, inner, each, by_name, at, who"),
        (None, "", "takes an object with the fields count, title, names, mode, inner, each, by_name, at, who"),
    ],
)
def test_a_fault_says_where_it_is_and_what_the_place_takes(body, path, message):
    assert told(body) == {path: ("invalid_request", message)}


@pytest.mark.rule("CF-1")
def test_an_unknown_field_is_named_wherever_it_is():
    assert told({"colour": 1, "inner": {"flag": True, "hue": None}}) == {
        "inner.hue": ("unknown_field", "is not a field here: the object takes flag, score"),
        "colour": (
            "unknown_field",
            "is not a field here: the object takes count, title, names, mode, inner, each, by_name, at, who",
        ),
    }


@pytest.mark.rule("IF-1")
def test_all_faults_come_at_once_and_one_for_each_place():
    body = {"count": 0, "names": ["a", "a", "B", 5, "a"], "inner": {"x": 1}, "each": [7], "by_name": {"B": 1}, "at": ""}
    assert sorted(fault.path for fault in faults(body)) == sorted(
        ["count", "names[1]", "names[2]", "names[3]", "names[4]", "inner.flag", "inner.x", "each[0]", "by_name.B", "at"]
    )


def test_null_is_as_good_as_absent():
    assert Sample.model_validate(dict.fromkeys(Sample.model_fields)) == Sample()


def test_a_whole_number_may_be_spelled_with_a_point():
    assert Sample.model_validate({"count": 5.0}).count == 5


@pytest.mark.rule("IF-1")
def test_nothing_that_was_given_comes_back():
    secret = "hunter2-hunter2"
    body = {"count": secret, "title": secret, "names": [secret.upper()], "mode": secret, "inner": secret, "at": secret}
    with pytest.raises(ValidationError) as refused:
        Sample.model_validate(body | {"by_name": {"a": secret}, "who": secret * 20})
    assert "hunter2" not in repr(faults_of(refused.value, Sample)).lower()
    assert "hunter2" not in str(refused.value).lower()


def test_a_name_that_cannot_be_spelled_hides_no_other_fault():
    assert set(told({"\ud800": 1, "count": 0})) == {"\ufffd", "count"}


def test_a_long_name_is_cut():
    (fault,) = faults({"x" * 100_000: 1})
    assert len(fault.path) < 100


def test_a_body_of_many_faults_is_answered_in_few():
    found = faults({f"f{n}": n for n in range(20_000)})
    assert len(found) == MAX_FAULTS + 1
    assert found[-1].message.endswith("these are the first 100")


def test_a_list_that_is_far_too_long_is_one_fault():
    assert [fault.path for fault in faults({"names": ["B"] * 100_000})] == ["names"]


def test_deep_nesting_is_one_fault():
    deep = []
    for _ in range(900):
        deep = [deep]
    assert [fault.path for fault in faults({"inner": {"flag": deep}, "count": deep, "x": deep})] == [
        "count",
        "inner.flag",
        "x",
    ]


def test_a_path_is_spelled_with_points_and_brackets():
    assert path_of(("memory", "scope", "read", 0)) == "memory.scope.read[0]"


@pytest.mark.rule("TL-5")
def test_faults_of_a_tool_name_arguments_and_what_they_take():
    with pytest.raises(ValidationError) as refused:
        Sample.model_validate({"count": 0, "inner": {}, "x": 1})
    assert tool_faults_of(refused.value, Sample)[:2] == [
        {"argument": "count", "takes": "a whole number from 1 to 50"},
        {"argument": "inner.flag", "takes": "true or false (required)"},
    ]
