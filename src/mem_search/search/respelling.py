"""Misspelt words: a word that the store does not have is looked for as the near ones that it has.

Most words that a store does not have are right nevertheless: "whose" is no slip for "those". So a
word of the model's vocabulary is a slip only where no other word of the question finds anything,
and nearer spellings keep farther ones out. Where nothing else is found, a word that two words of
the store make up (``stromrechnung``) is looked for as both. A question whose words all exist costs
nothing more than finding that out (``SearchSnapshot.unknown_words``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mem_search.contracts import Question
from mem_search.model import Term
from mem_search.patterns import pattern
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import spelling, wordpieces
from mem_search.text.languages import FUNCTION_WORDS
from mem_search.text.query import demands

MAX_WORDS: Final = 3
"""Unknown words that are looked for as others; each costs some 20 ms with 100,000 words."""

MAX_SPELLINGS: Final = 3
MIN_SLIP_LETTERS: Final = 4
"""Letters of a slip beside words that find something: shorter ones are abbreviations."""

MIN_LONG_WORD_LETTERS: Final = 9
"""Letters from which a slip may have two wrong letters beside words that find something."""

COMMON: Final = 2
"""Records: a word of fewer may be a slip itself, so it is no suggestion."""

MIN_PART_LETTERS: Final = 4
"""Letters of each half of a compound; shorter ones are in most words by chance."""

_LINKS: Final = ("", "s", "n", "en", "es", "er")
"""What German puts between the halves of a compound: Strom-rechnung, Familie-n-feier."""

_LETTERS: Final = pattern(r"[^\W\d_]+")

Respellings = Mapping[str, Sequence[str]]
"""A word that the store does not have → near ones that it has, the likeliest first."""


def respelled_alone(snapshot: SearchSnapshot, question: Question) -> tuple[Question, Respellings]:
    """``respelled`` before a search without the keyword leg, which would tell what is unknown."""
    asked = question.words.words
    unknown = snapshot.unknown_words(asked)
    return respelled(snapshot, question, unknown, others_match=len(unknown) < len(asked))


def respelled(
    snapshot: SearchSnapshot, question: Question, unknown: Sequence[str], *, others_match: bool
) -> tuple[Question, Respellings]:
    """``question`` with the near words of its ``unknown`` ones, and which they are.

    Words of an explicit demand stay what they are. ``others_match``: a record has other words of
    the question.
    """
    demand = question.filters.demand
    leaves = demands.leaves(demand) if demand is not None else ()
    judged = {word for leaf, _ in leaves if isinstance(leaf, Term) for word in leaf.words}
    unknown = [word for word in unknown if word not in judged and not question.words.forms_of(word)]
    near = near_words(snapshot, unknown, others_match=others_match)
    looked_for = set(question.words.near)  # as ``fluter~`` has it already
    near = {word: words for word, words in near.items() if looked_for.isdisjoint(words)}
    halves: Respellings = {}
    if not others_match:
        left = [word for word in unknown if word not in near]
        halves = halves_of_compounds(snapshot, left[: MAX_WORDS - len(near)])
    if not near and not halves:
        return question, near
    asked = question.words
    each_half = ((half,) for pair in halves.values() for half in pair)
    asked = replace(
        asked,
        words=tuple(word for word in asked.words if word not in near and word not in halves),
        guessed=(*map(tuple, near.values()), *each_half),
    )
    best = {word: words[0] for word, words in near.items()}
    best |= {word: " ".join(pair) for word, pair in halves.items()}
    near = {**near, **halves}
    return replace(question, text=with_words(question.text, best), words=asked), near


def halves_of_compounds(snapshot: SearchSnapshot, unknown: Sequence[str]) -> Respellings:
    """The two words of the store that make up each of ``unknown``, of equal halves the likeliest.

    A link between them counts for neither: ``familienfeier`` is ``familie`` and ``feier``.
    """
    spellings: dict[str, Sequence[str]] = {}
    for word in unknown:
        if not _LETTERS.fullmatch(word) or wordpieces.is_word(word):
            continue
        pairs = [
            (word[:at].removesuffix(link), word[at:])
            for at in range(MIN_PART_LETTERS, len(word) - MIN_PART_LETTERS + 1)
            for link in _LINKS
            if word[:at].endswith(link) and at - len(link) >= MIN_PART_LETTERS
        ]
        halves = list(dict.fromkeys(half for pair in pairs for half in pair))
        missing = set(snapshot.unknown_words(halves)) if halves else set()
        whole = [pair for pair in pairs if missing.isdisjoint(pair)]
        if whole:
            spellings[word] = max(whole, key=lambda pair: min(map(len, pair)))
    return spellings


def near_words(
    snapshot: SearchSnapshot, unknown: Sequence[str], *, others_match: bool
) -> Respellings:
    """The near words of those ``unknown`` words that look like slips.

    Words that several records have keep out the others, and so do nearer ones. With
    ``others_match`` a short word, which may be an abbreviation, needs a single near one that begins
    with the same letter.
    """
    spellings: dict[str, Sequence[str]] = {}
    for word in unknown:
        may_be_slip = _LETTERS.fullmatch(word) and word not in FUNCTION_WORDS
        most = spelling.edits_allowed(word) if may_be_slip else 0
        if most and (wordpieces.is_word(word) or (others_match and len(word) < MIN_SLIP_LETTERS)):
            most = 0
        most = min(most, 1 + (len(word) >= MIN_LONG_WORD_LETTERS))
        if not most:
            continue
        known = [each for each in snapshot.similar_words(word) if each[0].isalnum()]
        common = [each for each in known if each[1] >= COMMON]
        near = spelling.nearest(word, common, MAX_SPELLINGS, most) or spelling.nearest(
            word, known, MAX_SPELLINGS, most
        )
        edits = [spelling.distance(word, other, most) for other in near]
        near = [other for other, each in zip(near, edits, strict=True) if each == min(edits)]
        if others_match:
            # asynchronously is no slip for synchronously
            near = [
                each for each in near if len(each) >= MIN_SLIP_LETTERS and not word.endswith(each)
            ]
            is_short = len(word) < spelling.TWO_EDITS_FROM
            if is_short and [each[0] for each in near] != [word[0]]:
                near = []
        if near:
            spellings[word] = near
        if len(spellings) == MAX_WORDS:
            break
    return spellings


def with_words(text: str, better: Mapping[str, str]) -> str:
    """``text`` with words replaced, in any case; spaces become single ones."""
    for word, other in better.items():
        text = re.sub(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", other, text, flags=re.IGNORECASE)
    return " ".join(text.split())


def notice(near: Respellings) -> str:
    """``no record has “fluter”; looked for instead: “flutter”``."""
    missing = " or ".join(f"“{word}”" for word in near)
    looked_for = ", ".join(f"“{word}”" for words in near.values() for word in words)
    return f"no record has {missing}; looked for instead: {looked_for}"
