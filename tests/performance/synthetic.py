"""A memory of any size to measure speed on: owners, texts and vectors, all of them made from seeds.

Half of the records belong to 100 owners in equal shares, half to one; 50 more, at every size, to one other. A text is
words of its topic and common ones, by Zipf's law; its vector lies near that of its topic. No model is called: what
embedding costs is not measured here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from random import Random

import numpy as np
from numpy.typing import NDArray

from agent_memory.domain.ports import Embedded

DIMENSIONS = 384
BIG, FIFTY = "big", "fifty"
SMALL = tuple(f"small-{n:02}" for n in range(100))
TURN = 15  # changes of one turn by tools (TU-5)

_TOPICS, _TOPIC_WORDS, _COMMON_WORDS, _NOISES = 100, 60, 8000, 4096
_SUMMARY_WORDS, _CONTENT_WORDS, _QUERY_WORDS = (8, 18), (25, 60), (5, 10)
_WITH_CONTENT = 0.3  # of the records


def share_of(owner: str, size: int) -> int:
    """How many records an owner has in a memory of `size`."""
    return {BIG: size // 2, FIFTY: 50}.get(owner, size // 2 // len(SMALL))


def turns_to_grow(before: int, after: int) -> list[tuple[str, list[int]]]:
    """Turns that bring a memory from one size to another: the owner and the numbers of its new records. The owners'
    turns come in a random order, so that their records lie apart on the disk as they would with time."""
    turns = []
    for owner in (BIG, FIFTY, *SMALL):
        numbers = range(share_of(owner, before) if before else 0, share_of(owner, after))
        turns += [(owner, list(numbers[at : at + TURN])) for at in range(0, len(numbers), TURN)]
    Random(after).shuffle(turns)
    return turns


def record_of(owner: str, number: int) -> dict[str, str]:
    """The arguments of `add_memory`; a summary of some 100 characters, in three of ten cases a content of some 300."""
    random = Random(f"{owner} {number}")
    topic = random.randrange(_TOPICS)
    given = {"summary": f"{_text(random, topic, _SUMMARY_WORDS)} {number}", "kind": "fact"}
    return given | ({"content": _text(random, topic, _CONTENT_WORDS)} if random.random() < _WITH_CONTENT else {})


def query_of(number: int) -> str:
    random = Random(f"query {number}")
    return _text(random, random.randrange(_TOPICS), _QUERY_WORDS)


class SyntheticEmbedder:
    """The vector of a text lies near that of the topic that its first word names. Takes some 20 µs."""

    model = "synthetic"
    dimensions = DIMENSIONS
    floor = 0.3
    window = 4000

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self._topics = _units(random.standard_normal((_TOPICS, DIMENSIONS), np.float32))
        self._noises = _units(random.standard_normal((_NOISES, DIMENSIONS), np.float32))

    def knows(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedded:
        return Embedded([self._vector(text) for text in texts], tokens=len(texts), cached=False)

    def _vector(self, text: str) -> list[float]:
        topic = _topic_numbers().get(text.split(" ", 1)[0], 0)
        vector = self._topics[topic] + self._noises[zlib.crc32(text.encode()) % _NOISES]
        floats: list[float] = (vector / np.sqrt(vector @ vector)).tolist()
        return floats


def _units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def _text(random: Random, topic: int, length: tuple[int, int]) -> str:
    """The topic's name, then its own words and common ones, half and half."""
    words = [_topic_words(topic)[0]]
    for _ in range(random.randint(*length)):
        own = random.random() < 0.5
        words.append(_zipf(random, _topic_words(topic) if own else _common_words()))
    return " ".join(words)


def _zipf(random: Random, words: Sequence[str]) -> str:
    return random.choices(words, cum_weights=_weights(len(words)))[0]


@cache
def _weights(count: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


@cache
def _common_words() -> list[str]:
    return [_word(number) for number in range(_COMMON_WORDS)]


@cache
def _topic_words(topic: int) -> list[str]:
    first = _COMMON_WORDS + topic * _TOPIC_WORDS
    return [_word(number) for number in range(first, first + _TOPIC_WORDS)]


@cache
def _topic_numbers() -> dict[str, int]:
    return {_topic_words(topic)[0]: topic for topic in range(_TOPICS)}


def _word(number: int) -> str:
    """A word that looks like one, another for each number: syllables in place of digits."""
    return "".join(_syllables(number))


def _syllables(number: int) -> Iterator[str]:
    for _ in range(3 if number >= 1000 else 2):
        number, digit = divmod(number, 75)
        yield "bdfgklmnprstvzh"[digit % 15] + "aeiou"[digit // 15]
