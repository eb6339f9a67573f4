"""Languages of texts, and the stems of their words (Snowball, https://snowballstem.org).

The index of words stems every text as English. A text in another language has its stems there, too,
each with the mark of its language: a private character that nobody types and every tokenizer takes
for a letter. So ``Rechnungen`` finds ``Rechnung``, and French ``notes``, whose stem is ``not``,
finds no English ``not``. Chinese, Japanese and Korean have pairs instead (``words.bigrams``).

What tells a language are the words that say nothing: those of the right language are a third of
nearly every text. ``RULES`` is the version of all this.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.text.stop_words import STOP_WORDS
from mem_search.text.word_forms import folded, plain
from mem_search.text.wordpieces import is_word as is_english
from mem_search.text.words import unmarked

RULES: Final = "stems-1"

LANGUAGE: Final = "text_language"
"""The member of the metadata for the language of a text in another language than English."""

SNOWBALL: Final = {
    "de": "german", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch",
    "pt": "portuguese", "ru": "russian", "sv": "swedish",
}  # fmt: skip
"""Language (ISO 639-1) → its algorithm."""

_MARKS: Final = {language: chr(0xE100 + at) for at, language in enumerate(SNOWBALL)}

SAMPLE: Final = 4000
"""Characters of a text that tell its language: half of them from its middle."""

MIN_TELLING: Final = 3
"""Different words of a language that a text in it has at least."""

MIN_SHARE: Final = 0.12
"""Of the words of a text that are words of its language saying nothing: between code and prose."""

OTHER_THAN_ENGLISH: Final = 1.5
"""So many times the English ones; translations of technical texts are half English."""

_MAX_LETTERS: Final = 40
"""Longer words are no words of people."""

_LETTERS: Final = pattern(r"[^\W\d_]+")
_CYRILLIC: Final = pattern("[\u0400-\u04ff]")
_NOT_RUSSIAN: Final = pattern("[іїєґўјљњћђ]")

_TELLS: Final = {
    word: [language for language, said in STOP_WORDS.items() if word in said]
    for word in frozenset().union(*STOP_WORDS.values())
    if len(word) > 1 or not word.isascii()  # a letter alone is a name in code
}
"""A word that says nothing → the languages whose own it is."""

_OTHERS: Final = frozenset(word for word, languages in _TELLS.items() if "en" not in languages)
"""Those that are no English words: without any a text is in no other language."""


def language_counts(words: Collection[str]) -> list[tuple[str, int]]:
    """Language → how many of ``words``, in lower case, are its own, the most first."""
    telling = filter(None, map(_TELLS.get, words))
    return Counter(chain.from_iterable(telling)).most_common()


def language_of(text: str) -> str:
    """The language of ``text`` if it is one of ``SNOWBALL``; "" for English and all others."""
    if len(text) > SAMPLE:
        half, middle = SAMPLE // 2, len(text) // 2
        text = f"{text[:half]}\n{text[middle : middle + half]}"
    words = _LETTERS.findall(plain(text).lower())
    if len(words) < MIN_TELLING or _OTHERS.isdisjoint(words):
        return ""
    counts = language_counts(words)
    (language, count), *others = counts
    if language == "en" or count == (others[0][1] if others else 0):
        return ""
    least = MIN_TELLING
    if language == "ru":  # the alphabet tells most, also among names in Latin letters
        if _NOT_RUSSIAN.search(text):
            return ""
        words = [word for word in words if _CYRILLIC.match(word)]
        least -= 1
    if len(STOP_WORDS[language].intersection(words)) < least or count < MIN_SHARE * len(words):
        return ""
    return language if count >= OTHER_THAN_ENGLISH * dict(others).get("en", 0) else ""


def stored_language(metadata: Mapping[str, Any]) -> str:
    """The language of the text of a record with this ``metadata``, as ``language_of`` told it."""
    language = metadata.get(LANGUAGE, "")
    return language if isinstance(language, str) and language in SNOWBALL else ""


def question_language(words: Sequence[str]) -> str:
    """The language of a question of ``words``, in lower case; "" where they do not tell it.

    One word tells it that no other language has, and that is no English word: ``die`` is one. Where
    nothing else tells it, a question of English words alone is in English.
    """
    counts = language_counts({*words})
    others = counts[1:]
    if counts and not (others and others[0][1] == counts[0][1]):
        language, count = counts[0]
        own = (word for word in STOP_WORDS[language].intersection(words) if len(word) > 1)
        if language == "en" or count > 1 or not any(map(is_english, own)):
            return language
    return "en" if all(map(is_english, words)) else ""


def mark(language: str) -> str:
    """The word that the index has once for each record in ``language``."""
    return f"language{_MARKS[language]}"


def of_text(text: str, language: str) -> str:
    """What is to be indexed beside a text in ``language``: the stems, with its mark, of words that
    say something and that the index stems otherwise. "" for no language.
    """
    if not language:
        return ""
    said = STOP_WORDS[language]
    words = [word for word in _words(text, language) if word not in said]
    sign = _MARKS[language]
    return " ".join(
        f"{stem}{sign}" for stem, term in _stems_and_terms(words, language) if stem != term
    )


def of_word(word: str, languages: Collection[str]) -> tuple[str, ...]:
    """What else stands for a word of a question, in lower case, in those of ``languages`` that it
    may be of: its stem with their mark, and without where the index stems ``word`` otherwise.
    """
    terms: dict[str, None] = {}
    for language in languages:
        if _is_of(word, language):
            ((stem, term),) = _stems_and_terms([word], language)
            terms[f"{stem}{_MARKS[language]}"] = None
            if stem != term:
                terms[stem] = None
    return tuple(terms)


def stemmed(words: Sequence[str], language: str) -> list[str]:
    """The stem of each of ``words``, in lower case, without a mark."""
    return [stem for stem, _ in _stems_and_terms(words, language)]


def _stems_and_terms(words: Sequence[str], language: str) -> Iterator[tuple[str, str]]:
    """For each word its stem in ``language``, and its term in the index (Porter, 1980)."""
    import Stemmer  # 7 ms, which a text in English does not pay

    # New ones each time: threads must not share one, and making it takes microseconds.
    stems = Stemmer.Stemmer(SNOWBALL[language], 0).stemWords(words)
    terms = Stemmer.Stemmer("porter", 0).stemWords([*map(_bare, words)])
    return zip(map(_bare, stems), terms, strict=True)


def _bare(word: str) -> str:
    """``word`` with the letters that the index has: folded, and Latin ones without accents."""
    if word.isascii():
        return word
    bare = unmarked(unicodedata.normalize("NFD", folded(word)))
    return bare if bare.isascii() else folded(word)


def _words(text: str, language: str) -> Iterator[str]:
    for word in _LETTERS.findall(plain(text).lower()):
        if _is_of(word, language):
            yield word


def _is_of(word: str, language: str) -> bool:
    """Whether ``word`` is one of the script of ``language``, long enough to have forms."""
    return (
        1 < len(word) <= _MAX_LETTERS
        and bool(_CYRILLIC.match(word)) == (language == "ru")
        and bool(_LETTERS.fullmatch(word))
    )
