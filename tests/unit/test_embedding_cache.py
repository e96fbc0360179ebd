from concurrent.futures import ThreadPoolExecutor

from embedders import HashEmbedder

from agent_memory.adapters.embedding_cache import CachingEmbedder
from agent_memory.domain.ports import Embedded

ENTRY = 4 * 64 + 200


class RefusingPoison(HashEmbedder):
    def embed(self, texts, *, query=False):
        embedded = super().embed(texts, query=query)
        vectors = [None if "poison" in text else v for text, v in zip(texts, embedded.vectors, strict=True)]
        return Embedded(vectors, embedded.tokens, embedded.cached)


def test_a_text_that_was_embedded_needs_no_call():
    inner = HashEmbedder()
    cache = CachingEmbedder(inner, 1_000_000)
    first, second = cache.embed(["a", "b"]), cache.embed(["b", "a"])
    assert first.vectors == second.vectors[::-1]
    assert (first.cached, second.cached, second.tokens) == (False, True, 0)
    assert inner.asked == ["a", "b"]


def test_only_what_is_missing_is_asked_and_each_text_once():
    inner = HashEmbedder()
    cache = CachingEmbedder(inner, 1_000_000)
    cache.embed(["a"])
    embedded = cache.embed(["c", "a", "c", "b"])
    assert inner.asked == ["a", "c", "b"]
    assert embedded.vectors[0] == embedded.vectors[2] != embedded.vectors[3]
    assert not embedded.cached
    assert embedded.tokens > 0


def test_a_query_and_a_record_of_the_same_text_are_two():
    inner = HashEmbedder()
    cache = CachingEmbedder(inner, 1_000_000)
    cache.embed(["a"], query=True)
    cache.embed(["a"])
    assert inner.asked == ["a", "a"]


def test_a_refused_text_is_asked_again():
    inner = RefusingPoison()
    cache = CachingEmbedder(inner, 1_000_000)
    assert cache.embed(["poison", "a"]).vectors[0] is None
    assert cache.embed(["poison", "a"]).vectors[0] is None
    assert inner.asked == ["poison", "a", "poison"]


def test_what_was_unused_longest_goes_first_when_the_room_is_full():
    inner = HashEmbedder()
    cache = CachingEmbedder(inner, 2 * ENTRY)
    cache.embed(["a", "b"])
    cache.embed(["a"])
    cache.embed(["c"])
    inner.asked.clear()
    assert cache.embed(["a", "c"]).cached
    cache.embed(["b"])
    assert inner.asked == ["b"]


def test_a_cache_without_room_answers_all_the_same():
    cache = CachingEmbedder(HashEmbedder(), 0)
    assert cache.embed(["a"]).vectors == cache.embed(["a"]).vectors
    assert not cache.embed(["a"]).cached


def test_threads_share_it():
    cache = CachingEmbedder(HashEmbedder(), 20 * ENTRY)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: (n % 40, cache.embed([f"text {n % 40}"]).vectors[0]), range(400)))
    expected = {n: CachingEmbedder(HashEmbedder(), 0).embed([f"text {n}"]).vectors[0] for n in range(40)}
    assert all(vector == expected[n] for n, vector in found)
