import pytest

from agent_memory.domain.scripts import dominant_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", None),
        ("12 — 30 !?", None),
        ("👍🏽", None),
        ("Crème brûlée", "LATIN"),
        ("Cre\u0300me", "LATIN"),
        ("ＡＢＣ", "LATIN"),
        ("Привет, world", "CYRILLIC"),
        ("Ελληνικά", "GREEK"),
        ("שלום", "HEBREW"),
        ("السلام عليكم", "ARABIC"),
        ("नमस्ते", "DEVANAGARI"),
        ("สวัสดี", "THAI"),
        ("안녕하세요", "HANGUL"),
        ("东京 Tokyo 的天气很好", "CJK"),
        ("东京的天气很好", "CJK"),
        ("カタカナとひらがな", "KANA"),
        ("ᏣᎳᎩ", "CHEROKEE"),
    ],
)
def test_the_script_of_most_letters_counts(text, script):
    assert dominant_script(text) == script
