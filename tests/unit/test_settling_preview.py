"""PV-2, PV-3, TU-8: what preview turns change, once it meets what stands."""

from datetime import timedelta

import pytest
from staged_items import (
    AGENT,
    LATER,
    NOW,
    SESSION,
    TRIAL,
    hide,
    record,
    remove,
    rules,
    save,
    settled,
    standing,
    told,
)

from agent_memory.domain.needs import needs
from agent_memory.domain.records import Status
from agent_memory.domain.settling import settle
from agent_memory.domain.staging import Hidden
from agent_memory.domain.times import written

rule = pytest.mark.rule
BOTH = rules((SESSION, TRIAL))
COVER = Hidden(TRIAL, "cover")


def tried(id, **fields):
    return record(id, place=TRIAL, **fields)


def previewed(log, *present, hidden=()):
    return settle(log, standing(*present, hidden=dict(hidden)), BOTH, NOW)


@rule("PV-3", "TU-5")
def test_a_preview_replacement_covers_its_live_target_and_changes_nothing_of_it():
    result = previewed([save("new", "old", place=TRIAL)], record("old"))
    assert result.after.keys() == {"new"}
    assert (result.after["new"].replaces, result.before) == (("old",), {})
    assert result.hidden == {"old": Hidden(TRIAL, "new")}
    assert result.gone == {"old"}


@rule("PV-3")
def test_a_preview_record_is_superseded_by_a_preview_replacement_as_a_live_one_is_by_a_live_one():
    result = previewed([save("new", "cover", place=TRIAL, places={"cover": TRIAL})], tried("cover"))
    assert (result.after["cover"].status, result.after["cover"].replaced_by) == (Status.SUPERSEDED, "new")
    assert result.hidden == {}


@rule("PV-2", "PV-3")
def test_a_preview_deletion_covers_its_target_until_it_ends():
    result = previewed([hide("gone", "old")], record("old"))
    assert result.after.keys() == {"gone"}
    assert (result.after["gone"].status, result.after["gone"].version) == (Status.DELETED, 1)
    assert result.after["gone"].replaces == ("old",)
    assert result.hidden == {"old": Hidden(TRIAL, "gone", LATER)}


@rule("PV-2", "PV-3")
def test_a_preview_deletion_that_ended_before_its_turn_did_hides_nothing():
    result = previewed([hide("gone", "old", expires_at=written(NOW))], record("old"))
    assert result.after["gone"].status is Status.DELETED
    assert (result.hidden, result.gone) == ({}, set())


@rule("PV-2")
@pytest.mark.parametrize(
    ("ends_at", "holds"), [(None, True), (written(NOW + timedelta(milliseconds=1)), True), (written(NOW), False)]
)
def test_a_replacement_hides_for_good_and_a_deletion_until_the_instant_that_it_ends(ends_at, holds):
    assert Hidden(TRIAL, "cover", ends_at).holds(NOW) is holds


@rule("TU-8", "PV-3")
def test_a_preview_replace_names_what_took_the_place_of_its_live_target():
    old = record("old", status=Status.SUPERSEDED, replaced_by="heir")
    result = previewed([save("new", "old", place=TRIAL)], old, record("heir"))
    assert told(result) == [("replace", "new", "old", "retargeted")]
    assert result.after["new"].replaces == ("heir",)
    assert result.hidden == {"heir": Hidden(TRIAL, "new")}


@rule("TU-8", "PV-3")
@pytest.mark.parametrize(
    "target",
    [
        record("old", status=Status.DELETED),
        record("old", status=Status.SUPERSEDED, replaced_by="heir"),
        record("old", expires_at=written(NOW)),
    ],
)
def test_a_preview_deletion_whose_live_target_is_gone_is_not_written_and_the_conflict_stands(target):
    result = previewed([hide("gone", "old")], target, record("heir"))
    assert told(result) == [("delete", "old", "old", "nothing")]
    assert result.conflicts[0]["current"] == {"id": "old", "version": target.version, "status": target.status.value}
    assert (result.after, result.hidden) == ({}, {})


@rule("TU-8", "PV-2")
def test_a_target_that_another_preview_turn_covered_meanwhile_is_followed_to_the_cover():
    result = previewed([save("new", "old", place=TRIAL)], record("old"), tried("cover"), hidden={"old": COVER}.items())
    assert told(result) == [("replace", "new", "old", "retargeted")]
    assert result.after["new"].replaces == ("cover",)
    assert result.after["cover"].status is Status.SUPERSEDED
    assert result.hidden == {}  # it was, and stays, hidden by the cover


@rule("TU-8", "PV-3")
@pytest.mark.parametrize(("kind", "outcome"), [("fact", "retargeted"), ("constraint", "saved_alone")])
def test_of_a_target_that_is_superseded_and_covered_the_successor_is_followed(kind, outcome):
    old = record("old", status=Status.SUPERSEDED, replaced_by="heir")
    present = (old, record("heir", kind=kind), tried("cover", replaces=("old",)))
    result = previewed([save("new", "old", place=TRIAL)], *present, hidden={"old": COVER})
    assert told(result) == [("replace", "new", "old", outcome)]
    assert result.after["new"].replaces == (("heir",) if outcome == "retargeted" else ())
    assert "cover" not in result.after


@rule("TU-8", "PV-2")
@pytest.mark.parametrize("status", [Status.DELETED, Status.SUPERSEDED])
def test_a_target_whose_cover_is_gone_leaves_the_new_preview_record_alone(status):
    present = record("old"), tried("cover", status=status)
    result = previewed([save("new", "old", place=TRIAL)], *present, hidden={"old": COVER}.items())
    assert told(result) == [("replace", "new", "old", "saved_alone")]
    assert result.after.keys() == {"new"}
    assert result.hidden == {}


@rule("TU-8", "PV-3")
def test_a_target_that_another_preview_turn_covered_is_not_deleted_again():
    result = previewed([hide("gone", "old")], record("old"), tried("cover"), hidden={"old": COVER}.items())
    assert told(result) == [("delete", "old", "old", "nothing")]
    assert result.after == {}


@rule("PV-2", "PV-3")
def test_once_a_preview_deletion_has_ended_its_target_is_deleted_again():
    ended = Hidden(TRIAL, "before", written(NOW))
    result = previewed([hide("gone", "old")], record("old"), hidden={"old": ended}.items())
    assert result.conflicts == []
    assert result.hidden == {"old": Hidden(TRIAL, "gone", LATER)}


@rule("PV-2", "PV-3")
def test_a_chain_of_preview_records_covers_the_live_record_at_its_root_whatever_becomes_of_them():
    log = [
        save("a", "old", place=TRIAL),
        save("b", "a", place=TRIAL, places={"a": TRIAL}),
        remove("b", place=TRIAL),
    ]
    result = previewed(log, record("old"))
    assert {id: r.status for id, r in result.after.items()} == {"a": Status.SUPERSEDED, "b": Status.DELETED}
    assert result.hidden == {"old": Hidden(TRIAL, "a")}


@rule("PV-3", "TL-4")
def test_a_superseded_live_record_is_deleted_in_preview_too():
    old = record("old", status=Status.SUPERSEDED, replaced_by="heir")
    seen_so = hide("gone", "old")
    seen_so = type(seen_so)(seen_so.record, seen_so.target, Status.SUPERSEDED)
    result = previewed([seen_so], old, record("heir"))
    assert result.hidden == {"old": Hidden(TRIAL, "gone", LATER)}
    assert result.conflicts == []


@rule("PV-1", "PV-4")
def test_what_preview_hides_hides_nothing_from_a_live_turn():
    result = settled([save("new", "old")], record("old"))
    assert result.hidden == {}
    assert result.after["old"].replaced_by == "new"


@rule("PV-3")
def test_a_replace_in_preview_may_name_live_and_preview_records_together():
    log = [save("new", "old", "cover", "wide", place=AGENT.trial, places={"cover": TRIAL, "wide": AGENT})]
    places = rules((SESSION, TRIAL, AGENT, AGENT.trial))
    result = settle(log, standing(record("old"), tried("cover"), record("wide", place=AGENT)), places, NOW)
    assert result.after["new"].replaces == ("old", "cover", "wide")
    assert set(result.hidden) == {"old", "wide"}
    assert result.after.keys() == {"new", "cover"}


def test_a_hidden_target_asks_for_what_hides_it():
    log = [save("new", "old", place=TRIAL)]
    stands = standing(record("old"), hidden={"old": COVER})
    assert needs(log, stands, BOTH).records == {"old": SESSION, "cover": TRIAL}
