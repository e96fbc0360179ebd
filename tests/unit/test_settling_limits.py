"""PN-2, RL-1: the budget of pins and the twenty constraints of a scope, once staged changes meet what stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staged_items import (
    AGENT,
    LATER,
    LIVE,
    NOW,
    SESSION,
    TRIAL,
    USER,
    pending,
    record,
    remove,
    rules,
    save,
    standing,
    told,
)

from agent_memory.domain import pins
from agent_memory.domain.needs import needs
from agent_memory.domain.records import Status
from agent_memory.domain.settling import settle
from agent_memory.domain.staging import MAX_CONSTRAINTS, Standing
from agent_memory.domain.times import written

rule = pytest.mark.rule


def tokens(*records):
    return pins.tokens_of(records)


def pinned(id, **fields):
    return record(id, pinned=True, **fields)


def pinning(log, *present, max_tokens, places=LIVE):
    return settle(log, standing(*present, boards=places), rules(places, pin_tokens=max_tokens), NOW)


def constraint(id, **fields):
    return record(id, kind="constraint", **fields)


def binding(log, *present, places=LIVE):
    return settle(log, standing(*present, boards=places), rules(places), NOW)


# ---------------------------------------------------------------- pins


@rule("PN-2")
def test_a_pin_that_fits_to_the_token_is_pinned_and_one_token_more_is_not():
    old, new = pinned("old"), save("new", pinned=True)
    most = tokens(old, new.record)
    kept = pinning([new], old, max_tokens=most)
    assert kept.after["new"].pinned is True
    assert (kept.conflicts, kept.over_budget) == ([], {})
    over = pinning([new], old, max_tokens=most - 1)
    assert over.after["new"].pinned is False
    assert told(over) == [("pin", "new", "new", "unpinned")]
    assert over.over_budget == {"new": most}


@rule("PN-2", "TU-8")
def test_a_pin_that_no_longer_fits_is_saved_all_the_same_and_what_it_replaces_goes():
    result = pinning([save("new", "named", pinned=True)], record("named"), pinned("faster"), max_tokens=8)
    assert (result.after["new"].status, result.after["new"].pinned) == (Status.ACTIVE, False)
    assert result.after["named"].replaced_by == "new"
    assert "faster" not in result.after


@rule("PN-2")
def test_the_list_is_counted_with_what_is_staged_and_without_what_is_staged_to_go():
    a, b, c, d = pinned("a"), pinned("b"), save("c", "a", pinned=True), save("d", pinned=True)
    room_for_two = tokens(a, b)
    assert pinning([c], a, b, max_tokens=room_for_two).conflicts == []
    assert told(pinning([c, d], a, b, max_tokens=room_for_two)) == [("pin", "d", "d", "unpinned")]
    assert pinning([c, remove("b"), d], a, b, max_tokens=room_for_two).conflicts == []


@rule("PN-2")
def test_one_pin_takes_the_place_of_several():
    present = [pinned(f"p{n}") for n in range(5)]
    together = save("new", *(r.id for r in present), pinned=True)
    result = pinning([together], *present, max_tokens=tokens(*present))
    assert result.conflicts == []
    assert result.boards[SESSION].pinned.keys() == {"new"}


@rule("PN-2")
@pytest.mark.parametrize(
    "other",
    [
        pinned("other", expires_at=written(NOW)),
        pinned("other", status=Status.DELETED),
        record("other"),
        pinned("other", place=SESSION._replace(owner="s-2")),
        pinned("other", place=TRIAL),
    ],
)
def test_what_the_turn_does_not_list_takes_no_room(other):
    new = save("new", pinned=True)
    assert pinning([new], other, max_tokens=tokens(new.record)).conflicts == []


@rule("PN-2")
def test_the_list_counted_is_that_of_every_place_that_the_turn_sees():
    new, wide = save("new", pinned=True), pinned("wide", place=AGENT)
    assert told(pinning([new], wide, max_tokens=tokens(wide, new.record) - 1))
    assert pinning([new], wide, max_tokens=tokens(new.record), places=(SESSION,)).conflicts == []


@rule("PN-2", "RL-2")
def test_a_pin_that_does_not_apply_takes_no_room():
    """A narrower record has its key."""
    overridden = pinned("wide", place=AGENT, memory_key="k")
    new = save("new", pinned=True)
    room = tokens(new.record)
    assert pinning([new], overridden, record("narrow", memory_key="k"), max_tokens=room).conflicts == []
    assert told(pinning([new], overridden, max_tokens=room)) == [("pin", "new", "new", "unpinned")]


@rule("PN-2", "PV-4")
def test_a_live_turn_counts_no_preview_pin_and_a_preview_turn_counts_its_own_view():
    live, tried = pinned("live"), pinned("tried", place=TRIAL)
    new = save("new", pinned=True)
    assert pinning([new], live, tried, max_tokens=tokens(live, new.record)).conflicts == []
    trial = save("new", "live", place=TRIAL, pinned=True)
    both = (SESSION, TRIAL)
    assert pinning([trial], live, tried, max_tokens=tokens(tried, trial.record), places=both).conflicts == []
    assert told(pinning([trial], live, tried, max_tokens=tokens(tried, trial.record) - 1, places=both))


@rule("PN-2", "TU-8")
def test_a_pin_was_counted_against_boards_that_must_not_have_changed_at_the_commit():
    result = pinning([save("new", pinned=True)], pinned("old", place=AGENT), max_tokens=100)
    assert result.boards.keys() == {SESSION}
    assert set(result.fences) == {USER, AGENT}
    assert pinning([save("new", pinned=True)], pinned("old"), max_tokens=1).fences == ()


def test_a_pin_asks_for_the_boards_of_all_places_and_then_for_the_pins_and_the_holders_of_their_keys():
    log = [save("new", pinned=True)]
    seen = rules(pin_tokens=100)
    assert needs(log, Standing(), seen).boards == set(LIVE)
    boards = standing(pinned("wide", place=AGENT, memory_key="k"), boards=LIVE).boards
    asked = needs(log, Standing(boards=boards), seen)
    assert asked.records == {"wide": AGENT}
    assert asked.holders == {(place, "k") for place in LIVE}


@rule("PN-2")
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=12), st.integers(1, 60), st.integers(0, 3))
def test_whatever_is_saved_the_pins_of_the_turn_fit_unless_those_of_others_do_not(saves, max_tokens, others):
    present = [pinned(f"p{n}") for n in range(others)]
    log = [save(f"r{n}", pinned=pin, summary="x" * length) for n, (pin, length) in enumerate(saves)]
    result = pinning(log, *present, max_tokens=max_tokens)
    listed = [*present, *(r for r in result.saved if r.pinned)]
    assert tokens(*listed) <= max_tokens or listed == present
    assert len(result.saved) == len(log)


# ---------------------------------------------------------------- constraints


@rule("RL-1")
def test_the_twenty_first_constraint_of_a_scope_is_not_saved_and_nothing_of_it_stands():
    present = [constraint(f"c{n}") for n in range(MAX_CONSTRAINTS)]
    result = binding([save("new", "fact", kind="constraint", memory_key="k")], record("fact"), *present)
    assert told(result) == [("save", "new", "new", "nothing")]
    assert result.conflicts[0]["current"] is None
    assert (result.after, result.holders, result.boards) == ({}, {}, {})


@rule("RL-1")
@pytest.mark.parametrize(
    ("log", "are_saved"),
    [
        ([save("new", kind="constraint")], 0),
        ([save("new", "c0", kind="constraint")], 1),
        ([remove("c0"), save("new", kind="constraint")], 1),
        ([save("new", "c0", kind="constraint"), save("another", kind="constraint")], 1),
        ([save("new", "c0", "c1", kind="constraint"), save("another", kind="constraint")], 2),
        ([save("new", kind="constraint", memory_key="k")], 1),  # it supersedes the holder
        ([save("new", kind="constraint", place=AGENT)], 1),
        ([save("new", kind="constraint", place=TRIAL)], 1),
        ([save("new", kind="fact")], 1),
        ([pending(save("new", kind="constraint"))], 0),  # a proposal is not active
    ],
)
def test_active_constraints_of_one_scope_and_owner_are_counted_without_those_that_go(log, are_saved):
    present = [constraint("c0", memory_key="k"), *(constraint(f"c{n}") for n in range(1, MAX_CONSTRAINTS))]
    assert len(binding(log, *present, places=(*LIVE, TRIAL)).saved) == are_saved


@rule("RL-1", "LC-1")
def test_an_expired_constraint_makes_room_and_leaves_the_board_with_its_next_change():
    present = [constraint("c0", expires_at=written(NOW)), *(constraint(f"c{n}") for n in range(1, MAX_CONSTRAINTS))]
    result = binding([save("new", kind="constraint", expires_at=LATER)], *present)
    assert [r.id for r in result.saved] == ["new"]
    assert result.boards[SESSION].constraints.keys() == {"new", *(f"c{n}" for n in range(1, MAX_CONSTRAINTS))}


@rule("TU-8", "RL-1")
def test_what_replaces_or_deletes_a_constraint_that_was_not_saved_says_so():
    present = [constraint(f"c{n}") for n in range(MAX_CONSTRAINTS)]
    log = [save("new", kind="constraint"), save("better", "new"), remove("new")]
    result = binding(log, *present)
    assert told(result) == [
        ("save", "new", "new", "nothing"),
        ("replace", "better", "new", "saved_alone"),
        ("delete", "new", "new", "nothing"),
    ]
    assert [r.id for r in result.saved] == ["better"]


@rule("RL-1")
@given(st.integers(15, MAX_CONSTRAINTS), st.lists(st.sampled_from(["save", "replace", "remove"]), max_size=12))
def test_whatever_is_saved_a_scope_never_holds_more_than_twenty_constraints(held, changes):
    present = [constraint(f"c{n}") for n in range(held)]
    log = []
    for n, change in enumerate(changes):
        match change:
            case "save":
                log.append(save(f"r{n}", kind="constraint"))
            case "replace":
                log.append(save(f"r{n}", f"c{n}", kind="constraint"))
            case "remove":
                log.append(remove(f"c{n}"))
    result = binding(log, *present)
    active = [r for r in {**{r.id: r for r in present}, **result.after}.values() if r.status is Status.ACTIVE]
    assert len(active) <= MAX_CONSTRAINTS
    assert result.boards.get(SESSION, standing(*present, boards=LIVE).boards[SESSION]).constraints.keys() == {
        r.id for r in active
    }
