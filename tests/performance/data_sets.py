"""Data sets to measure retrieval on, as they lie in folders: documents, and questions with the documents that answer.

    <folder>/docs.jsonl     {"scope", "id", "text", …}           in the order in which they were said, of a conversation
                                                                 with the "session" in which each was
    <folder>/queries.jsonl  {"scope", "id", "text", "gold": [id], …}

A question searches its own scope alone. Knows nothing of memory but the length of a record's two texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUMMARY_CHARACTERS, CONTENT_CHARACTERS = 300, 16_000  # RC-1
_DOCUMENTS, _QUESTIONS = "docs.jsonl", "queries.jsonl"


@dataclass(frozen=True, slots=True)
class Document:
    scope: str
    id: str
    text: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    scope: str
    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str
    documents: dict[str, list[Document]]  # by scope
    questions: dict[str, list[Question]]

    @property
    def is_conversation(self) -> bool:
        return all(each.session for several in self.documents.values() for each in several)


def find_data_sets(folder: Path) -> list[DataSet]:
    """The folder itself where it is a data set, else every folder in it that is one, by name."""
    folders = [folder] if _is_data_set(folder) else sorted(filter(_is_data_set, folder.iterdir()))
    return [_read(each) for each in folders]


def summary_and_content(text: str) -> tuple[str, str | None]:
    """A text as a record has it: the first 300 characters as one line, cut behind a word, and the rest. Nothing is said
    twice, for words count by how often they stand in a record."""
    text = text.strip()
    if len(text) <= SUMMARY_CHARACTERS:
        return _one_line(text), None
    space = max(text.rfind(mark, SUMMARY_CHARACTERS // 2, SUMMARY_CHARACTERS + 1) for mark in (" ", "\n", "\t"))
    cut = space if space > 0 else SUMMARY_CHARACTERS  # a script without spaces is cut where it is
    return _one_line(text[:cut]), text[cut:].strip()[:CONTENT_CHARACTERS] or None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_data_set(folder: Path) -> bool:
    return (folder / _DOCUMENTS).is_file() and (folder / _QUESTIONS).is_file()


def _read(folder: Path) -> DataSet:
    documents: dict[str, list[Document]] = {}
    for row in _rows(folder / _DOCUMENTS):
        documents.setdefault(row["scope"], []).append(
            Document(row["scope"], row["id"], row["text"], row.get("session"))
        )
    questions: dict[str, list[Question]] = {}
    for row in _rows(folder / _QUESTIONS):
        question = Question(row["scope"], row["text"], frozenset(row["gold"]))
        questions.setdefault(row["scope"], []).append(question)
    return DataSet(folder.name, documents, questions)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
