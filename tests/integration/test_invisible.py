"""SC-2, PV-4: what a turn does not see changes nothing of what it is answered, to the last character, scores too; nor
does the order in which records were saved."""

import json
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from people import discard

from agent_memory.domain.times import written

rule = pytest.mark.rule
WHO = {"user_id": "u1", "workflow_id": "w1"}
SCOPES = ["session", "workflow", "user", "agent"]
FEW = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def configure(world, mode="hybrid", *, agent=None, **memory):
    everything = {
        "kinds": ["fact", "constraint"],
        "pinned": {"max_tokens": 200},
        "scope": {"read": SCOPES, "write": [*SCOPES, "platform"]},
        "search": {"mode": mode, "max_results": 3, **({} if mode == "lexical" else {"min_score": -1})},
        "recall": {"max_tokens": 300},
    }
    return world.configure(agent=agent, memory={**everything, **memory})


def furnish(world, agent):
    """Some records of everything, none of them indexed yet."""
    save = lambda summary, **fields: world.remember(agent, summary, turn=WHO, **fields)  # noqa: E731
    return [
        save("Invoices by post.", memory_key="invoice"),
        save("Invoices by fax.", scope="agent", memory_key="invoice"),
        save("Invoices are paid late.", priority=80),
        save("Speaks Dutch on invoices.", scope="user", pinned=True),
        save("Refunds need approval.", kind="constraint", scope="agent"),
        save("The flow sends invoices weekly.", scope="workflow"),
        save("Invoices of today.", content="At length. " * 9),
        save("Of something else."),
    ]


def answers(world, agent, ids, **turn):
    """All that a turn is answered, as text, without the ids of the calls themselves."""
    turn = world.begin(agent, **WHO, **turn)
    recalled = [turn.recall(query, explain=True) for query in ("invoices", "invoices by post", " ")]
    for answer in recalled:
        del answer["tool_execution_id"]
    asked = [{"query": "invoices"}, {"query": "post", "kind": "fact"}, {}, {"limit": 2}, {"ids": ids}]
    tools = [turn.tool("search_memory", one) for one in asked]
    tools += [turn.tool("read_memory", {"id": id}) for id in ids]
    turn.roll_back()
    return json.dumps([recalled, tools], sort_keys=True)


# Each saves a record that no live turn of `WHO` sees, about the same as those that it does; some once they have ended.


def of_another_session(world, agent, summary, **fields):
    world.remember(agent, summary, "s2", **fields)


def of_another_user(world, agent, summary, **fields):
    world.remember(agent, summary, turn={"user_id": "u2"}, scope="user", **fields)


def of_another_workflow(world, agent, summary, **fields):
    world.remember(agent, summary, turn={"workflow_id": "w2"}, scope="workflow", **fields)


def of_another_agent(world, agent, summary, **fields):
    world.remember(configure(world), summary, turn=WHO, scope="agent", **fields)


def of_preview(world, agent, summary, **fields):
    world.remember(agent, summary, turn={**WHO, "preview": True}, **fields)


def pending(world, agent, summary, **fields):
    world.remember(agent, summary, turn=WHO, scope="platform", **fields)


def staged(world, agent, summary, **fields):
    world.begin(agent, **WHO).add(summary, **fields)


def rolled_back(world, agent, summary, **fields):
    turn = world.begin(agent, **WHO)
    turn.add(summary, **fields)
    turn.roll_back()


def deleted(world, agent, summary, **fields):
    fields.pop("memory_key", None)  # it would have superseded what stands
    id = world.remember(agent, summary, turn=WHO, **fields)
    yield
    discard(world, agent, id)


def expired(world, agent, summary, **fields):
    fields.pop("memory_key", None)
    ends = written(world.clock.now() + timedelta(minutes=1))
    world.remember(agent, summary, turn=WHO, **fields, expires_at=ends)
    yield
    world.clock.advance(minutes=2)


INVISIBLE = [
    of_another_session,
    of_another_user,
    of_another_workflow,
    of_another_agent,
    of_preview,
    pending,
    staged,
    rolled_back,
    deleted,
    expired,
]
ABOUT = [
    {"memory_key": "invoice"},
    {"kind": "constraint", "memory_key": "invoice"},
    {"kind": "constraint"},
    {"pinned": True},
    {"priority": 100},
    {},
]


def _cases():
    """Those that were indexed and have ended since are left in the index for a while, and weigh there until then."""
    for save in INVISIBLE:
        for indexed in (False, True):
            if not (indexed and save in (deleted, expired)):
                yield pytest.param(save, indexed, id=f"{save.__name__}-{'indexed' if indexed else 'not indexed'}")


@rule("SC-2", "PV-4", "LC-1", "SC-4")
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(("save", "indexed"), list(_cases()))
def test_a_record_that_a_turn_does_not_see_changes_no_character_of_its_answers(world, save, indexed, mode):
    agent = configure(world, mode)
    ids = furnish(world, agent)
    if indexed:
        world.index_all()
    before = answers(world, agent, ids)
    ends = [save(world, agent, f"Invoices by post, invoices, post {n}.", **about) for n, about in enumerate(ABOUT)]
    visible_yet = [next(end) for end in ends if end]
    if indexed:
        world.index_all()
    for end in ends[: len(visible_yet)]:
        next(end, None)
    assert answers(world, agent, ids) == before


# ---------------------------------------------------------------- the order of saving

RECORDS = [
    {"summary": "Invoices by post.", "memory_key": "invoice"},
    {"summary": "Invoices by fax.", "memory_key": "invoice", "scope": "agent"},
    {"summary": "Invoices by e-mail.", "memory_key": "invoice", "scope": "user"},
    {"summary": "Never by fax.", "memory_key": "fax", "scope": "agent", "kind": "constraint"},
    {"summary": "Fax at night.", "memory_key": "fax", "scope": "user", "kind": "constraint"},
    {"summary": "The fax is broken.", "memory_key": "fax", "pinned": True},
    {"summary": "Invoices are paid late.", "content": "At length. " * 20},
    {"summary": "Invoices are sent weekly.", "scope": "workflow", "pinned": True},
    {"summary": "Speaks Dutch.", "scope": "user", "pinned": True},
    {"summary": "Of something else."},
]  # none of one key and one scope, since of these the newer replaces the other


def recalled(world, agent, summary_by_id, **turn):
    """Recalls as text, with each id replaced by the record's summary, and without what tells when it was saved."""
    begun = world.begin(agent, **WHO, **turn)
    several = [begun.recall(query, explain=True) for query in ("invoices", "fax by post", " ")]
    begun.roll_back()
    for answer in several:
        del answer["tool_execution_id"]
        for item in (*answer["memories"], *answer["constraints"]):
            del item["created_at"]
    text = json.dumps(several, sort_keys=True)
    for id, summary in summary_by_id.items():
        text = text.replace(id, summary)
    several = json.loads(text)
    for answer in several:
        answer["overridden"].sort(key=lambda one: one["id"])
    return several


@rule("RL-1", "RL-2", "PN-1")
@pytest.mark.parametrize("indexed", [False, True])
@FEW
@given(order=st.permutations(range(len(RECORDS))), cut=st.integers(0, len(RECORDS)))
def test_the_order_in_which_records_are_saved_changes_nothing_of_what_is_recalled(machine, indexed, order, cut):
    """Each has a priority of its own: of equal ones the newer stands first. cut: how many the first turn saves."""
    answers = []
    for places, first in ((range(len(RECORDS)), len(RECORDS)), (order, cut)):
        agent, summary_by_id = configure(machine, recall={"max_tokens": 100, "max_item_tokens": 50}), {}
        for part in (places[:first], places[first:]):
            turn = machine.begin(agent, **WHO)
            summary_by_id |= {turn.add(**RECORDS[n], priority=50 + n): RECORDS[n]["summary"] for n in part}
            turn.commit()
        if indexed:
            machine.index_all()
        answers.append(recalled(machine, agent, summary_by_id))
    assert answers[0] == answers[1]


# ---------------------------------------------------------------- more scopes to read


@rule("RL-1", "RL-2", "CF-2")
@FEW
@given(
    constraints=st.lists(st.tuples(st.sampled_from(SCOPES), st.sampled_from([None, "a", "b"])), min_size=1, max_size=8),
    scopes=st.permutations(SCOPES),
)
def test_a_longer_list_of_scopes_to_read_hides_no_constraint_but_behind_one_that_is_broader(
    machine, constraints, scopes
):
    agent = configure(machine)
    turn = machine.begin(agent, **WHO)
    saved = [
        turn.add(f"Rule {n}.", kind="constraint", scope=scope, **({"memory_key": key} if key else {}))
        for n, (scope, key) in enumerate(constraints)
    ]
    turn.commit()
    shown = set()
    for count in range(1, len(SCOPES) + 1):
        configure(machine, agent=agent, scope={"read": scopes[:count], "write": SCOPES})
        answer = machine.begin(agent, **WHO).recall(" ")
        now = {item["id"]: SCOPES.index(item["scope"]) for item in answer["constraints"]}
        assert set(now) <= set(saved)
        behind = {one["id"]: one["by"] for one in answer["overridden"]}
        for id in shown - set(now):
            assert now[behind[id]] > SCOPES.index(constraints[saved.index(id)][0])
        shown = set(now) | shown
