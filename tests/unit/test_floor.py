import pytest
from embedders import HashEmbedder

from agent_memory.adapters.kept_floor import FloorFile, WithFloor
from agent_memory.domain.errors import EmbedderUnavailable
from agent_memory.domain.floor import MEASURED, measured_floor, sentences
from agent_memory.domain.ports import Embedded


class MostlyAlike(HashEmbedder):
    """Has every cosine near one: a direction that all texts share."""

    def vector(self, text: str) -> list[float]:
        shared = [x / 2 for x in super().vector(text)]
        shared[0] += 2.0
        length = sum(x * x for x in shared) ** 0.5
        return [x / length for x in shared]


class Refusing(HashEmbedder):
    def embed(self, texts, *, query=False):
        return Embedded([None] * len(texts), tokens=0, cached=False)


class Down(HashEmbedder):
    def embed(self, texts, *, query=False):
        raise EmbedderUnavailable("down")


def test_the_fixed_sentences_are_of_many_languages_and_all_different():
    fixed = sentences()
    assert len({one.record for one in fixed}) == len({one.question for one in fixed}) == len(fixed) >= 24
    assert len({one.language for one in fixed}) >= 15


@pytest.mark.rule("CF-6")
def test_the_measured_floor_lies_above_nearly_all_unrelated_texts():
    embedder = HashEmbedder(64)
    floor = measured_floor(embedder)
    unrelated = [
        sum(x * y for x, y in zip(embedder.vector(a.question), embedder.vector(b.record), strict=True))
        for a in sentences()
        for b in sentences()
        if a is not b
    ]
    assert 0.2 < floor < 0.3  # 2 deviations of 1/√64
    assert sum(x >= floor for x in unrelated) / len(unrelated) < 0.05


@pytest.mark.rule("CF-6")
def test_the_measured_floor_follows_the_model():
    assert measured_floor(MostlyAlike(64)) > 0.9


def test_a_model_that_refuses_the_sentences_has_no_floor():
    with pytest.raises(EmbedderUnavailable):
        measured_floor(Refusing())


@pytest.mark.rule("CF-6")
def test_a_floor_that_was_set_outranks_the_one_that_ships_and_that_one_a_measured():
    shipped = next(iter(MEASURED))
    assert WithFloor(HashEmbedder(model=shipped), floor=0.11).floor == 0.11
    assert WithFloor(HashEmbedder(model=shipped)).floor == MEASURED[shipped]
    assert WithFloor(HashEmbedder(64)).floor == measured_floor(HashEmbedder(64))


@pytest.mark.rule("CF-6")
def test_a_measured_floor_is_kept_over_a_restart_and_told_apart_by_model_and_dimensions(tmp_path):
    kept = FloorFile(tmp_path / "floors.json")
    floor = WithFloor(HashEmbedder(64), kept=kept).floor
    again = HashEmbedder(64)
    assert WithFloor(again, kept=FloorFile(tmp_path / "floors.json")).floor == floor
    assert again.asked == []
    assert WithFloor(HashEmbedder(256), kept=kept).floor < floor
    assert WithFloor(Down(64), kept=kept).floor == floor
    assert [path.name for path in tmp_path.iterdir()] == ["floors.json"]


def test_a_spoilt_file_is_measured_anew(tmp_path):
    path = tmp_path / "floors.json"
    path.write_text('{"hash/64": ')
    assert WithFloor(HashEmbedder(64), kept=FloorFile(path)).floor == FloorFile(path).get("hash/64")


def test_a_model_that_is_down_is_measured_at_the_next_use():
    embedder = Down(64)
    with_floor = WithFloor(embedder)
    with pytest.raises(EmbedderUnavailable):
        _ = with_floor.floor
    with_floor._inner = HashEmbedder(64)
    assert 0 < with_floor.floor < 1
