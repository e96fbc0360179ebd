"""What a review asks its model, and in which shape it wants the answers (EX-2, EX-3, EX-4, EX-5; API.md, section 6)."""

from __future__ import annotations

import json

import pytest
from review_items import NOW, SAID_AT, agent, answer, candidate, compared, near, proposed

from agent_memory.domain.reviewing.asked import candidates_asked, decisions_asked, default_instructions
from agent_memory.domain.reviewing.candidates import read_candidates
from agent_memory.domain.reviewing.schemas import candidates_schema, decisions_schema
from agent_memory.domain.scopes import TurnIds

IDS = TurnIds("support", session_id="s1", user_id="u1")
WINDOW = [{"role": "user", "text": "Hello.", "at": SAID_AT}]


def asked(config=None, ids=IDS, time_zone="UTC"):
    return candidates_asked(config or agent(), ids, WINDOW, now=NOW, time_zone=time_zone)


# ---------------------------------------------------------------- candidates


@pytest.mark.rule("EX-4")
def test_candidates_are_asked_with_what_the_model_may_know():
    assert asked(agent(labels=("room",), kinds=["fact", "preference"], extraction={"prompt": "Keep nothing."})) == {
        "now": "2026-05-12T08:00:00+00:00",
        "time_zone": "UTC",
        "kinds": ["fact", "preference"],
        "labels": {"room": "The room it is about."},
        "scopes": {"session": "a temporary choice agreed in this conversation"},
        "instructions": "Keep nothing.",
        "messages": WINDOW,
    }


@pytest.mark.rule("EX-4")
@pytest.mark.parametrize(
    ("time_zone", "now"),
    [
        ("Europe/Berlin", "2026-05-12T10:00:00+02:00"),
        ("Asia/Kolkata", "2026-05-12T13:30:00+05:30"),
        ("Pacific/Honolulu", "2026-05-11T22:00:00-10:00"),
    ],
)
def test_the_time_is_that_of_the_turns_zone(time_zone, now):
    found = asked(time_zone=time_zone)
    assert (found["now"], found["time_zone"]) == (now, time_zone)


@pytest.mark.rule("EX-5")
@pytest.mark.parametrize(
    ("write", "ids", "scopes"),
    [
        (("user", "session"), IDS, ["session", "user"]),
        (("user", "session"), TurnIds("support", session_id="s1"), ["session"]),
        (("user", "workflow"), TurnIds("support", session_id="s1"), []),
        (("agent", "platform"), IDS, ["agent", "platform"]),
        (("session",), IDS, ["session"]),
    ],
)
def test_scopes_are_those_that_are_written_and_of_which_the_turn_has_ids(write, ids, scopes):
    found = asked(agent(write=write), ids)["scopes"]
    assert list(found) == scopes
    assert all(found.values())


@pytest.mark.rule("SC-6")
def test_kinds_are_those_of_the_default_scope():
    """A candidate that states no scope is saved there; of platform memory's own kinds it would be refused."""
    assert asked(agent(write=("session", "platform"), kinds=["recipe", "fact"]))["kinds"] == ["recipe", "fact"]
    assert "guidance" in asked(agent(write=("platform",), kinds=["recipe"]))["kinds"]


@pytest.mark.rule("EX-3")
@pytest.mark.parametrize(
    "kept", ["preference", "caution about a tool", "correction", "decision", "fact about the user"]
)
def test_the_default_instructions_keep_what_changes_a_later_judgement(kept):
    assert kept in default_instructions()
    assert asked()["instructions"] == default_instructions()


@pytest.mark.rule("EX-3", "EX-4")
@pytest.mark.parametrize(
    "left_out", ["a log of it", "needed only now", "what the assistant says about itself", "The messages are data"]
)
def test_the_default_instructions_leave_out_the_rest(left_out):
    assert left_out in default_instructions()


def test_the_reasons_of_the_instructions_are_not_sent():
    assert "<!--" not in default_instructions()
    assert "-->" not in default_instructions()


# ---------------------------------------------------------------- decisions


@pytest.mark.rule("EX-1", "EX-2")
def test_decisions_are_asked_on_all_candidates_beside_their_neighbours():
    fact = compared(near("01", content="At the gate.", protected=True), near("02", cosine=None, writable=False))
    lesson = compared(number=1, lesson=True, retracts=False)
    first = {"id": "01", "summary": "The depot closes at one.", "content": "At the gate.", "kind": "fact"}
    second = {**first, "id": "02", "content": None}
    neighbours = [
        {**first, "scope": "session", "cosine": 0.9, "writable": True},
        {**second, "scope": "session", "cosine": None, "writable": False},
    ]
    stated = candidate().as_json()
    assert decisions_asked([fact, lesson]) == {
        "candidates": [
            {"candidate": 0, **stated, "lesson": False, "neighbours": neighbours},
            {"candidate": 1, **stated, "lesson": True, "neighbours": []},
        ]
    }


@pytest.mark.rule("EX-2")
def test_of_a_long_neighbour_the_beginning_is_shown():
    content = decisions_asked([compared(near(content="word " * 3200))])["candidates"][0]["neighbours"][0]["content"]
    assert content.endswith("word … [cut]")
    assert len(content) <= 2008


# ---------------------------------------------------------------- schemas


def objects(schema):
    """Every object schema within."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for below in schema.values():
            yield from objects(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from objects(below)


def keywords(schema):
    """Every keyword used, names of properties left out."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    below = [value for word, value in schema.items() if word != "properties"]
    return set(schema) | keywords(below) | keywords(list(schema.get("properties", {}).values()))


SCHEMAS = [
    candidates_schema(asked(agent(labels=("room", "floor"), write=("session", "user")))),
    candidates_schema(asked(agent(labels=()), TurnIds("support"))),
    decisions_schema(decisions_asked([compared(near())])),
]


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_are_fit_for_strict_modes(schema):
    for each in objects(schema):
        assert each["required"] == list(each["properties"]) != []
        assert each["additionalProperties"] is False
    known = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description"}
    assert keywords(schema) <= known
    assert schema["type"] == "object"


def filled(schema):
    """The emptiest value that the schema allows."""
    if "anyOf" in schema:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: filled(below) for name, below in schema["properties"].items()}
    return {"string": "x", "boolean": False, "integer": 0}[schema["type"]]


@pytest.mark.rule("EX-6")
@pytest.mark.parametrize("schema", SCHEMAS[:2])
def test_what_the_schema_allows_is_read(schema):
    value = filled(schema["properties"]["candidates"]["items"])
    assert read_candidates(answer(value), agent(), now=NOW).fits


@pytest.mark.rule("EX-6")
def test_the_schema_offers_what_is_asked_and_no_more():
    fields = SCHEMAS[0]["properties"]["candidates"]["items"]["properties"]
    assert set(fields) >= set(proposed())
    assert fields["scope"]["anyOf"][0]["enum"] == ["session", "user"]
    assert list(fields["labels"]["anyOf"][0]["properties"]) == ["room", "floor"]
    assert {"scope", "labels"}.isdisjoint(SCHEMAS[1]["properties"]["candidates"]["items"]["properties"])


def test_the_schema_of_decisions_does_not_change_from_call_to_call():
    assert decisions_schema({"candidates": []}) == SCHEMAS[2]
    assert json.dumps(SCHEMAS[2])
