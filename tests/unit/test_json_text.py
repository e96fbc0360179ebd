"""JSON as the HTTP interface takes it: strict, and never more than a refusal."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.errors import InvalidRequest
from agent_memory.runtime.json_text import MAX_DEPTH, json_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=20,
)


@pytest.mark.rule("IF-1")
@given(VALUES)
def test_what_is_json_is_read_as_it_is(value: object) -> None:
    assert json_value(json.dumps(value)) == value
    assert json_value(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.rule("IF-1")
@given(st.text() | st.binary())
def test_whatever_comes_is_a_value_or_a_refusal(text: str | bytes) -> None:
    with suppress(InvalidRequest):
        json_value(text)


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "9" * 5000,
        '{"a": 1, "a": 1}',
        '[{"b": {"a": 1, "a": 2}}]',
        "01",
        "'a'",
    ],
)
def test_what_readers_take_for_different_things_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        json_value(text)


@pytest.mark.rule("IF-1")
@pytest.mark.parametrize("left, right", [("[", "]"), ('{"a":', "}")])  # noqa: PT006
def test_nesting_ends_where_the_store_ends(left: str, right: str) -> None:
    def nested(depth: int) -> str:
        return left * depth + "1" + right * depth

    json_value(nested(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 500, 100_000):
        with pytest.raises(InvalidRequest):
            json_value(nested(depth))


def test_many_brackets_are_not_deep() -> None:
    wide = [[[1]]] * 1000
    assert json_value(json.dumps(wide)) == wide


def test_a_lone_surrogate_is_left_for_the_models_to_name() -> None:
    assert json_value(r'{"a": "\ud800"}') == {"a": "\ud800"}
