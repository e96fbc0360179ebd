"""The native tools: what a call takes, what an agent's configuration allows, and what a model is offered."""

import contextlib
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.configuration import parse_config
from agent_memory.domain.errors import ToolRefused
from agent_memory.domain.precedence import PLATFORM_KINDS
from agent_memory.domain.tool_schemas import PURPOSES, Dialect, tool_schemas
from agent_memory.domain.tools import (
    TOOLS,
    AddMemory,
    DeleteMemory,
    ReadMemory,
    SearchMemory,
    offered_tools,
    parse_tool_input,
)

ALL_TOOLS = ["search_memory", "add_memory", "read_memory", "delete_memory"]
EVERY_SCOPE = ["session", "workflow", "user", "agent"]
NOW = datetime(2026, 5, 12, 8, tzinfo=UTC)


def agent(*, write=EVERY_SCOPE, labels=("room",), **memory):
    described = {name: {"number": 5 + n, "description": f"The {name}."} for n, name in enumerate(labels)}
    settings = {"enabled": True, "tools": ALL_TOOLS[1:], "scope": {"read": EVERY_SCOPE, "write": list(write)}}
    return parse_config({"memory": {**settings, "labels": described, **memory}})


def call(tool, raw, config=None, conversation="agent", **rest):
    return parse_tool_input(tool, raw, config or agent(), conversation, **rest)


def refused(tool, raw, config=None, conversation="agent", **rest):
    with pytest.raises(ToolRefused) as refusal:
        call(tool, raw, config, conversation, **rest)
    return refusal.value


def told(refusal):
    return {fault["argument"]: fault["takes"] for fault in refusal.details["faults"]}


# ---- what a call takes


@pytest.mark.rule("TL-1", "TL-2", "TL-3", "TL-4", "RC-4")
def test_arguments_left_out_have_their_defaults():
    assert call("search_memory", None) == call("search_memory", {}) == SearchMemory()
    saved = call("add_memory", {"summary": "A fact.", "kind": "fact"})
    assert (saved.content, saved.labels, saved.scope, saved.replaces) == (None, {}, None, ())
    assert (saved.priority, saved.confidence, saved.occurred_at, saved.expires_at) == (50, 1.0, None, None)
    assert call("read_memory", {"id": "01"}) == ReadMemory(id="01")
    assert call("delete_memory", {"id": "01"}) == DeleteMemory(id="01")


@pytest.mark.rule("TL-5")
@pytest.mark.parametrize("blank", [None, ""])
@pytest.mark.parametrize("model", [SearchMemory, AddMemory])
def test_an_optional_argument_that_is_null_or_empty_is_absent(model, blank):
    tool = next(name for name, input in TOOLS.items() if input is model)
    required = {"summary": "A fact.", "kind": "fact"} if model is AddMemory else {}
    assert call(tool, dict.fromkeys(model.model_fields, blank) | required) == call(tool, required)


@pytest.mark.rule("TL-5")
@pytest.mark.parametrize("blank", [None, ""])
@pytest.mark.parametrize(
    ("tool", "argument"), [("add_memory", "summary"), ("add_memory", "kind"), ("read_memory", "id")]
)
def test_a_required_argument_that_is_null_or_empty_is_a_fault(tool, argument, blank):
    refusal = refused(
        tool, {"summary": "A fact.", "kind": "fact"} | {argument: blank} if tool == "add_memory" else {"id": blank}
    )
    assert (refusal.code, refusal.argument) == ("invalid_input", argument)


@pytest.mark.rule("TL-1", "TL-5")
@pytest.mark.parametrize("wrong", [-1, 0, 51, 2.5, "x", 10**9, True, [], {}])
@pytest.mark.parametrize("query", [{}, {"query": "one"}])
def test_a_broken_limit_is_a_fault_of_the_input(query, wrong):
    refusal = refused("search_memory", {**query, "limit": wrong})
    assert (refusal.code, refusal.argument) == ("invalid_input", "limit")
    assert told(refusal) == {"limit": "a whole number from 1 to 50"}


@pytest.mark.rule("RC-2", "TL-5")
@pytest.mark.parametrize(
    "labels",
    [
        "work",
        5,
        ["work"],
        [],
        True,
        {"room": 5},
        {"room": ["a"]},
        {"room": {"a": 1}},
        {"room": None},
        {"room": ""},
        {"room": "x" * 257},
        {"room": "\ud800"},
    ],
)
@pytest.mark.parametrize(
    ("tool", "raw"), [("search_memory", {}), ("add_memory", {"summary": "A fact.", "kind": "fact"})]
)
def test_a_label_holds_text_alone(tool, raw, labels):
    refusal = refused(tool, {**raw, "labels": labels})
    assert refusal.code == "invalid_input"
    assert refusal.argument == ("labels.room" if isinstance(labels, dict) else "labels")


@pytest.mark.rule("RC-2")
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=256))
def test_a_label_holds_any_text_to_the_character(value):
    assert call("search_memory", {"labels": {"room": value}}).labels == {"room": value}


@pytest.mark.rule("RC-1")
@given(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"),
        min_size=1,
        max_size=300,
    )
)
def test_a_summary_is_kept_to_the_character(summary):
    assert call("add_memory", {"summary": summary, "kind": "fact", "content": summary}).summary == summary


@pytest.mark.rule("RC-1")
@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        *(({"summary": f"a{line_break}b"}, "summary") for line_break in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"),
        ({"summary": "x" * 301}, "summary"),
        ({"summary": "a\ud800"}, "summary"),
        ({"content": "x" * 16_001}, "content"),
        ({"content": "\udfff"}, "content"),
    ],
)
def test_a_summary_is_one_line_and_texts_have_bounds(fields, argument):
    refusal = refused("add_memory", {"summary": "A fact.", "kind": "fact", **fields})
    assert (refusal.code, list(told(refusal))) == ("invalid_input", [argument])


@pytest.mark.rule("RC-4", "TL-5")
@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        *(("priority", wrong) for wrong in (-1, 101, 2.5, "high", True)),
        *(("confidence", wrong) for wrong in (-0.1, 1.1, "1", True, float("nan"))),
        *(
            (at, wrong)
            for at in ("occurred_at", "expires_at")
            for wrong in ("2026-05-12T10:00:00", "today", 5, "2026-02-30T00:00:00Z")
        ),
        ("replaces", ["01"] * 11),
        ("replaces", 5),
        ("replaces", [5]),
        ("scope", 5),
        ("kind", 5),
    ],
)
def test_a_value_out_of_range_is_a_fault(argument, wrong):
    refusal = refused("add_memory", {"summary": "A fact.", "kind": "fact", argument: wrong})
    assert refusal.code == "invalid_input"
    assert refusal.argument.startswith(argument)


@pytest.mark.rule("TL-2")
def test_one_id_is_as_good_as_a_list_of_one():
    fact = {"summary": "A fact.", "kind": "fact"}
    assert (
        call("add_memory", {**fact, "replaces": "01"}).replaces
        == call("add_memory", {**fact, "replaces": ["01"]}).replaces
        == ("01",)
    )


@pytest.mark.rule("TL-2", "TU-5")
def test_a_record_that_is_named_twice_is_replaced_once():
    saved = call("add_memory", {"summary": "A fact.", "kind": "fact", "replaces": ["02", "01", "02"]})
    assert saved.replaces == ("02", "01")


@pytest.mark.rule("RC-4")
def test_given_instants_come_back_as_given():
    saved = call("add_memory", {"summary": "A fact.", "kind": "fact", "occurred_at": "2026-05-12T10:00:00.5+02:00"})
    assert saved.occurred_at == "2026-05-12T10:00:00.5+02:00"


@pytest.mark.rule("TL-2")
@pytest.mark.parametrize(
    ("expires_at", "is_taken"), [("2026-05-12T10:00:00+02:00", False), ("2026-05-12T10:00:00.001+02:00", True)]
)
def test_a_record_expires_later_than_now(expires_at, is_taken):
    raw = {"summary": "A fact.", "kind": "fact", "expires_at": expires_at}
    assert call("add_memory", raw).expires_at == expires_at
    if is_taken:
        assert call("add_memory", raw, now=NOW).expires_at == expires_at
    else:
        assert "later than now" in told(refused("add_memory", raw, now=NOW))["expires_at"]


@pytest.mark.rule("TL-1")
def test_ids_go_with_neither_query_nor_limit_nor_after():
    assert list(told(refused("search_memory", {"ids": ["01"], "query": "x", "limit": 5, "after": "c"}))) == [
        "query",
        "limit",
        "after",
    ]
    assert call("search_memory", {"ids": ["b", "a", "b"], "query": " ", "kind": "fact", "labels": {}}).ids == ("b", "a")
    assert "ids" in told(refused("search_memory", {"ids": ["01"] * 51}))


@pytest.mark.rule("TL-1")
def test_a_page_is_of_a_list():
    assert list(told(refused("search_memory", {"query": "x", "after": "c"}))) == ["after"]
    assert call("search_memory", {"query": "\u200b", "after": "c", "limit": 5}).after == "c"


@pytest.mark.rule("RK-7")
def test_a_query_of_10000_characters_is_taken():
    assert call("search_memory", {"query": "x" * 10_000}).query == "x" * 10_000
    assert told(refused("search_memory", {"query": "x" * 10_001})) == {"query": "text of at most 10,000 characters"}


@pytest.mark.rule("TL-5")
def test_every_fault_of_an_input_is_told_and_the_first_is_named():
    refusal = refused(
        "add_memory",
        {
            "summary": "secret\nword",
            "kind": 7,
            "labels": {"room": 1, "floor": ""},
            "confidence": "secret",
            "pinned": "yes",
            "memory_key": "a\nb",
            "tone": "kind",
        },
    )
    assert (refusal.code, refusal.argument) == ("invalid_input", "summary")
    assert list(told(refusal)) == [
        "summary",
        "kind",
        "labels.room",
        "labels.floor",
        "memory_key",
        "pinned",
        "confidence",
        "tone",
    ]
    assert told(refusal)["tone"].startswith("nothing: it is not an argument")
    assert "secret" not in refusal.message + repr(refusal.details)


@pytest.mark.rule("TL-5")
@pytest.mark.parametrize("raw", [[], "x", 5, True, ""])
def test_an_input_that_is_no_object_is_a_fault_of_the_input(raw):
    refusal = refused("search_memory", raw)
    assert (refusal.code, refusal.argument) == ("invalid_input", "input")


@given(
    st.sampled_from(ALL_TOOLS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda v: (
            st.lists(v, max_size=3)
            | st.dictionaries(
                st.sampled_from(["summary", "kind", "labels", "room", "ids", "id", "replaces"]), v, max_size=4
            )
        ),
        max_leaves=15,
    ),
)
def test_no_input_breaks_the_check(tool, raw):
    with contextlib.suppress(ToolRefused):
        assert isinstance(call(tool, raw), TOOLS[tool])


# ---- what the configuration allows


@pytest.mark.rule("CF-1", "CF-5")
def test_a_tool_that_is_not_offered_is_refused_naming_those_that_are():
    without = agent(tools=["read_memory"])
    assert refused("add_memory", {"nonsense": 1}, without, "helper:h").code == "not_offered"
    assert refused("add_memory", {}, without).message.endswith("offered are search_memory, read_memory.")
    assert refused("search_memory", {}, agent(enabled=False)).code == "not_offered"


@pytest.mark.rule("TL-6")
@pytest.mark.parametrize("conversation", ["helper:h", "program:p"])
def test_only_the_agent_itself_writes(conversation):
    for tool in ("add_memory", "delete_memory"):
        assert refused(tool, {"nonsense": 1}, conversation=conversation).code == "read_only"
    assert call("search_memory", {}, conversation=conversation) == SearchMemory()
    assert call("read_memory", {"id": "01"}, conversation=conversation) == ReadMemory(id="01")


@pytest.mark.rule("RC-2", "CF-3")
def test_only_saving_needs_a_kind_that_is_declared():
    refusal = refused("add_memory", {"summary": "A fact.", "kind": "opinion"})
    assert (refusal.code, refusal.argument) == ("kind_not_declared", "kind")
    assert refusal.message == "kind takes one of guidance, fact, event, reference here."
    assert call("search_memory", {"kind": "opinion"}).kind == "opinion"


@pytest.mark.rule("RC-2")
@pytest.mark.parametrize("name", ["floor", "$or", "OR", "x" * 64, ""])
@pytest.mark.parametrize(
    ("tool", "raw"), [("search_memory", {}), ("add_memory", {"summary": "A fact.", "kind": "fact"})]
)
def test_an_undeclared_label_is_refused_naming_those_that_are(tool, raw, name):
    refusal = refused(tool, {**raw, "labels": {"room": "1", name: "x"}})
    assert (refusal.code, refusal.argument) == ("label_not_declared", f"labels.{name}")
    assert "room" in refusal.message
    assert "declares no labels" in refused(tool, {**raw, "labels": {name: "x"}}, agent(labels=())).message


@pytest.mark.rule("SC-3")
def test_a_scope_that_is_not_written_is_refused_naming_the_choices():
    fact = {"summary": "A fact.", "kind": "fact"}
    config = agent(write=["agent", "session"])
    assert call("add_memory", {**fact, "scope": "agent"}, config).scope == "agent"
    for scope in ("user", "platform", "galaxy"):
        refusal = refused("add_memory", {**fact, "scope": scope}, config)
        assert (refusal.code, refusal.argument) == ("scope_not_allowed", "scope")
        assert refusal.message == "scope takes session or agent here."
    assert call("add_memory", {**fact, "scope": "session"}, agent(write=["session"])).scope == "session"


@pytest.mark.rule("SC-6")
def test_what_goes_to_platform_has_one_of_the_kinds_that_all_agents_share():
    config = agent(write=["session", "platform"], kinds=["fact", "rule"])
    platform = {"summary": "A fact.", "scope": "platform"}
    for kind in PLATFORM_KINDS:
        assert call("add_memory", {**platform, "kind": kind}, config).kind == kind
    refusal = refused("add_memory", {**platform, "kind": "rule"}, config)
    assert (refusal.code, refusal.argument) == ("kind_not_declared", "kind")
    assert refusal.message == f"kind takes one of {', '.join(PLATFORM_KINDS)} here."
    assert refused("add_memory", {"summary": "A fact.", "kind": "lesson"}, config).code == "kind_not_declared"
    assert call("add_memory", {"summary": "A fact.", "kind": "lesson"}, agent(write=["platform"])).scope is None


@pytest.mark.rule("CF-2")
def test_an_agent_that_writes_no_scope_saves_nothing():
    assert refused("add_memory", {"summary": "A fact.", "kind": "fact"}, agent(write=[])).code == "scope_not_allowed"


# ---- what a model is offered


def unwrapped(dialect, tool):
    match dialect:
        case "anthropic":
            assert set(tool) == {"name", "description", "input_schema"}
            return tool["name"], tool["description"], tool["input_schema"]
        case "openai":
            assert set(tool) == {"type", "function"}
            assert tool["type"] == "function"
            assert set(tool["function"]) == {"name", "description", "parameters"}
            return tuple(tool["function"].values())
        case "bedrock":
            assert set(tool) == {"toolSpec"}
            assert set(tool["toolSpec"]) == {"name", "description", "inputSchema"}
            assert set(tool["toolSpec"]["inputSchema"]) == {"json"}
            spec = tool["toolSpec"]
            return spec["name"], spec["description"], spec["inputSchema"]["json"]


def schemas(config, audience="agent", dialect="anthropic"):
    return {
        name: schema
        for name, _, schema in (unwrapped(dialect, tool) for tool in tool_schemas(config, dialect, audience))
    }


def assert_plain(schema):
    """One type a place, nothing referred to, no choice of types, every argument described."""
    assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf", "title", "pattern"} & set(schema)
    assert schema["type"] in ("string", "integer", "number", "boolean", "array", "object")
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False
        for below in schema["properties"].values():
            assert below["description"]
            assert_plain(below)
    if schema["type"] == "array":
        assert_plain(schema["items"])


@pytest.mark.rule("CF-8")
@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_a_tool_is_one_plain_schema_in_the_wrapper_of_each_dialect(dialect):
    config = agent()
    assert list(schemas(config, dialect=dialect)) == ALL_TOOLS
    assert schemas(config, dialect=dialect) == schemas(config)
    for tool in tool_schemas(config, dialect):
        _, description, schema = unwrapped(dialect, tool)
        assert description.endswith(".")
        assert "\n" not in description
        assert set(schema["required"]) <= set(schema["properties"])
        assert_plain(schema)


@pytest.mark.rule("CF-5", "CF-8")
@pytest.mark.parametrize(
    ("config", "audience", "names"),
    [
        (agent(enabled=False), "agent", []),
        (agent(tools=[]), "agent", ["search_memory"]),
        (agent(tools=["delete_memory"]), "agent", ["search_memory", "delete_memory"]),
        (agent(), "agent", ALL_TOOLS),
        (agent(), "helper", ["search_memory", "read_memory"]),
        (agent(), "program", ["search_memory", "read_memory"]),
    ],
)
def test_offered_is_what_the_configuration_offers_to_those_who_may_call_it(config, audience, names):
    assert list(schemas(config, audience)) == offered_tools(config, audience) == names


@pytest.mark.rule("CF-8")
def test_descriptions_carry_kinds_and_labels_and_the_number_of_results():
    offered = schemas(agent(kinds=["fact", "rule"], labels=("room", "floor"), search={"max_results": 7}))
    assert offered["add_memory"]["properties"]["kind"]["enum"] == ["fact", "rule"]
    search = offered["search_memory"]["properties"]
    assert "fact, rule" in search["kind"]["description"]
    assert "enum" not in search["kind"]  # kinds that an earlier version declared can be searched for
    assert {n: s["description"] for n, s in search["labels"]["properties"].items()} == {
        "room": "The room.",
        "floor": "The floor.",
    }
    assert search["limit"]["description"].endswith("Default 7.")


@pytest.mark.rule("CF-8", "SC-3")
def test_the_scope_is_offered_where_more_than_the_session_is_written():
    for write in ([], ["session"]):
        assert "scope" not in schemas(agent(write=write))["add_memory"]["properties"]
    scope = schemas(agent(write=["agent", "user"]))["add_memory"]["properties"]["scope"]
    assert scope["enum"] == ["user", "agent"]
    assert all(PURPOSES[name] in scope["description"] for name in scope["enum"])
    assert scope["description"].endswith("Default user.")


@pytest.mark.rule("CF-8")
def test_arguments_that_are_not_allowed_are_absent():
    offered = schemas(agent(labels=()))
    assert set(offered["search_memory"]["properties"]) == {"query", "kind", "ids", "limit", "after"}
    assert not {"pinned", "labels"} & set(offered["add_memory"]["properties"])
    assert {"pinned", "memory_key"} <= set(schemas(agent(pinned={"max_tokens": 100}))["add_memory"]["properties"])


@pytest.mark.rule("CF-8", "SC-6")
def test_the_kinds_of_platform_are_offered_where_platform_is_written():
    mixed = schemas(agent(write=["session", "platform"], kinds=["fact", "rule"]))["add_memory"]["properties"]
    assert mixed["kind"]["enum"] == ["fact", "rule", *(kind for kind in PLATFORM_KINDS if kind != "fact")]
    assert mixed["scope"]["enum"] == ["session", "platform"]
    assert PURPOSES["platform"] in mixed["scope"]["description"]
    alone = schemas(agent(write=["platform"], kinds=["rule"]))["add_memory"]["properties"]
    assert alone["kind"]["enum"] == list(PLATFORM_KINDS)


@pytest.mark.rule("PN-3")
def test_without_pinned_in_the_configuration_a_pin_is_refused():
    pin = {"summary": "A fact.", "kind": "fact", "pinned": True}
    refusal = refused("add_memory", pin)
    assert (refusal.code, refusal.argument) == ("pin_not_configured", "pinned")
    assert call("add_memory", pin, agent(pinned={"max_tokens": 100})).pinned is True
    assert call("add_memory", {**pin, "pinned": False}).pinned is False


@pytest.mark.rule("RC-3")
@pytest.mark.parametrize("key", ["x" * 129, "a\nb", "a\u2028b", "\ud800", 5, ["a"]])
def test_a_memory_key_is_one_line_of_at_most_128_characters(key):
    fact = {"summary": "A fact.", "kind": "fact"}
    assert list(told(refused("add_memory", {**fact, "memory_key": key}))) == ["memory_key"]
    assert call("add_memory", {**fact, "memory_key": "鍵#%" * 42}).memory_key == "鍵#%" * 42


def sample(schema):
    """A value that the schema takes."""
    if schema["type"] == "boolean":
        return True
    if "enum" in schema:
        return schema["enum"][-1]
    match schema["type"]:
        case "integer" | "number":
            return schema["maximum"]
        case "array":
            return [sample(schema["items"])] * schema["maxItems"]
        case "object":
            return {name: sample(below) for name, below in schema["properties"].items()}
        case _:
            return "2099-01-01T00:00:00Z" if schema.get("format") == "date-time" else "x" * schema.get("maxLength", 10)


@pytest.mark.rule("CF-8", "TL-5")
@pytest.mark.parametrize("config", [agent(), agent(write=["session"], labels=()), agent(kinds=["rule"])])
def test_what_the_schema_offers_is_taken_and_what_it_does_not_offer_is_refused(config):
    for tool, schema in schemas(config).items():
        required = {name: sample(schema["properties"][name]) for name in schema["required"]}
        for name, argument in schema["properties"].items():
            assert call(tool, {**required, name: sample(argument)}, config), (tool, name)
        absent = {"scope": "agent", "labels": {"floor": "1"}, "pinned": True, "anything": 1}
        for name in set(absent) - set(schema["properties"]):
            assert refused(tool, {**required, name: absent[name]}, config).argument.startswith(name), (tool, name)
        for name in required:
            assert refused(tool, {n: v for n, v in required.items() if n != name}, config).argument == name
