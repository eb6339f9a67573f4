"""Words as they are searched: one form for index and question, however they are written.

A soft hyphen in a word, a ligature, full width, the colour of a terminal, Arabic letters as a PDF
draws them: readers see the word and nobody can type it so. ``words.extra_terms`` puts the plain
form into the index beside the text, ``words.read`` asks for it, and ``highlight`` finds the way
back: texts stay as they were.

Most of it is Unicode's NFKC. Left out is what NFKC takes apart and people type as it is: vowels of
Thai, letters of Korean.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.control_characters import SEQUENCE
from mem_search.text.decoding import View, replaced

_UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""Soft hyphens, zero-width characters, fillers of mails, marks of direction."""

_IN_WORDS: Final = (
    "\u200c\u200d\ufe00-\ufe0f\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u0591-\u05bd\u05bf\u05c1\u05c2"
    "\u05c4\u05c5\u05c7"
)
"""What a reader may see and nobody types: joiners, tatweel, the vowels of Arabic and Hebrew."""

_HYPHENS: Final = "\u2010\u2011\ufe63\uff0d"
_APOSTROPHES: Final = "\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\uff07"
"""Letters to Unicode, apostrophes to people: Ukrainian, Hawaiian."""
_COMPATIBLE: Final = (
    "\u00aa\u00b2\u00b3\u00b9\u00ba\u00b5\u00bc-\u00be\u0132\u0133\u013f\u0140\u0149\u017f"
    "\u01c4-\u01cc\u01f1-\u01f3\u0958-\u095f\u09dc\u09dd\u09df\u0a33\u0a36\u0a59-\u0a5b\u0a5e\u0b5c\u0b5d\u2070-\u209c\u2100-\u214f\u2150-\u2189\u2460-\u24ff\u2c7c\u2c7d"
    "\u3200-\u33ff\uf900-\ufaff\ufb00-\ufb4f\ufb50-\ufdff\ufe30-\ufe6f\ufe70-\ufefc\uff01-\uff9f"
    "\uffe0-\uffee\U0001d400-\U0001d7ff\U0001ee00-\U0001eeff\U0001f100-\U0001f16f"
    "\U0002f800-\U0002fa1f"
)
"""Ligatures, raised and lowered digits, full and half width, letters of mathematics."""

_MARKS: Final = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a"
"""What is one character with the letter before it."""

_ESCAPE: Final = "\x1b"

_JAMO: Final = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"
_SEEN: Final = f"{_UNSEEN}{_HYPHENS}{_APOSTROPHES}{_COMPATIBLE}"


def _clusters(special: str) -> re.Pattern[str]:
    return pattern(
        f"{SEQUENCE}|{_JAMO}|[\uff66-\uff9d][\uff9e\uff9f]|[^\\W_][{_MARKS}]+|[{special}]"
    )


_ANY: Final = pattern(f"[{_ESCAPE}{_SEEN}{_IN_WORDS}{_MARKS}\u1161-\u1175]")
_CLUSTERS: Final = _clusters(_SEEN + _IN_WORDS)
_ANY_SEEN: Final = pattern(f"[{_ESCAPE}{_SEEN}]")
_CLUSTERS_SEEN: Final = _clusters(_SEEN)
_DROPPED: Final = pattern(f"[{_UNSEEN}{_IN_WORDS}]+")

_RAISED: Final = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")
_MIN_NOTED_LETTERS: Final = 3
"""A raised digit after so many letters is the number of a note, not ``m²``."""
_APART: Final = pattern("[\u2460-\u249b\u24ea-\u24ff\u3200-\u33ff\U0001f100-\U0001f10a]")
"""Numbers in circles and units in squares, which are no part of the word before them."""
_SIGNS: Final = frozenset("™℠")

FOLDED: Final = str.maketrans(
    {
        "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th",
        "ı": "i", "ё": "е", "ѐ": "е", "ґ": "г",
        "ά": "α", "έ": "ε", "ή": "η", "ί": "ι", "ό": "ο", "ύ": "υ", "ώ": "ω", "ϊ": "ι",
        "ΐ": "ι", "ϋ": "υ", "ΰ": "υ", "ς": "σ",
        "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
        "ہ": "ه", "ھ": "ه",
        **dict(zip("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789", strict=True)),
    }
)  # fmt: skip
"""Letters, in lower case, that people also write in these ways. Accents of Latin letters the index
drops by itself."""

_FOLDS: Final = pattern(f"[{''.join(map(chr, FOLDED))}ЁΆΈΉΊΌΎΏ]")

_ENDS: Final = ("-\n", "-\r", "\u00ad\n", "\u00ad\r", "\u2010\n", "\u2010\r")
_CUT: Final = pattern(r"([^\W\d_]{2,40})[-\u00ad\u2010]\r?\n[ \t>]{0,8}([^\W\d_]{2,40})")


def joined(text: str) -> list[str]:
    """The words, in lower case, that the ends of lines cut in two."""
    if not any(end in text for end in _ENDS):
        return []
    return [(one + other).lower() for one, other in _CUT.findall(text) if not other.istitle()]


SIGN: Final = pattern(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u20a0-\u20cf\u2190-\u23ff\u25a0-\u27bf\u2900-\u2bff"
    "\U0001f000-\U0001f0ff\U0001f170-\U0001f3fa\U0001f400-\U0001faff]"
)
"""A flag, an emoji without the colour of its skin, an arrow, a sign of money or of mathematics."""

RULES: Final = "words-4"
"""The version of these rules; what others put into the index is put there again."""


def folded(word: str) -> str:
    """``strasse`` for ``straße``; a word in lower case without such letters stays as it is."""
    return word if word.isascii() else word.translate(FOLDED)


def plain(text: str) -> str:
    """``text`` with its words in the form in which they are searched; case and accents stay."""
    return text if _is_plain(text, _ANY) else _CLUSTERS.sub(_plain, text)


def view(text: str) -> View | None:
    """``plain(text)`` with the way back to the places in ``text``; None where it is the same."""
    return None if _is_plain(text, _ANY) else replaced(text, _CLUSTERS, _plain)


def seen(text: str) -> str:
    """``text`` as a reader sees it, for a model: like ``plain``, with all signs of its script."""
    return text if _is_plain(text, _ANY_SEEN) else _CLUSTERS_SEEN.sub(_plain, text)


def _is_plain(text: str, others: re.Pattern[str]) -> bool:
    return (text.isascii() and _ESCAPE not in text) or not others.search(text)


def has_forms(text: str) -> bool:
    """Whether the index has further words for ``text`` by these rules, which older ones lacked."""
    if _ESCAPE in text:
        return True
    if not text.isascii() and any(each.search(text) for each in (_ANY, _FOLDS, SIGN)):
        return True
    return bool(joined(text))


def _plain(match: re.Match[str]) -> str:
    sign = match[0]
    if sign[0] == _ESCAPE:
        return ""
    if sign in _SIGNS:
        return " "
    if sign in _HYPHENS:
        return "-"
    if sign in _APOSTROPHES:
        return "'"
    made = unicodedata.normalize("NFKC", sign)
    if sign in _RAISED:
        before = match.string[max(0, match.start() - _MIN_NOTED_LETTERS) : match.start()]
        return f" {made}" if len(before) == _MIN_NOTED_LETTERS and before.isalpha() else made
    made = _DROPPED.sub("", made)
    return f" {made} " if _APART.match(sign) else made
