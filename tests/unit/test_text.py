"""Which characters a text may hold, and JSON values that no store can write."""

import json
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain import instants, json_values, text
from agent_memory.domain.durations import Duration
from agent_memory.domain.times import instant

any_text = st.text(st.characters(), max_size=200)  # lone surrogates too


@given(any_text)
def test_a_text_has_a_lone_surrogate_when_utf8_cannot_carry_it(given_text):
    try:
        given_text.encode()
        carried = True
    except UnicodeEncodeError:
        carried = False
    assert text.has_lone_surrogate(given_text) is not carried
    text.without_lone_surrogates(given_text).encode()


@pytest.mark.rule("GT-2")
@pytest.mark.parametrize(
    "refused",
    [
        *"\x00\x07\v\r\x1b\x7f\x85\u202a\u202e\u2066\u2069\u206a\u206f\ufdd0\uffff\U0001fffe\U0010ffff\U000e0041",
        "\U0001f3f4\U000e0067",
        "\U0001f1e9\U000e0067\U000e007f",
    ],
)
def test_a_character_that_no_memory_takes_is_found_anywhere(refused):
    assert text.has_refused(f"The depot{refused}closes.")


@pytest.mark.rule("GT-2")
@pytest.mark.parametrize(
    "kept",
    [
        "\t\n",
        "\u200c\u200d\u200e\u200f",
        "\u2764\ufe0f",
        "👩‍👩‍👧",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "שלום",
        "日本語",
    ],
)
def test_joiners_marks_of_direction_and_flags_of_regions_are_kept(kept):
    assert not text.has_refused(kept)


@given(any_text)
def test_a_line_breaks_where_python_splits_lines(given_text):
    assert text.has_line_break(given_text) == (len((given_text + "x").splitlines()) > 1)


@pytest.mark.rule("SC-5")
def test_controls_are_the_category_cc():
    assert [chr(c) for c in range(0x3000) if text.has_control(chr(c))] == [
        chr(c) for c in range(0x3000) if unicodedata.category(chr(c)) == "Cc"
    ]


@pytest.mark.rule("SC-5")
@pytest.mark.parametrize("given_id", ["a", "A-Z_09", "x" * 64])
def test_an_agent_id_is_safe_in_a_path(given_id):
    assert text.is_agent_id(given_id)


@pytest.mark.rule("SC-5")
@pytest.mark.parametrize("given_id", ["", "platform", "x" * 65, "a b", "a/b", "ä", "a\n", "١", "a#b", "."])
def test_what_is_no_agent_id(given_id):
    assert not text.is_agent_id(given_id)


@pytest.mark.rule("SC-5")
@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=128))
def test_an_id_from_the_harness_holds_any_other_character(given_id):
    assert text.is_given_id(given_id)


@pytest.mark.rule("SC-5")
@pytest.mark.parametrize("given_id", ["", "x" * 129, "a\x00", "\n", "\x7f", "\x85", "a\ud800", "\udfff"])
def test_what_is_no_id_from_the_harness(given_id):
    assert not text.is_given_id(given_id)


OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59)
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9999, 12, 30))


@given(MOMENTS, OFFSETS)
def test_an_instant_with_any_offset_is_taken(moment, minutes):
    sign = "-" if minutes < 0 else "+"
    given_text = moment.isoformat() + f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    assert instants.is_instant(given_text)
    assert instant(given_text) == moment.replace(tzinfo=UTC) - timedelta(minutes=minutes)


@pytest.mark.rule("RC-4", "IF-4")
@pytest.mark.parametrize(
    "given_text",
    [
        "2026-05-12T10:00:00",  # no offset
        "2026-05-12",
        "2026-05-12T10:00Z",
        "2026-05-12 10:00:00Z",
        "2026-02-30T10:00:00Z",
        "2026-05-12T24:00:00Z",
        "2026-05-12T10:00:60Z",
        "2026-05-12T10:00:00+24:00",
        "2026-05-12T10:00:00+02:60",
        "2026-05-12T10:00:00+0200",
        "2026-05-12T10:00:00.Z",
        "2026-05-12T10:00:00Z\n",
        "２０２６-05-12T10:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",  # the year 0 in UTC
        "9999-12-31T23:59:59-14:00",  # the year 10000
        "10000-01-01T00:00:00Z",
        "yesterday",
        "",
    ],
)
def test_what_is_no_instant(given_text):
    assert not instants.is_instant(given_text)


@given(st.text(max_size=40))
def test_no_text_breaks_the_check_of_an_instant(given_text):
    assert not instants.is_instant(given_text)


@given(st.integers(1, 36_500 * 86_400), st.sampled_from("smhd"))
def test_a_duration_lasts_as_long_as_it_says_and_keeps_its_spelling(number, unit):
    span = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}[unit]
    number = min(number, timedelta(days=36_500) // span)
    duration = Duration.parse(f"{number}{unit}")
    assert duration.span == number * span
    assert str(duration) == f"{number}{unit}"
    assert datetime(2026, 1, 1, tzinfo=UTC) + duration == datetime(2026, 1, 1, tzinfo=UTC) + number * span


@pytest.mark.parametrize(
    "spelling", ["", "0s", "1", "s", "1.5h", "-1d", "1w", "1 d", "01d", "36501d", "9999999999d", "1d\n", "１d"]
)
def test_what_is_no_duration(spelling):
    with pytest.raises(ValueError):
        Duration.parse(spelling)


def nested(depth):
    value = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": [1, 2.5, None, True, "x\x00"]}, None),
        (nested(64), None),
        (nested(65), "nested"),
        (nested(900), "nested"),
        ({"a": ["\ud800"]}, "surrogates"),
        ({"\ud800": 1}, "surrogates"),
        ([float("nan")], "NaN"),
        ({"a": -float("inf")}, "infinite"),
    ],
)
def test_a_json_value_that_cannot_be_kept_is_told_and_likened(value, fault):
    found = json_values.fault_of(value)
    assert (found is None) if fault is None else (fault in found)
    kept = json_values.keepable(value)
    assert json_values.fault_of(kept) is None
    json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()
    assert kept is value or fault is not None


@given(
    st.recursive(
        st.none() | st.floats() | any_text, lambda v: st.lists(v) | st.dictionaries(any_text, v), max_leaves=30
    )
)
def test_a_likeness_can_always_be_kept(value):
    assert json_values.fault_of(json_values.keepable(value)) is None
