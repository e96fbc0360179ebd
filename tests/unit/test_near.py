"""From which cosine on two records are compared."""

from __future__ import annotations

import pytest
from embedders import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.floor import ALL_MINILM_L6, MEASURED, MULTILINGUAL_E5_SMALL, measured_floor
from agent_memory.domain.near import NEAR, near_of

pytestmark = pytest.mark.rule("EX-2")


@pytest.mark.parametrize("model", [MULTILINGUAL_E5_SMALL, ALL_MINILM_L6])
def test_it_ships_with_a_model_whatever_floor_was_set(model: str) -> None:
    assert near_of(HashEmbedder(model=model, floor=-1)) == NEAR[model] > MEASURED[model]


@given(st.floats(-1, 1))
def test_of_another_model_it_lies_between_its_floor_and_1(floor: float) -> None:
    assert max(0, floor) - 0.001 <= near_of(HashEmbedder(floor=floor)) <= 1


def test_vectors_that_have_nothing_to_do_with_each_other_are_not_near() -> None:
    model = HashEmbedder(64)
    near = near_of(HashEmbedder(64, floor=measured_floor(model)))
    assert 0.35 < near < 0.6
