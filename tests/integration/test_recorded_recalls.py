"""RL-5, RL-6: which recalls are recorded, what a conversation has seen, and what embedding cost."""

import pytest
from people import discard, restore

rule = pytest.mark.rule
OTHERS = ["helper:h", "program:p"]


@pytest.fixture
def agent(world):
    return world.configure(memory={"search": {"min_score": -1, "max_results": 50}})


def seen(turn, query="fact", **fields):
    """Whether the recall is recorded, and which records of it the conversation had seen."""
    answer = turn.recall(query, **fields)
    assert (answer["tool_execution_id"] is not None) is answer["recorded"]
    items = [*answer["constraints"], *answer["memories"]]
    return answer["recorded"], {item["id"]: item["seen"] for item in items}


@rule("RL-5", "TL-7")
def test_a_recorded_recall_is_an_execution_and_an_output_use_that_name_the_versions_it_shows(world, agent):
    ids = [world.remember(agent, f"Fact {n}.") for n in range(2)]
    turn = world.begin(agent)
    answer = turn.recall("fact", conversation="helper:h")
    execution, use = turn.transcript("execution", "output_use")
    assert execution["tool_execution_id"] == use["tool_execution_id"] == answer["tool_execution_id"]
    assert execution["tool"] == "search_memory"
    assert execution["input"] == {"query": "fact", "recall": True}
    assert execution["conversation"] == use["conversation"] == "helper:h"
    versions = [{"id": id, "version": 1} for id in [item["id"] for item in answer["memories"]]]
    assert sorted(one["id"] for one in versions) == sorted(ids)
    assert [{name: one[name] for name in ("id", "version")} for one in execution["output"]["memories"]] == versions
    assert (use["use"], use["memories"]) == ("RETRIEVED", versions)


@rule("RL-5")
def test_a_recall_that_shows_nothing_is_not_recorded(world, agent):
    turn = world.begin(agent)
    assert seen(turn) == (False, {})
    assert turn.transcript("execution", "output_use") == []


@rule("RL-5")
def test_what_the_same_conversation_of_the_attempt_saw_is_shown_again_and_not_recorded(world, agent):
    a = world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    assert seen(turn) == (True, {a: False})
    assert seen(turn) == (False, {a: True})
    b = world.remember(agent, "Fact two.")
    assert seen(turn) == (True, {a: True, b: False})
    (last,) = turn.transcript("output_use")[-1:]
    assert {one["id"] for one in last["memories"]} == {a, b}  # every version that it shows
    assert len(turn.transcript("execution")) == 2


@rule("RL-5")
def test_each_conversation_sees_for_itself(world, agent):
    a = world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    assert seen(turn) == (True, {a: False})
    for conversation in OTHERS:
        assert seen(turn, conversation=conversation) == (True, {a: False})
        assert seen(turn, conversation=conversation) == (False, {a: True})
    assert seen(turn, conversation="helper:another") == (True, {a: False})


@rule("RL-5")
@pytest.mark.parametrize("conversation", ["agent", *OTHERS])
def test_what_a_committed_turn_was_shown_its_session_has_seen(world, agent, conversation):
    a = world.remember(agent, "Fact one.", scope="agent")
    first = world.begin(agent)
    seen(first, conversation=conversation)
    assert seen(world.begin(agent), conversation=conversation) == (True, {a: False})  # not committed yet
    first.commit()
    later = world.begin(agent)
    assert seen(later, conversation=conversation) == (False, {a: True})
    assert later.transcript("execution", "output_use") == []
    assert seen(world.begin(agent, "s2"), conversation=conversation) == (True, {a: False})
    other = "agent" if conversation != "agent" else "helper:h"
    assert seen(later, conversation=other) == (True, {a: False})


@rule("RL-5")
def test_a_commit_counts_for_turns_that_were_open_already(world, agent):
    a = world.remember(agent, "Fact one.")
    first, second = world.begin(agent), world.begin(agent)
    seen(first)
    first.commit()
    assert seen(second) == (False, {a: True})


@rule("RL-5", "TU-1", "TU-6")
def test_what_a_turn_was_shown_that_was_rolled_back_counts_for_nobody(world, agent):
    a = world.remember(agent, "Fact one.")
    failed = world.begin(agent)
    seen(failed)
    failed.roll_back()
    assert seen(world.begin(agent)) == (True, {a: False})
    retry = world.begin(agent, retry_of=failed.id)
    assert seen(retry) == (True, {a: False})  # of this attempt
    retry.commit()
    assert seen(world.begin(agent)) == (False, {a: True})


@rule("RL-5")
def test_turns_of_one_session_that_commit_side_by_side_add_to_what_it_has_seen(world, agent):
    a = world.remember(agent, "Fact one.", scope="agent")
    one, two = world.begin(agent), world.begin(agent)
    seen(one)
    b = world.remember(agent, "Fact two.", scope="agent")
    seen(two, conversation="helper:h")
    seen(two)
    for turn in (one, two):
        turn.commit()
    assert seen(world.begin(agent)) == (False, {a: True, b: True})


@rule("RL-5")
def test_without_a_session_a_conversation_is_the_turns(world):
    memory = {"scope": {"read": ["agent"], "write": ["agent"]}, "search": {"min_score": -1}}
    agent = world.configure(memory=memory, sessions=False)
    turn = world.begin(agent, None)
    a = turn.add("Fact one.")
    turn.commit()
    first = world.begin(agent, None)
    assert seen(first) == (True, {a: False})
    assert seen(first) == (False, {a: True})
    first.commit()
    assert seen(world.begin(agent, None)) == (True, {a: False})


@rule("RL-5")
def test_a_new_version_of_a_record_was_not_seen(world, agent):
    a = world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    assert seen(turn) == (True, {a: False})
    discard(world, agent, a)
    restore(world, agent, a)
    answer = turn.recall("fact")
    assert [(item["version"], item["seen"]) for item in answer["memories"]] == [(3, False)]
    assert answer["recorded"] is True
    assert seen(turn) == (False, {a: True})


@rule("RL-5")
def test_searches_do_not_count_and_are_recorded_for_themselves(world, agent):
    a = world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    assert turn.search("fact") == [a]
    assert turn.read(a)
    assert seen(turn) == (True, {a: False})
    turn.search("fact")
    inputs = [event["input"] for event in turn.transcript("execution")]
    assert [bool(given.get("recall")) for given in inputs] == [False, False, True, False]


@rule("RL-5")
@pytest.mark.parametrize(("conversation", "uses"), [("agent", 1), ("helper:h", 1), ("program:p", 0)])
def test_a_search_that_reached_a_model_is_followed_by_an_output_use(world, agent, conversation, uses):
    a = world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    turn.call("search_memory", {"query": "fact", "kind": "event"}, conversation=conversation)
    assert turn.transcript("output_use") == []  # it returned nothing
    answer = turn.call("search_memory", {"query": "fact"}, conversation=conversation)
    events = turn.transcript("output_use")
    assert [event["memories"] for event in events] == [[{"id": a, "version": 1}]] * uses
    assert [event["tool_execution_id"] for event in events] == [answer["tool_execution_id"]] * uses


@rule("RL-5", "RL-3")
def test_records_that_the_budget_left_out_were_not_shown(world):
    memory = {"recall": {"max_tokens": 100, "max_item_tokens": 100}, "search": {"min_score": -1}}
    agent = world.configure(memory=memory)
    kept = world.remember(agent, "Fact one.", priority=90, content="At length. " * 20)
    left = world.remember(agent, "Fact two.", content="At length. " * 20)
    turn = world.begin(agent)
    answer = turn.recall("fact")
    assert (answer["memories"][0]["id"], answer["omitted"]["ids"]) == (kept, [left])
    execution, use, omitted = turn.transcript("execution", "output_use", "recall.omitted")
    for event in (execution["output"], use):
        assert [one["id"] for one in event["memories"]] == [kept]
    assert (omitted["ids"], omitted["tool_execution_id"]) == ([left], answer["tool_execution_id"])
    discard(world, agent, kept)
    assert seen(turn) == (True, {left: False})


@rule("RL-5", "RL-1")
def test_constraints_count_as_shown_and_pins_do_not(world):
    agent = world.configure(memory={"kinds": ["fact", "constraint"], "pinned": {"max_tokens": 100}})
    bound = world.remember(agent, "Refunds need approval.", kind="constraint")
    turn = world.begin(agent)
    assert seen(turn, " ") == (True, {bound: False})
    world.remember(agent, "Speaks Dutch.", pinned=True)
    assert seen(turn, " ") == (False, {bound: True})
    (use,) = turn.transcript("output_use")
    assert use["memories"] == [{"id": bound, "version": 1}]


@rule("RL-5")
def test_records_that_do_not_apply_were_not_shown(world, agent):
    world.remember(agent, "Fact of all.", scope="agent", memory_key="k")
    narrow = world.remember(agent, "Fact of the session.", memory_key="k")
    turn = world.begin(agent)
    assert seen(turn) == (True, {narrow: False})


@rule("RL-6")
def test_every_embedding_call_of_a_turn_is_recorded_as_usage(world, agent):
    world.remember(agent, "Fact one.")
    turn = world.begin(agent)
    turn.recall("a question never asked before")
    turn.search("another question of its own")
    turn.add("Something new to keep.")
    turn.recall("a question never asked before")
    turn.recall(" ")
    turn.search()
    events = turn.transcript("usage")
    assert len(events) == 4  # neither a blank recall nor a list embeds anything
    for event in events:
        assert (event["purpose"], event["limited"]) == ("embed", False)
        assert event["model"] == world.services.embedder.model
        assert (event["input_tokens"] == 0) is event["cached"]
    assert [event["for"] for event in events] == ["recall", "search", "commit", "recall"]


@rule("RL-6")
def test_an_answer_says_what_its_own_embedding_cost_also_where_nothing_is_recorded(world, agent):
    turn = world.begin(agent)
    answer = turn.recall("a question never asked before")
    (event,) = turn.transcript("usage")
    assert answer["recorded"] is False
    assert {name: event[name] for name in answer["usage"]} == answer["usage"]
