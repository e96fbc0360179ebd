"""RC-3, TU-8: who holds a memory_key once staged changes meet what stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staged_items import AGENT, NOW, SESSION, TRIAL, USER, pending, record, remove, rules, save, settled, standing, told

from agent_memory.domain.needs import needs
from agent_memory.domain.records import Status
from agent_memory.domain.settling import settle
from agent_memory.domain.staging import Standing
from agent_memory.domain.times import written

rule = pytest.mark.rule
KEY = "invoice.delivery"


@rule("RC-3")
def test_a_save_supersedes_the_holder_of_its_key_and_names_it():
    result = settled([save("new", memory_key=KEY, holders=["old"])], record("old", memory_key=KEY))
    assert (result.after["old"].status, result.after["old"].replaced_by) == (Status.SUPERSEDED, "new")
    assert result.after["new"].replaces == ("old",)
    assert result.holders == {(SESSION, KEY): "new"}
    assert result.conflicts == []


@rule("RC-3", "TU-8")
def test_a_holder_that_came_since_the_save_was_staged_is_a_conflict_that_the_later_commit_wins():
    result = settled([save("new", memory_key=KEY, holders=["old"])], record("faster", memory_key=KEY))
    assert told(result) == [("key", "new", "faster", "retargeted")]
    assert result.conflicts[0]["current"] == {"id": "faster", "version": 1, "status": "ACTIVE"}
    assert result.after["faster"].replaced_by == "new"


@rule("RC-3")
@pytest.mark.parametrize(
    "holder",
    [
        record("old", memory_key=KEY, expires_at=written(NOW)),
        record("old", memory_key=KEY, status=Status.DELETED),
        record("old", memory_key=KEY, status=Status.SUPERSEDED),
        record("old", memory_key=KEY, status=Status.PENDING),
        record("old", memory_key=KEY, status=Status.REJECTED),
    ],
)
def test_a_record_that_is_not_active_holds_no_key_even_where_it_is_still_written_down_as_the_holder(holder):
    stands = Standing(records={"old": holder}, holders={(SESSION, KEY): "old"})
    result = settle([save("new", memory_key=KEY)], stands, rules(), NOW)
    assert result.after.keys() == {"new"}
    assert (result.after["new"].replaces, result.after["new"].memory_key) == ((), KEY)
    assert result.holders == {(SESSION, KEY): "new"}
    assert result.conflicts == []


@rule("RC-3")
@pytest.mark.parametrize("other", [USER, AGENT, SESSION._replace(owner="s-2"), TRIAL])
def test_a_key_is_held_at_one_scope_and_owner_and_in_one_mode(other):
    result = settled([save("new", memory_key=KEY)], record("other", place=other, memory_key=KEY))
    assert result.after.keys() == {"new"}


@rule("RC-3", "TU-8")
def test_a_key_that_a_broader_kind_holds_stays_there_and_the_record_is_saved_without():
    holder = record("rule", kind="constraint", memory_key=KEY)
    result = settled([save("new", memory_key=KEY)], holder)
    assert told(result) == [("key", "new", "rule", "nothing")]
    assert (result.after["new"].status, result.after["new"].memory_key) == (Status.ACTIVE, None)
    assert result.after.keys() == {"new"}
    assert result.holders == {}


@rule("RC-3")
def test_an_express_replace_takes_the_key_of_a_broader_kind():
    holder = record("rule", kind="constraint", memory_key=KEY)
    result = settled([save("new", "rule", memory_key=KEY)], holder)
    assert result.conflicts == []
    assert result.after["rule"].replaced_by == "new"
    assert result.holders == {(SESSION, KEY): "new"}


@rule("RC-3")
@pytest.mark.parametrize("held_by", ["fact", "constraint"])
def test_a_broader_kind_takes_the_key_of_either(held_by):
    result = settled([save("new", kind="constraint", memory_key=KEY)], record("old", kind=held_by, memory_key=KEY))
    assert result.after["old"].replaced_by == "new"
    assert result.after["new"].memory_key == KEY


@rule("TU-8", "RC-3")
def test_what_took_the_place_of_the_named_record_and_holds_the_key_is_one_conflict():
    old = record("old", memory_key=KEY, status=Status.SUPERSEDED, replaced_by="heir")
    result = settled([save("new", "old", memory_key=KEY)], old, record("heir", memory_key=KEY))
    assert told(result) == [("replace", "new", "old", "retargeted")]
    assert result.after["new"].replaces == ("heir",)


@rule("TU-8", "RC-3")
def test_the_named_record_and_another_holder_are_both_superseded():
    result = settled([save("new", "named", memory_key=KEY)], record("named"), record("holder", memory_key=KEY))
    assert result.after["new"].replaces == ("named", "holder")
    assert {result.after[id].replaced_by for id in ("named", "holder")} == {"new"}


@rule("RC-3", "RC-6")
def test_a_deleted_holder_gives_its_key_back():
    result = settled([remove("old")], record("old", memory_key=KEY))
    assert result.holders == {(SESSION, KEY): None}


@rule("RC-3")
def test_a_replaced_holder_gives_its_key_back_where_the_new_record_has_none():
    result = settled([save("new", "old")], record("old", memory_key=KEY))
    assert result.holders == {(SESSION, KEY): None}


@rule("RC-3")
def test_a_record_that_ends_leaves_the_key_that_another_holds_alone():
    faded = record("faded", memory_key=KEY, expires_at=written(NOW))
    stands = Standing(
        records={"faded": faded, "holder": record("holder", memory_key=KEY)}, holders={(SESSION, KEY): "holder"}
    )
    assert settle([remove("faded")], stands, rules(), NOW).holders == {}


@rule("TU-8", "RC-3", "RC-6")
def test_a_keyed_save_that_is_deleted_in_its_own_turn_leaves_the_former_holder_superseded():
    log = [save("new", memory_key=KEY, holders=["old"]), remove("new")]
    result = settled(log, record("old", memory_key=KEY))
    assert result.after["old"].status is Status.SUPERSEDED
    assert result.after["new"].status is Status.DELETED
    assert result.holders == {(SESSION, KEY): None}


@rule("RC-3", "TU-8")
def test_of_saves_with_one_key_in_one_turn_the_last_holds_it_and_none_is_a_conflict():
    log = [save(id, memory_key=KEY) for id in ("a", "b", "c")]
    result = settled(log)
    assert [r.id for r in result.saved] == ["c"]
    assert result.after["b"].replaces == ("a",)
    assert result.after["c"].replaces == ("b",)
    assert result.conflicts == []
    assert result.holders == {(SESSION, KEY): "c"}


@rule("RC-3", "PV-3")
def test_a_preview_save_supersedes_the_preview_holder_and_covers_the_live_one():
    log = [save("new", place=TRIAL, memory_key=KEY)]
    present = record("tried", place=TRIAL, memory_key=KEY), record("live", memory_key=KEY)
    result = settled(log, *present, places=(SESSION, TRIAL))
    assert result.after["new"].replaces == ("tried", "live")
    assert result.after["tried"].replaced_by == "new"
    assert "live" not in result.after
    assert result.hidden["live"].by == "new"
    assert result.holders == {(TRIAL, KEY): "new"}


@rule("RC-3", "PV-3")
def test_a_live_holder_of_a_broader_kind_keeps_a_preview_save_from_its_key():
    rule_of_the_house = record("rule", kind="constraint", memory_key=KEY)
    result = settled([save("new", place=TRIAL, memory_key=KEY)], rule_of_the_house, places=(SESSION, TRIAL))
    assert told(result) == [("key", "new", "rule", "nothing")]
    assert result.after["new"].memory_key is None
    assert result.hidden == {}


@rule("SC-4")
def test_a_proposal_supersedes_nothing_and_holds_no_key():
    proposal = pending(save("new", "old", memory_key=KEY))
    result = settled([proposal], record("old", memory_key=KEY))
    assert result.after.keys() == {"new"}
    assert (result.after["new"].status, result.after["new"].replaces) == (Status.PENDING, ("old",))
    assert (result.holders, result.saved) == ({}, [])


def test_a_key_asks_for_its_holder_and_then_for_that_record():
    log = [save("new", memory_key=KEY)]
    first = needs(log, Standing(), rules())
    assert (first.records, first.holders) == ({}, {(SESSION, KEY)})
    second = needs(log, Standing(holders={(SESSION, KEY): "old"}), rules())
    assert second.records == {"old": SESSION}
    trial = needs([save("new", place=TRIAL, memory_key=KEY)], Standing(), rules())
    assert trial.holders == {(SESSION, KEY), (TRIAL, KEY)}


@rule("RC-3")
@given(
    st.lists(
        st.tuples(st.sampled_from("kl"), st.sampled_from(["fact", "constraint"]), st.booleans()), min_size=1, max_size=8
    ),
    st.sampled_from([None, "fact", "constraint"]),
)
def test_whatever_is_saved_and_deleted_at_most_one_active_record_has_a_key_and_it_is_the_holder(changes, before):
    present = [record("old", kind=before, memory_key="k")] if before else []
    log = []
    for n, (key, kind, stays) in enumerate(changes):
        log += [save(f"r{n}", kind=kind, memory_key=key), *([] if stays else [remove(f"r{n}")])]
    stands = standing(*present, boards=[SESSION])
    result = settle(log, stands, rules(), NOW)
    records = {**stands.records, **result.after}
    for key in "kl":
        active = [r.id for r in records.values() if r.memory_key == key and r.status is Status.ACTIVE]
        holder = result.holders.get((SESSION, key), stands.holders.get((SESSION, key)))
        assert active == ([holder] if holder else [])
