"""Takes the endings off a folded word, so that its forms are found by each other: `replying`, `replies`, `reply`.

Knows light rules by script, never by guessing the language of a text: a word must have one stem wherever it stands, or
a question would miss its answer. Latin letters get English rules, which also take the commonest plurals of German,
Dutch and the Romance languages; Cyrillic, Greek, Arabic and Devanagari lose the commonest endings of Russian, Greek,
Arabic and Hindi. A stem is a key, not a word. Rejected: Snowball, which needs the language, takes .1 ms a word and 40
times a Lambda's patience to import in Python, and on the English sets of the benchmark is no better; -er of persons
and comparatives, which would make one of Parker and park, center and cent.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def stem(word: str) -> str:
    """The word without its endings; itself where it is short or its script has no rules here."""
    if len(word) < 4:
        return _IRREGULAR.get(word, word)
    strip = next((strip for first, last, strip in _SCRIPTS if first <= word[0] <= last), None)
    return strip(word) if strip else word


# ---------------------------------------------------------------- Latin

# Forms no rule reaches, of the commonest verbs and nouns, and words that only look like forms of others (`news=news`).
_IRREGULAR: dict[str, str] = dict(
    pair.split("=")
    for line in """
        men=man women=woman children=child people=person feet=foot teeth=tooth mice=mouse lives=life wives=wife
        knives=knife leaves=leaf went=go gone=go goes=go bought=buy brought=bring thought=think taught=teach
        caught=catch made=make said=say told=tell took=take taken=take gave=give given=give came=come got=get
        gotten=get found=find kept=keep left=leave lost=lose met=meet paid=pay ran=run sent=send sold=sell spent=spend
        spoke=speak spoken=speak wrote=write written=write chose=choose chosen=choose began=begin begun=begin
        grew=grow grown=grow knew=know known=know drew=draw drawn=draw flew=fly ate=eat eaten=eat won=win
        built=build saw=see seen=see felt=feel drove=drive driven=drive swam=swim sang=sing sung=sing
        broke=break broken=break woke=wake wore=wear worn=wear held=hold heard=hear led=lead slept=sleep
        dies=die died=die dying=die lies=lie lied=lie lying=lie ties=tie tied=tie tying=tie agreed=agree freed=free
        evening=evening listen=listen news=news series=series species=species business=business
    """.splitlines()
    for pair in line.split()
)

# First what marks a number or a tense, then what makes one kind of word of another: (ending, instead of it, letters
# that must stay). Of each list the first that fits is taken, so longer endings stand before shorter ones.
_PLURALS = (
    ("ciones", "cion", 2),  # Spanish; then Portuguese, French
    ("siones", "sion", 2),
    ("coes", "cao", 2),
    ("soes", "sao", 2),
    ("eaux", "eau", 2),
    ("aux", "al", 3),
    ("sses", "ss", 1),
    ("uses", "us", 1),
    ("oes", "o", 3),
    ("shes", "sh", 1),
    ("ches", "ch", 1),
    ("xes", "x", 1),
    ("zzes", "z", 1),
    ("ies", "y", 2),
    ("ies", "ie", 1),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("is", "is", 0),
    ("s", "", 2),
)
_DERIVED = (
    ("iness", "y", 3),
    ("ness", "", 4),
    ("ment", "", 4),
    ("iful", "y", 4),
    ("ful", "", 4),
    ("ily", "y", 3),
    ("ly", "", 4),
    ("iest", "y", 3),
    ("ier", "y", 3),
    ("ion", "", 5),
    ("en", "", 4),  # also the plural of German and Dutch
)
_TENSES = ("ing", "ied", "ed")
_VOWELS = "aeiouy"
_VOWEL = re.compile("[aeiouy]")
_SHORT = re.compile("[^aeiouy]?[aeiouy][^aeiouywx]")


def _latin(word: str) -> str:
    if word in _IRREGULAR:
        return _closed(_IRREGULAR[word])
    single = _replaced(word, _PLURALS)
    return _closed(_replaced(_without_tense(_IRREGULAR.get(single, single)), _DERIVED))


def _closed(word: str) -> str:
    """Without a silent e, an Italian or Spanish ending of gender, and the second of two consonants at the end."""
    if word.endswith("ie") and len(word) > 4:  # as movies, which lost -ies for -y
        word = word[:-2] + "y"
    elif (len(word) > 4 and word[-1] == "e") or (len(word) > 5 and word[-1] in "aio"):
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] and word[-1] not in _VOWELS else word


def _replaced(word: str, endings: tuple[tuple[str, str, int], ...]) -> str:
    for ending, instead, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: len(word) - len(ending)] + instead
    return word


def _without_tense(word: str) -> str:
    ending = next(filter(word.endswith, _TENSES), "")
    root = word[: len(word) - len(ending)]
    if not ending or len(root) < 2 or not _VOWEL.search(root) or root[-1] == "e":  # sing, need
        return word
    return root + "y" if ending == "ied" else _restored(root)


def _restored(root: str) -> str:
    """What stood before -ing or -ed: hop of hopp(ing), hope of hop(ing), but visit of visit(ing) (Porter 1980)."""
    if root[-1] == root[-2]:
        return root[:-1] if root[-1] not in "lsz" else root
    return root + "e" if _SHORT.fullmatch(root) else root


# ---------------------------------------------------------------- other scripts


def _endings(listed: str, *, keep: int) -> Callable[[str], str]:
    """A rule that takes the longest of the endings off a word of which at least `keep` letters stay."""
    endings = sorted(listed.split(), key=len, reverse=True)
    pattern = re.compile("(?:" + "|".join(endings) + ")$")

    def strip(word: str) -> str:
        found = pattern.search(word, keep)
        return word[: found.start()] if found else word

    return strip


_russian = _endings(
    "ами ями ого его ому ему ыми ими ах ях ой ей ом ем ым им ую юю ая яя ое ее ые ие ый ий ов ев ам ям ию ия ии ий "
    "ться тся ешь ишь ете ите ют ут ят ат ет ит ла ло ли ть а я о е и ы у ю ь й",
    keep=3,
)
_greek = _endings("ους ου ος ον οι ων ες ης ησ ουσ οσ εσ ασ ισ ας ις α η ο ι ε υ ω", keep=3)
_hindi = _endings("ियों ियां ियाँ ाओं ाएं ाओ ाए ों ें ीं ां ो े ी ि ा ु ू", keep=2)
_arabic_endings = _endings("ها ان ات ون ين يه هم نا ه ي", keep=3)
_ARABIC_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=..)")


def _arabic(word: str) -> str:
    bare = _ARABIC_ARTICLE.sub("", word) if len(word) > 4 else word
    return _arabic_endings(bare)


_SCRIPTS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("a", "\u024f", _latin),
    ("\u0400", "\u052f", _russian),
    ("\u0370", "\u03ff", _greek),
    ("\u0620", "\u06ff", _arabic),
    ("\u0900", "\u097f", _hindi),
)
