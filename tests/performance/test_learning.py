"""A hundred turns of one session: what is known is not kept twice, and what was recalled is not learned again."""

import pytest
from learning import FACTS, learning
from world import one_machine

rule = pytest.mark.rule


@rule("EX-1", "EX-2", "EX-4", "UP-1")
def test_a_hundred_turns_that_say_the_same_leave_one_record_of_each_fact(tmp_path):
    with one_machine(tmp_path) as world:
        learned = list(learning(world, 100))
    assert {(one.records, one.echoes) for one in learned} == {(FACTS, 0)}
    last = learned[-1]
    assert (last.proposing, last.deciding) == (100, 99)  # the first turn finds nothing near
    first, after = learned[9].asked, learned[-1].asked
    assert after < 11 * first  # what a turn's review is asked does not grow with the conversation
    assert last.versions <= 60
