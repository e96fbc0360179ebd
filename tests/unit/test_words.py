import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.domain.words import MAX_QUERY_WORDS, MAX_TOKEN_CHARACTERS, is_blank, query_words, tokens

UNHURRIED = settings(deadline=None)  # a busy machine is no failure
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)  # lone surrogates and controls too
# Text as people and programs write it: joints, quotes and scripts side by side.
MIXED = st.text(
    st.sampled_from("aeinst ABR 019 .,-_@&'’/\\: éß ий ова 猫は何東京データ 책을가 แมวที่น้ำ मेंकि الكتاب ْ"), max_size=60
)


def finds(query: str, text: str) -> bool:
    return not set(query_words(query)).isdisjoint(tokens(text))


@pytest.mark.rule("RK-4")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        # English
        ("why is Codey not replying to my messages", "Codey replies in the infra channel."),
        ("don't use agents", "We use agents for payroll."),
        ("what's the deploy plan?", "The deploy plan is on the wiki."),
        ("movie", "She likes old movies."),
        ("hoping", "They hope to move."),
        ("went", "He goes to the gym."),
        # German
        ("Wo liegt die Rechnung?", "Alle Rechnungen liegen im Archiv."),
        ("strasse", "Die Straße ist gesperrt."),
        ("Muller", "Frau Müller rief an."),
        ("Katze", "Sie hat zwei Katzen."),
        # French
        ("l'hôpital", "Un hopital est proche."),
        ("les journaux", "Il lit un journal."),
        ("où est l'eau ?", "L’eau est coupée demain."),
        # Spanish, Portuguese, Italian
        ("¿Dónde está la factura?", "Las facturas llegan en mayo."),
        ("canción", "Le gustan las canciones."),
        ("canções", "Uma canção por dia."),
        ("documento", "I documenti sono pronti."),
        ("dell'acqua", "L'acqua è fredda."),
        # Dutch, Polish, Turkish, Vietnamese
        ("boek", "De boeken staan boven."),
        ("lodz", "Mieszka w mieście Łódź."),
        ("istanbul", "İstanbul'da yaşıyor."),
        ("duong", "Con đường dài."),
        # Russian, Ukrainian, Greek
        ("Где мои документы?", "Срок для документов истёк."),
        ("еще елка", "Ёлка стоит в углу."),
        ("пʼять", "Їх п'ять."),
        ("οδός", "Η οδος είναι κλειστή."),
        # Arabic, Hebrew, Hindi
        ("كتاب", "قرأ الكِتَابَ أمس."),
        ("أين المدينة", "مدينه كبيرة"),
        ("שלום", "שָׁלוֹם לכולם"),
        ("मेरी किताब कहाँ है", "दो किताबें मेज़ पर रखीं।"),
        ("हिन्दी", "वह हिंदी बोलती है।"),
        # Chinese
        ("多租户", "系统支持多租户隔离。"),
        ("猫在哪里？", "她养了一只猫"),
        ("茶", "他每天喝茶。"),
        ("目的地在哪里", "本次目的地是北京。"),
        # Japanese
        ("猫はどこですか", "猫が好きです。"),
        ("東京", "来週東京タワーに行きます。"),
        ("ﾃﾞｰﾀ", "データベースを移す。"),
        ("バス", "次のバスは九時。"),
        # Korean
        ("책", "어제 책을 읽었다."),
        ("서울에서", "서울로 이사했다."),
        ("데이터", "데이터베이스를 옮겼다."),
        # Thai, Lao, Khmer
        ("แมวอยู่ที่ไหน", "ฉันเลี้ยงแมวสองตัว"),
        ("น้ำ", "ดื่มน้ำทุกวัน"),
        ("ນ້ຳ", "ດື່ມນ້ຳທຸກມື້"),
        ("ភ្នំពេញ", "គាត់រស់នៅភ្នំពេញ"),
        # Names, numbers, addresses, paths
        (r"C:\repo\src\main.py", r"Edit C:\repo\src\main.py first."),
        ("main.py", "see src/main.py"),
        ("testing@gmail.com", "Contact testing@gmail.com for access."),
        ("email", "Send an e-mail."),
        ("e-mails", "Send an email."),
        ("maxResults", "set max_results to 5"),
        ("user name", "call getUserName()"),
        ("INC-4711", "see inc4711"),
        ("1000", "It costs 1,000 dollars."),
        ("10.5 km", "10.5km from here"),
        ("2026", "Due on 2026-05-08."),
        ("٣٠", "30 days"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "Full width"),
        ("U.S.A.", "in the USA"),
        ("AT&T", "a contract with AT&T"),
    ],
)
def test_a_text_is_found_by_its_words(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.rule("RK-4", "RK-7")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("pyth*", "Python memory is safe; foo and bar say hi."),
        ("a OR", "Python memory is safe; foo and bar say hi."),
        ("NEAR(", "Python memory is safe; foo and bar say hi."),
        ("Cruise / En route | B", r"Edit C:\repo\src\main.py first. The file some/path/notes.txt is stale."),
        ("a\\/b", r"Edit C:\repo\src\main.py first."),
        ("麻婆豆腐", "系统支持多租户隔离。"),
        ("项目", "目录"),
        ("мультитенант", "The system has tenants."),
        ("party", "one part of it"),
        ("कि", "की"),
        ("か", "かばんと花"),
    ],
)
def test_a_text_is_not_found_by_other_words(query: str, text: str) -> None:
    assert not finds(query, text)


@pytest.mark.rule("RK-4")
@pytest.mark.parametrize(
    "query",
    [
        "what is the",
        "Don't you",
        "wo ist die",
        "où est-ce que",
        "¿dónde está la?",
        "dove sono le",
        "onde está a",
        "waar is het",
        "где же он",
        "πού είναι το",
        "أين هو",
        "यह क्या है",
        "这是什么",
        "你是谁",
        "これは何ですか",
        "이것은 무엇입니까",
        "นี่คืออะไร",
        "!!!",
        "…",
        "* ^ ~ \\ \" ' () 。、",
        "🍕",
        "",
    ],
)
def test_a_query_of_stop_words_or_punctuation_has_no_words(query: str) -> None:
    assert query_words(query) == []


@pytest.mark.rule("RK-4")
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("when did the hamster die", ["hamster", "die"]),
        ("wann muss die Rechnung raus", ["rechnung", "raus"]),
        ("who is his son", ["son"]),
        ("qui est son père", ["pere"]),
        ("the war of the roses", ["war", "rose"]),
    ],
)
def test_a_stop_word_of_one_language_counts_where_the_query_is_in_another(query: str, words: list[str]) -> None:
    assert query_words(query) == words


@pytest.mark.rule("RK-4")
def test_accents_case_and_width_fold_and_letters_stay() -> None:
    assert tokens("CAFÉ Ｃａｆｅ café cafe\u0301") == ["cafe"] * 4
    assert tokens("Ødegård Æsir Þór") == ["odegard", "aesir", "thor"]
    assert tokens("край краи") == tokens("край краи".upper())
    assert not finds("ハハ", "ババ")


@pytest.mark.rule("RK-7")
def test_query_words_stand_in_order_once_and_at_most_64() -> None:
    assert query_words("banana apple Banana cherry") == query_words("banana apple cherry")
    assert query_words("zulu yankee xray") == ["zulu", "yanke", "xray"]
    assert query_words(" ".join(f"w{n}" for n in range(100))) == [f"w{n}" for n in range(MAX_QUERY_WORDS)]


@pytest.mark.rule("RK-4")
@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\r", "\u200b", "\ufeff", "\u3000\u00a0", "\u200d\u2060\u00ad", "\u3164", "\x00"]
)
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert query_words(text) == tokens(text) == []


@pytest.mark.parametrize("text", ["a", "!", "🍕", " 猫 ", "\u200b.", "\ud800"])
def test_what_shows_something_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 16_000,
        "猫" * 16_000,
        "น" * 16_000,
        "เ" * 16_000,
        "\u0301\u0316" * 8_000,
        "a" + "\u0301\u0316" * 8_000,
        "👩‍👩‍👧" * 3_200,
        "\ud800" * 16_000,
        "\x00" * 16_000,
        "a\x00b" * 5_000,
        "a." * 8_000,
        "a'" * 8_000,
        "1," * 8_000,
        "1," * 8_000 + "1a",
        "1." * 8_000 + "a",
        "A" * 16_000,
        "a@" * 8_000 + "'",
        "책" * 16_000,
        "の" * 16_000,
        "\u0e34" * 16_000,
        "\u17d2" * 16_000,
        "क\u094d" * 8_000,
        "aB" * 8_000,
        "_" * 16_000,
        "\ufdfa" * 16_000,
        "-@.&" * 4_000,
    ],
)
def test_hostile_text_gives_no_more_tokens_than_any_other(text: str) -> None:
    found = tokens(text)  # a quadratic step would take minutes here
    assert len(found) <= 2 * len(unicodedata.normalize("NFKC", text)) + 1
    assert len(query_words(text)) <= MAX_QUERY_WORDS


@UNHURRIED
@given(ANY_TEXT | MIXED)
def test_tokens_are_short_and_hold_no_white_space_or_controls(text: str) -> None:
    for token in tokens(text) + query_words(text):
        assert 1 <= len(token) <= MAX_TOKEN_CHARACTERS
        assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zs", "Zl", "Zp"} for character in token)
        assert token.split() == [token]


@UNHURRIED
@given(ANY_TEXT | MIXED)
def test_a_text_finds_itself(text: str) -> None:
    words = query_words(text)
    assert set(words) <= set(tokens(text))
    assert len(words) == len(set(words))


@UNHURRIED
@given(MIXED, MIXED)
def test_a_text_is_found_within_a_longer_one(text: str, rest: str) -> None:
    assert set(query_words(text)) <= set(tokens(f"{text}\n{rest}")) & set(tokens(f"{rest}\n{text}"))


@UNHURRIED
@given(MIXED)
def test_case_and_normal_form_change_no_word(text: str) -> None:
    assert query_words(unicodedata.normalize("NFD", text)) == query_words(unicodedata.normalize("NFC", text))
    assert query_words(text.upper().casefold()) == query_words(text.casefold())


@UNHURRIED
@given(ANY_TEXT | MIXED)
def test_no_more_than_four_tokens_for_a_character(text: str) -> None:
    assert len(tokens(text)) <= 4 * len(unicodedata.normalize("NFKC", text))
