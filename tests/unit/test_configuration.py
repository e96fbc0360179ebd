"""An agent's configuration: what it takes, what it is without being told, and what may follow it."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.configuration import AgentConfig, check_successor, parse_config
from agent_memory.domain.errors import InvalidRequest, NotAllowed
from agent_memory.domain.memory_settings import SCOPE_ADVICE, ScopeName
from agent_memory.domain.scopes import Scope

DEFAULTS = {
    "sessions": True,
    "memory": {
        "enabled": False,
        "scope": {"read": ["session"], "write": ["session"]},
        "kinds": {kind: {"precedence": "narrower"} for kind in ("guidance", "fact", "event", "reference")},
        "labels": {},
        "tools": [],
        "pinned": None,
        "search": {"mode": "hybrid", "max_results": 5, "min_score": None},
        "recall": {"max_tokens": 2000, "max_item_tokens": 400},
        "extraction": {"prompt": None, "every": "turn"},
        "retention": {"scope": {}, "kind": {}, "preview": "7d"},
        "gate": {"secrets": True, "injection": True, "deny": []},
        "decay": {},
        "min_confidence": 0.0,
        "merge": "off",
    },
    "history": None,
    "notes": {"enabled": True},
    "transcripts": {"retention": "90d"},
}

FULL = {
    "sessions": True,
    "memory": {
        "enabled": True,
        "scope": {"read": ["session", "workflow", "user", "agent", "platform"], "write": ["agent", "user"]},
        "kinds": {"fact": {"precedence": "broader"}, "constraint": {"precedence": "narrower"}},
        "labels": {"customer": {"number": 5, "description": "Whom it is about."}},
        "tools": ["delete_memory", "add_memory", "read_memory"],
        "pinned": {"max_tokens": 20_000},
        "search": {"mode": "lexical", "max_results": 50, "min_score": -1.0},
        "recall": {"max_tokens": 100, "max_item_tokens": 20},
        "extraction": {"prompt": "Keep\nall.", "every": {"messages": 1000}},
        "retention": {"scope": {"session": "30s", "platform": "36500d"}, "kind": {"fact": "24h"}, "preview": "15m"},
        "gate": {"secrets": False, "injection": False, "deny": [r"(?i)project \w+", "x" * 500]},
        "decay": {"fact": {"half_life": "30d"}},
        "min_confidence": 0.25,
        "merge": "propose",
    },
    "history": {"index": "messages_and_tools", "retention": "365d"},
    "notes": {"enabled": False},
    "transcripts": {"retention": "12h"},
}


def refused(body, error=InvalidRequest):
    with pytest.raises(error) as refusal:
        parse_config(body)
    return {fault.path: fault.message for fault in refusal.value.faults}


def memory(**settings):
    return {"memory": settings}


def labelled(**numbers):
    labels = {name: {"number": number, "description": "A label."} for name, number in numbers.items()}
    return parse_config(memory(labels=labels))


@pytest.mark.rule("CF-1")
@pytest.mark.parametrize(
    "body", [{}, {"memory": {}}, {"memory": None, "sessions": None}, {"harness": {}}, {"harness": None}]
)
def test_what_is_left_out_has_its_default(body):
    assert parse_config(body).stored() == DEFAULTS


@pytest.mark.rule("CF-1")
def test_every_null_is_as_good_as_absent():
    def emptied(value):
        return {name: emptied(below) for name, below in value.items()} if isinstance(value, dict) and value else None

    bare = emptied(DEFAULTS)
    bare["memory"]["kinds"] = None
    assert parse_config(bare).stored() == DEFAULTS
    assert parse_config(memory(retention={"kind": {"fact": None}}, decay={"fact": None})).stored() == DEFAULTS


@pytest.mark.rule("CF-1", "CF-7")
def test_everything_that_is_given_is_kept_as_it_was_given():
    assert parse_config(FULL).stored() == FULL
    assert parse_config({"harness": FULL}).stored() == FULL


@pytest.mark.rule("CF-7")
@pytest.mark.parametrize("body", [DEFAULTS, FULL])
def test_the_stored_form_is_json_and_gives_the_same_configuration(body):
    config = parse_config(body)
    again = AgentConfig.model_validate(json.loads(json.dumps(config.stored())))
    assert again == config
    assert again.stored() == config.stored()


@pytest.mark.rule("CF-7")
def test_two_spellings_of_one_configuration_are_equal_as_stored():
    listed = memory(
        kinds=["fact", "constraint"], recall={"max_tokens": 300}, search={"max_results": 5.0, "min_score": 0}
    )
    mapped = {
        "harness": memory(kinds={"constraint": {}, "fact": None}, recall={"max_tokens": 300, "max_item_tokens": 300})
    }
    mapped["harness"]["memory"]["search"] = {"min_score": 0.0}
    assert parse_config(listed).stored() == parse_config(mapped).stored()


@pytest.mark.rule("CF-1")
@given(st.integers(100, 50_000))
def test_the_longest_item_is_400_tokens_or_the_whole_budget(max_tokens):
    assert parse_config(memory(recall={"max_tokens": max_tokens})).memory.recall.max_item_tokens == min(400, max_tokens)


WRONG = {
    "sessions": "yes",
    "memory": {
        "enabled": 1,
        "scope": {"read": ["session", "galaxy", "session"], "write": "agent", "x": 1},
        "kinds": ["Fact", "session", "fact", "fact", 7],
        "labels": {"Big": {"number": 4}, "none": None, "c": {"number": 19, "description": "", "colour": "red"}},
        "tools": ["search_memory", "add_memory", "add_memory"],
        "pinned": {"max_tokens": 20_001},
        "search": {"mode": "fuzzy", "max_results": True, "min_score": 1.5},
        "recall": {"max_tokens": 99, "max_item_tokens": 19},
        "extraction": {"prompt": "", "every": {"messages": 1001}},
        "retention": {"scope": {"galaxy": "1d"}, "kind": {"fact": "0d"}, "preview": 7},
        "gate": {"secrets": None, "injection": "no", "deny": [r"(a)\1", "", "ok", 5]},
        "decay": {"fact": {}},
        "min_confidence": -0.1,
        "merge": True,
        "pins": [],
    },
    "history": {"index": "all", "retention": "for ever"},
    "notes": [],
    "transcripts": {"retention": "1y"},
    "model": "m",
}


@pytest.mark.rule("CF-1", "IF-1")
def test_all_faults_are_told_at_once_each_with_its_path():
    assert set(refused(WRONG)) == {
        "sessions",
        "memory.enabled",
        "memory.scope.read[1]",
        "memory.scope.read[2]",
        "memory.scope.write",
        "memory.scope.x",
        "memory.kinds[0]",
        "memory.kinds[1]",
        "memory.kinds[3]",
        "memory.kinds[4]",
        "memory.labels.Big",
        "memory.labels.Big.number",
        "memory.labels.Big.description",
        "memory.labels.none",
        "memory.labels.c.number",
        "memory.labels.c.description",
        "memory.labels.c.colour",
        "memory.tools[0]",
        "memory.tools[2]",
        "memory.pinned.max_tokens",
        "memory.search.mode",
        "memory.search.max_results",
        "memory.search.min_score",
        "memory.recall.max_tokens",
        "memory.recall.max_item_tokens",
        "memory.extraction.prompt",
        "memory.extraction.every.messages",
        "memory.retention.scope.galaxy",
        "memory.retention.kind.fact",
        "memory.retention.preview",
        "memory.gate.injection",
        "memory.gate.deny[0]",
        "memory.gate.deny[1]",
        "memory.gate.deny[3]",
        "memory.decay.fact.half_life",
        "memory.min_confidence",
        "memory.merge",
        "memory.pins",
        "history.index",
        "history.retention",
        "notes",
        "transcripts.retention",
        "model",
    }


@pytest.mark.rule("CF-1")
def test_an_unknown_field_has_a_code_of_its_own():
    with pytest.raises(InvalidRequest) as refusal:
        parse_config({"colour": 1, "sessions": 5})
    assert {fault.path: fault.code for fault in refusal.value.faults} == {
        "sessions": "invalid_request",
        "colour": "unknown_field",
    }


@pytest.mark.rule("CF-1")
@pytest.mark.parametrize(
    ("body", "path", "takes"),
    [
        (memory(scope={"read": []}), "memory.scope.read", "a list of 1 to 5"),
        (memory(scope={"write": ["agent", "agent"]}), "memory.scope.write[1]", "does not hold yet"),
        (memory(kinds=[]), "memory.kinds", "1 to 32"),
        (memory(kinds={}), "memory.kinds", "1 to 32"),
        (memory(kinds="fact"), "memory.kinds", "1 to 32"),
        (memory(kinds=[f"k{n}" for n in range(33)]), "memory.kinds", "1 to 32"),
        (memory(kinds={f"k{n}": {} for n in range(33)}), "memory.kinds", "1 to 32"),
        (memory(kinds={"fact": {"precedence": "broad"}}), "memory.kinds.fact.precedence", "one of broader, narrower"),
        (memory(kinds={"platform": {}}), "memory.kinds.platform", "a name that is not a scope's"),
        (memory(kinds=["a" * 65]), "memory.kinds[0]", "text of the form"),
        (memory(labels={f"l{n}": {"number": 5, "description": "x"} for n in range(15)}), "memory.labels", "at most 14"),
        (
            memory(recall={"max_tokens": 100, "max_item_tokens": 101}),
            "memory.recall.max_item_tokens",
            "20 to max_tokens",
        ),
        (memory(extraction={"every": "day"}), "memory.extraction.every", "turn, or an object"),
        (memory(extraction={"every": {}}), "memory.extraction.every.messages", "1 to 1000"),
        (memory(extraction={"prompt": "x" * 20_001}), "memory.extraction.prompt", "1 to 20,000"),
        (memory(extraction={"prompt": "\ud800"}), "memory.extraction.prompt", "lone surrogates"),
        (memory(gate={"deny": ["a"] * 101}), "memory.gate.deny", "at most 100"),
        (memory(gate={"deny": ["x" * 501]}), "memory.gate.deny[0]", "1 to 500"),
        (memory(gate={"deny": ["a(?=b)"]}), "memory.gate.deny[0]", "RE2 syntax (invalid perl operator)"),
        (memory(gate={"deny": ["(((a{100}){100}){100})"]}), "memory.gate.deny[0]", "RE2 syntax"),
        (memory(search={"min_score": float("nan")}), "memory.search.min_score", "a number from -1 to 1"),
        ({"history": {}}, "history.index", "is required: takes one of messages, messages_and_tools"),
        ({"harness": {}, "sessions": True}, "harness", "is not a field here"),
        ({"harness": 5}, "", "an object with the fields sessions"),
        ([], "", "an object with the fields sessions"),
        (None, "", "an object with the fields sessions"),
    ],
)
def test_a_value_out_of_range_is_told_with_what_the_field_takes(body, path, takes):
    faults = refused(body)
    assert list(faults) == [path]
    assert takes in faults[path]


@pytest.mark.rule("CF-1", "CF-2")
def test_what_is_well_formed_and_does_not_go_together_is_another_refusal():
    body = memory(enabled=True, scope={"read": ["session", "agent"]}, extraction={"every": {"messages": 3}})
    body |= {"sessions": False, "history": {"index": "messages"}}
    with pytest.raises(NotAllowed) as refusal:
        parse_config(body)
    assert refusal.value.code == "not_allowed"
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("memory.scope.read", "not_allowed"),
        ("memory.scope.write", "not_allowed"),
        ("memory.extraction.every", "not_allowed"),
        ("history", "not_allowed"),
    ]


@pytest.mark.rule("CF-2")
def test_an_agent_without_sessions_sets_both_scopes_once_memory_is_enabled():
    both = {"read": ["agent"], "write": []}
    assert parse_config({"sessions": False}).memory.scope.read == ("session",)
    assert parse_config({"sessions": False, **memory(enabled=True, scope=both)}).writable == []
    only_read = {"sessions": False, **memory(enabled=True, scope={"read": ["agent"]})}
    assert list(refused(only_read, NotAllowed)) == ["memory.scope.write"]


@pytest.mark.rule("CF-2")
def test_the_advice_on_broad_scopes_stands_in_the_schema():
    schema = AgentConfig.model_json_schema()
    assert SCOPE_ADVICE in schema["$defs"]["MemorySettings"]["properties"]["scope"]["description"]
    assert SCOPE_ADVICE.endswith("only when facts from one session's data may inform all that read it.")


@pytest.mark.rule("CF-3")
def test_a_constraint_is_broader_by_itself_and_every_other_kind_narrower():
    config = parse_config(memory(kinds=["fact", "constraint", "rule"]))
    assert [config.precedence(kind) for kind in config.kinds] == ["narrower", "broader", "narrower"]
    told = parse_config(memory(kinds={"constraint": {"precedence": "narrower"}, "rule": {"precedence": "broader"}}))
    assert [told.precedence(kind) for kind in told.kinds] == ["narrower", "broader"]


@pytest.mark.rule("CF-3")
def test_a_kind_that_is_no_longer_declared_has_its_precedence_by_name():
    config = parse_config({})
    assert (config.precedence("constraint"), config.precedence("rule")) == ("broader", "narrower")


@pytest.mark.rule("CF-4")
def test_numbers_of_labels_are_unique():
    body = memory(labels={name: {"number": 5, "description": "x"} for name in ("a", "b")})
    assert list(refused(body, NotAllowed)) == ["memory.labels.b.number"]


@pytest.mark.rule("CF-4")
def test_a_later_version_may_add_labels_and_change_descriptions():
    newest = labelled(a=5)
    check_successor(newest, labelled(a=5, b=6))
    changed = memory(labels={"a": {"number": 5, "description": "In other words."}})
    check_successor(newest, parse_config(changed))


@pytest.mark.rule("CF-4")
def test_a_later_version_that_drops_or_renumbers_labels_is_refused_naming_each():
    with pytest.raises(NotAllowed) as refusal:
        check_successor(labelled(a=5, b=6, c=7), labelled(b=8, c=7, d=5))
    assert refusal.value.code == "label_changed"
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("memory.labels.a", "label_changed"),
        ("memory.labels.b", "label_changed"),
    ]


@pytest.mark.rule("CF-5")
def test_what_is_offered_follows_the_configuration():
    notes = ["note_add", "note_list", "note_read"]
    assert parse_config({}).offered == notes
    assert parse_config(memory(tools=["add_memory"])).offered == notes
    assert parse_config(memory(enabled=True)).offered == ["search_memory", *notes]
    full = parse_config(FULL).offered
    assert full == ["search_memory", "add_memory", "delete_memory", "read_memory", "search_history"]


@pytest.mark.rule("SC-3")
def test_scopes_that_are_written_are_listed_narrow_to_broad():
    config = parse_config(FULL)
    assert config.writable == [Scope.USER, Scope.AGENT]


def test_the_names_of_scopes_are_those_of_the_domain():
    assert list(ScopeName.__args__) == [scope.value for scope in Scope]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda v: (
            st.lists(v, max_size=3)
            | st.dictionaries(
                st.sampled_from(["memory", "scope", "read", "kinds", "labels", "fact", "history", "every", "harness"]),
                v,
                max_size=4,
            )
        ),
        max_leaves=25,
    )
)
def test_no_body_breaks_the_check(body):
    with contextlib.suppress(InvalidRequest, NotAllowed):
        assert isinstance(parse_config(body), AgentConfig)
