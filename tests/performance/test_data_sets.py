"""How the quality benchmark reads data sets, and cuts their texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data_sets import Document, Question, find_data_sets, summary_and_content


def write_data_set(folder: Path) -> None:
    folder.mkdir(parents=True)
    document = {"scope": "s", "id": "d1", "text": "Tea at four.", "role": "Ann"}
    question = {"scope": "s", "id": "q1", "text": "When is tea?", "gold": ["d1"], "category": "time"}
    (folder / "docs.jsonl").write_text(json.dumps(document) + "\n\n")
    (folder / "queries.jsonl").write_text(json.dumps(question) + "\n")


def test_every_folder_with_both_files_is_a_data_set(tmp_path: Path) -> None:
    write_data_set(tmp_path / "b")
    write_data_set(tmp_path / "a")
    (tmp_path / "other").mkdir()
    (tmp_path / "README.md").write_text("no data set")
    assert [data_set.name for data_set in find_data_sets(tmp_path)] == ["a", "b"]


def test_a_data_set_may_be_named_itself(tmp_path: Path) -> None:
    write_data_set(tmp_path / "a")
    (data_set,) = find_data_sets(tmp_path / "a")
    assert data_set.documents == {"s": [Document("s", "d1", "Tea at four.")]}
    assert data_set.questions == {"s": [Question("s", "When is tea?", frozenset({"d1"}))]}


def test_a_short_text_is_a_summary_alone() -> None:
    assert summary_and_content("Tea\n at  four. ") == ("Tea at four.", None)


def test_a_long_text_is_cut_behind_a_word_and_says_nothing_twice() -> None:
    text = "word " * 100
    summary, content = summary_and_content(text)
    assert len(summary) <= 300
    assert f"{summary} {content}" == text.strip()


@pytest.mark.parametrize("length", [300, 301, 700])
def test_a_script_without_spaces_is_cut_at_the_limit(length: int) -> None:
    summary, content = summary_and_content("茶" * length)
    assert summary == "茶" * 300
    assert (content or "") == "茶" * (length - 300)


def test_a_content_holds_no_more_than_a_record_takes() -> None:
    _, content = summary_and_content("茶" * 20_000)
    assert content == "茶" * 16_000
