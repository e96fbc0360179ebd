"""What becomes of staged changes: when nobody was faster, and when others were (TU-1, TU-8).

What keys, pins, preview and constraints add is in `test_settling_keys.py` and `test_settling_preview.py`.
"""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staged_items import AGENT, BY, NOW, SESSION, record, rules, save, settled

from agent_memory.domain.needs import needs
from agent_memory.domain.records import Status
from agent_memory.domain.scopes import Place, Scope
from agent_memory.domain.staging import Remove, Standing
from agent_memory.domain.times import written


@pytest.mark.rule("RC-5", "TU-1")
def test_a_replaced_record_is_superseded_by_the_new_one():
    after = settled([save("new", "old")], record("old")).after
    assert (after["old"].status, after["old"].replaced_by, after["old"].version) == (Status.SUPERSEDED, "new", 2)
    assert (after["new"].status, after["new"].replaces, after["new"].version) == (Status.ACTIVE, ("old",), 1)


@pytest.mark.rule("TU-8")
def test_a_replace_follows_its_target_to_what_took_its_place():
    old = record("old", status=Status.SUPERSEDED, replaced_by="middle")
    middle = record("middle", status=Status.SUPERSEDED, replaced_by="heir")
    result = settled([save("new", "old")], old, middle, record("heir"))
    assert result.after["heir"].replaced_by == "new"
    assert result.after["new"].replaces == ("heir",)
    current = {"id": "heir", "version": 1, "status": "ACTIVE"}
    conflict = {"change": "replace", "id": "new", "target": "old", "outcome": "retargeted", "current": current}
    assert result.conflicts == [conflict]


@pytest.mark.rule("TU-8")
@pytest.mark.parametrize(
    "heir",
    [
        record("heir", status=Status.DELETED),
        record("heir", expires_at=written(NOW)),
        record("heir", place=AGENT),  # broader than the new record
        record("heir", place=Place(Scope.SESSION, "support", "s-2")),
        record("heir", kind="constraint"),
    ],
)
def test_a_replace_follows_no_further_than_the_turn_could_have_named(heir):
    old = record("old", status=Status.SUPERSEDED, replaced_by="heir")
    result = settled([save("new", "old")], old, heir, reachable=(SESSION, AGENT))
    assert result.after["new"].replaces == ()
    assert "heir" not in result.after
    assert [c["outcome"] for c in result.conflicts] == ["saved_alone"]


@pytest.mark.rule("TU-8")
@pytest.mark.parametrize("gone", [record("old", status=Status.DELETED), record("old", expires_at=written(NOW))])
def test_a_replace_of_what_is_gone_saves_the_new_record_alone(gone):
    result = settled([save("new", "old")], gone)
    assert result.after["new"].status is Status.ACTIVE
    assert result.after.keys() == {"new"}
    assert result.conflicts[0]["outcome"] == "saved_alone"
    assert result.conflicts[0]["current"] == {"id": "old", "version": gone.version, "status": gone.status.value}


@pytest.mark.rule("TU-8")
def test_two_targets_that_one_record_replaced_are_named_once_and_both_conflicts_stand():
    replaced = [record(id, status=Status.SUPERSEDED, replaced_by="heir") for id in ("a", "b")]
    result = settled([save("new", "a", "b")], *replaced, record("heir", replaces=("a", "b")))
    assert result.after["new"].replaces == ("heir",)
    assert result.after["heir"].version == 2
    assert [(c["target"], c["outcome"]) for c in result.conflicts] == [("a", "retargeted"), ("b", "retargeted")]


@pytest.mark.rule("TU-8")
@pytest.mark.parametrize(
    ("present", "status", "conflicts"),
    [
        (record("old"), Status.DELETED, 0),
        (record("old", status=Status.DELETED), None, 1),
        (record("old", status=Status.SUPERSEDED, replaced_by="heir"), None, 1),
    ],
)
def test_a_delete_is_done_or_changes_nothing(present, status, conflicts):
    result = settled([Remove("old", SESSION, Status.ACTIVE, BY)], present, record("heir"))
    assert ("old" in result.after) == (status is not None)
    assert [c["outcome"] for c in result.conflicts] == ["nothing"] * conflicts
    for conflict in result.conflicts:
        assert (conflict["id"], conflict["target"]) == ("old", "old")


@pytest.mark.rule("RC-5", "TL-4")
def test_a_record_that_was_superseded_when_the_turn_saw_it_is_deleted_and_still_names_its_heir():
    present = record("old", status=Status.SUPERSEDED, replaced_by="heir")
    result = settled([Remove("old", SESSION, Status.SUPERSEDED, BY)], present, record("heir"))
    assert (result.after["old"].status, result.after["old"].replaced_by) == (Status.DELETED, "heir")


@pytest.mark.rule("RC-5", "TU-5")
def test_a_record_saved_and_deleted_in_one_turn_is_kept_with_its_versions():
    result = settled([save("new", "old"), Remove("new", SESSION, Status.ACTIVE, BY)], record("old"))
    assert [v.status for v in result.after["new"].versions] == [Status.ACTIVE, Status.DELETED]
    assert result.after["old"].status is Status.SUPERSEDED  # deleting never brings back what was replaced
    assert result.saved == []
    assert [m["status"] for m in result.memories()] == ["DELETED"]


@pytest.mark.rule("TU-1")
def test_a_chain_within_a_turn_needs_nothing_from_the_store_but_its_first_target():
    log = [save("a", "old"), save("b", "a"), save("c", "b")]
    assert needs(log, Standing(), rules()).records == {"old": SESSION}
    result = settled(log, record("old"))
    assert [r.id for r in result.saved] == ["c"]
    assert result.gone == {"old"}


@pytest.mark.rule("TU-8", "RC-5")
@given(
    statuses=st.lists(st.sampled_from([Status.ACTIVE, Status.DELETED]), min_size=1, max_size=6),
    chosen=st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True),
)
def test_whatever_others_did_every_settled_record_has_one_more_version_at_most_and_replaces_names_what_it_superseded(
    statuses, chosen
):
    present = [record(f"r{n}", status=status) for n, status in enumerate(statuses)]
    named = [f"r{n}" for n in chosen if n < len(present)]
    result = settled([save("new", *named)], *present)
    superseded = {id for id, r in result.after.items() if r.status is Status.SUPERSEDED}
    assert set(result.after["new"].replaces) == superseded
    assert all(result.after[id].replaced_by == "new" for id in superseded)
    assert len(superseded) + len(result.conflicts) == len(named)
    assert all(r.version == result.before[id].version + 1 for id, r in result.after.items() if id in result.before)


def test_the_clock_going_back_never_lowers_a_stamp():
    changed = record("old").changed(Status.DELETED, at=NOW - timedelta(days=1), by=BY)
    again = changed.changed(Status.ACTIVE, at=NOW - timedelta(days=2), by=BY)
    assert record("old").stamp < changed.stamp < again.stamp
