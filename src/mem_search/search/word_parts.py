"""Words that few records have, and what else stands for them: before a search, for every leg.

The last word of a question may still be typed: words that begin so stand for it. ``wifi``,
``wi-fi`` and ``wi fi`` are one word. German, Dutch and the Nordic languages write as one word what
others write as two, so that the end or the beginning of one stands for it: ``rechnung`` for
``stromrechnung``. Accounts, telephones and customer numbers are written in groups or as one word
(``12 345 678``). None of that is asked for a word that several records have, and what is found so
is below what has the word itself (``bm25.GUESSED_PENALTY``, ``typo_demotion``).

A word in another language stands for its other forms, too, and these count like it. A question is
read in its own language and in English, as which the index stems everything. Where it is too short
to tell, such as ``Rechnungen``, it is read in each language that records of the store have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Final

from mem_search.contracts import Question
from mem_search.model import Term
from mem_search.patterns import pattern
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import stems, stop_words, wordpieces
from mem_search.text.highlight import stem
from mem_search.text.query import demands
from mem_search.text.word_forms import plain
from mem_search.text.words import RUN, STOP_WORDS, Variants, Words, is_cjk, is_hash

MIN_COMMON_PASSAGES: Final = 10
"""Passages: a word that so many have is asked for as it is."""

MIN_BEGINNING: Final = 3
"""Letters of a word that is being typed; fewer begin a tenth of all words."""

MAX_TYPED_WORDS: Final = 4
"""Words of a question whose last one may be unfinished although it is a word; a longer question was
written to its end."""

MIN_PART: Final = 4
"""Letters of a part of a compound; shorter ones are in most words by chance."""

MIN_REST: Final = 3
"""Letters of the other part: ``Miet-vertrag``, ``Bil-verksted``."""

MAX_PARTS: Final = 16
"""Compounds that stand for a part of them, the most frequent ones."""

MAX_WORD_CHARS: Final = 24
"""Characters of a word that is joined of two, or cut in two."""

MAX_CUTS: Final = 6
"""Ways of cutting a word in two that are looked up as phrases."""

MIN_CODE_DIGITS: Final = 6
"""Digits of a number that people write in groups."""

MAX_CODE_CHARS: Final = 34
"""Characters of the longest of them, an account (IBAN, ISO 13616)."""

MAX_TELEPHONE: Final = 15
"""Digits of a telephone (E.164): its groups are of any length."""

MAX_GROUPED: Final = 24
"""Ways of grouping a number that are looked up as phrases, and runs that are looked up as one."""

MAX_SHORT_QUESTION: Final = 6
"""Words; in a longer question only words that no record has are looked at: one rare word that is
there says enough."""

MAX_WORDS: Final = 3
"""Words of a question for which others are looked for; each takes about a millisecond."""

MAX_LOOKED_AT: Final = 16
"""Words of a question that are looked at; a longer one is a text, in which each says little."""

MAX_SURE_FORMS: Final = 3
"""So many continuations at most leave little doubt which word is meant."""

MAX_SHOWN_WORDS: Final = 3
"""So many words that stand for one are named in the reply."""

_ENDINGS: Final = ("", "s", "n", "e", "en", "er", "es")
"""How a compound's last part is inflected: ``Stromrechnung-en``."""

_LINKS: Final = ("", "s", "n", "e", "en", "es", "er")
"""What stands between the parts of a compound."""

_ALNUM: Final = pattern(r"[^\W_]+")
_LETTERS: Final = pattern(r"[^\W\d_]+")

VariantsByWord = Mapping[str, Sequence[str]]
"""A word of the question → the words of the store that stand for it beside it."""


def with_variants(
    snapshot: SearchSnapshot, question: Question, typed: str
) -> tuple[Question, tuple[Variants, ...]]:
    """``question`` with the stems of its words, and with what else stands for rare ones, and that.

    ``typed`` is the text as it was typed. Words of an explicit demand stay what they are.
    """
    question = _with_stems(snapshot, question)
    demand = question.filters.demand
    leaves = demands.leaves(demand) if demand is not None else ()
    judged = {word for leaf, _ in leaves if isinstance(leaf, Term) for word in leaf.words}
    asked = [
        word
        for word in question.words.words[:MAX_LOOKED_AT]
        if word not in judged and not is_hash(word)
    ]
    codes = [word for word in question.words.words[:MAX_LOOKED_AT] if _is_code(word)]
    if not (asked or codes) or question.words.near:
        return question, ()
    runs = [run.lower() for run in RUN.findall(plain(question.text))][: 2 * MAX_LOOKED_AT]
    numbers = dict(_ungrouped(runs, asked))
    joined = {**dict(_joined(runs, asked)), **numbers}
    every = [*asked, *joined, *codes]
    held = dict(zip(every, snapshot.holders_of(every, MIN_COMMON_PASSAGES), strict=True))
    # It is the same word, however many have it.
    others = [Variants(pair, (word,)) for word, pair in joined.items() if held[word]]
    few = 1 if len(runs) > MAX_SHORT_QUESTION else MIN_COMMON_PASSAGES
    whole = {each for number, of in numbers.items() if held[number] for each in of}
    rare = [w for w in asked if held[w] < few and not w.isdigit() and w not in whole]
    last = _last_typed(typed)
    for word in sorted(rare, key=held.__getitem__)[:MAX_WORDS]:
        is_last = word == last and (len(runs) <= MAX_TYPED_WORDS or not wordpieces.is_word(word))
        others += _cut(snapshot, word)
        others += _beginning_with(snapshot, word, is_last=is_last)
        others += _ending_with(snapshot, word)
    for code in [code for code in codes if held[code] < few][:MAX_WORDS]:
        others += _grouped(snapshot, code)
    if not others:
        return question, ()
    variants = tuple(others)
    best = {
        each.words[0]: each.seen[0]
        for each in variants
        if each.forms[0].endswith("*")
        and not held[each.words[0]]
        and 0 < len(each.seen) <= MAX_SURE_FORMS
    }
    text = _with_words(question.text, best) if best else question.text
    words = replace(question.words, variants=variants)
    if not words.demanded:  # else a passage would have to have the number
        phrases = ((number,) for number in numbers if held[number])
        words = replace(words, phrases=(*words.phrases, *phrases))
    return replace(question, text=text, words=words), variants


def _with_stems(snapshot: SearchSnapshot, question: Question) -> Question:
    """``question`` with the stems of its words, and without those that say nothing in its language.

    Of a question in English only the words that are no English ones are read in other languages.
    """
    asked = question.words.words[:MAX_LOOKED_AT]
    runs = [run.lower() for run in RUN.findall(plain(question.text))][: 4 * MAX_LOOKED_AT]
    own = stems.question_language(runs)
    if own == "en":
        asked = tuple(word for word in asked if not wordpieces.is_word(word))
    possible = [own] if own in stems.SNOWBALL else [*stems.SNOWBALL]
    if not asked:
        return question
    marks = [stems.mark(language) for language in possible]
    held = snapshot.holders_of(marks, 1)
    languages = [each for each, count in zip(possible, held, strict=True) if count]
    if not languages:
        return question
    words = _telling(question.words, own) if own in languages else question.words
    forms: dict[str, tuple[str, ...]] = {}
    for word in words.words[:MAX_LOOKED_AT]:
        of = stems.of_word(word, languages) if word in asked else ()
        if own not in languages:  # ``not``, the stem of French ``notes``, is English
            of = tuple(each for each in of if not (each.isascii() and wordpieces.is_word(each)))
        forms[word] = of
    every = [form for of in forms.values() for form in of]
    known = {form for form, some in zip(every, snapshot.holders_of(every, 1), strict=True) if some}
    known_stems = ((word, tuple(filter(known.__contains__, of))) for word, of in forms.items())
    others = tuple(Variants((word,), of) for word, of in known_stems if of)
    return replace(question, words=replace(words, stems=others))


def _telling(words: Words, language: str) -> Words:
    """``words`` without those that say nothing in ``language``, unless there are no others."""
    kept = tuple(word for word in words.words if word not in stop_words.STOP_WORDS[language])
    return replace(words, words=kept) if kept or words.cjk or words.phrases else words


def _last_typed(text: str) -> str:
    """The last word of ``text``, if nothing says that it is finished; else ""."""
    runs = _ALNUM.findall(plain(text))
    return runs[-1].lower() if runs and text[-1:].isalnum() else ""


def _joined(runs: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Words that two neighbours make up, with those of them that are asked for."""
    for one, other in pairwise(runs):
        word = one + other
        if one in STOP_WORDS or is_cjk(one) or is_cjk(other):
            continue
        if MIN_PART <= len(word) <= MAX_WORD_CHARS and not word.isdigit() and word not in asked:
            pair = tuple(each for each in (one, other) if each in asked)
            if pair:
                yield word, pair


def _is_code(word: str) -> bool:
    digits = sum(map(str.isdigit, word))
    return len(word) <= MAX_CODE_CHARS and digits >= max(MIN_CODE_DIGITS, len(word) / 2)


def _ungrouped(runs: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Numbers that neighbours make up, longest first, with those of them that are asked for."""
    if not any(map(str.isdigit, "".join(runs))):
        return
    spans = ((at, end) for at in range(len(runs)) for end in range(at + 2, len(runs) + 1))
    codes = {word: runs[at:end] for at, end in spans if _is_code(word := "".join(runs[at:end]))}
    for word in sorted(codes, key=len, reverse=True)[:MAX_GROUPED]:
        if word not in asked and (own := tuple(each for each in codes[word] if each in asked)):
            yield word, own


def _grouped(snapshot: SearchSnapshot, code: str) -> Iterator[Variants]:
    """``12_345_678`` for ``12345678``: in pairs, threes and fours from either end, and what has the
    length of a telephone in up to five groups of any length.
    """
    size = len(code)
    cuts = {
        tuple(code[max(0, at) : at + width] for at in range(first, size, width))
        for width in (2, 3, 4)
        for first in (0, size % width - width)
        if first + width > 0
    }
    for count in range(1, 5 if size <= MAX_TELEPHONE else 1):
        for ends in combinations(range(1, size - 1), count):
            cuts.add(tuple(code[at:end] for at, end in pairwise((0, *ends, size))))
    groups = [*dict.fromkeys(group for cut in cuts for group in cut)]
    known = dict(zip(groups, snapshot.holders_of(groups, 1), strict=True))
    # Short groups are known by chance: those with a long one say most.
    likely = sorted((cut for cut in cuts if all(map(known.get, cut))), key=_longest, reverse=True)
    phrases = ["_".join(cut) for cut in likely[:MAX_GROUPED]]
    counts = snapshot.holders_of(phrases, 1) if phrases else []
    forms = tuple(each for each, held in zip(phrases, counts, strict=True) if held)
    if forms:
        yield Variants((code,), forms, tuple(group for form in forms for group in form.split("_")))


def _longest(cut: Sequence[str]) -> tuple[int, Sequence[str]]:
    return max(map(len, cut)), cut


def _cut(snapshot: SearchSnapshot, word: str) -> Iterator[Variants]:
    """``wi_fi`` for ``wifi``, where a passage has the two words in a row."""
    if not MIN_PART <= len(word) <= MAX_WORD_CHARS:
        return
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) - 1)]
    halves = dict.fromkeys(half for cut in cuts for half in cut)
    known = dict(zip(halves, snapshot.holders_of([*halves], 1), strict=True))
    cuts = [cut for cut in cuts if all(map(known.get, cut)) and not STOP_WORDS.issuperset(cut)]
    # Of frequent words that are neighbours nowhere looking takes longest: long halves first.
    cuts = sorted(cuts, key=lambda cut: -min(map(len, cut)))[:MAX_CUTS]
    phrases = ["_".join(cut) for cut in cuts]
    counts = snapshot.holders_of(phrases, 1) if phrases else []
    forms = tuple(each for each, held in zip(phrases, counts, strict=True) if held)
    if forms:
        yield Variants((word,), forms, tuple(half for form in forms for half in form.split("_")))


def _beginning_with(snapshot: SearchSnapshot, word: str, *, is_last: bool) -> Iterator[Variants]:
    """All words that begin with ``word``; only for one that is being typed, or no English word."""
    least = MIN_BEGINNING if is_last else MIN_PART
    if len(word) < least or not (is_last or not wordpieces.is_word(word)):
        return
    (forms,) = snapshot.expand_words([f"{word}*"]).values()
    own = stem(word)  # other forms of the word match it anyway
    seen = tuple(form for form in forms if not form.endswith("*") and stem(form) != own)
    if seen:
        yield Variants((word,), forms[:1] if forms[0].endswith("*") else seen, seen)


def _ending_with(snapshot: SearchSnapshot, word: str) -> Iterator[Variants]:
    """Compounds whose last part is ``word``.

    An English word ends others by chance (``ration`` in ``operation``): what stands before it has
    to be a word of the store then.
    """
    if len(word) < MIN_PART or not _LETTERS.fullmatch(word):
        return
    compounds = [
        compound
        for compound, _ in snapshot.words_ending_with([word + end for end in _ENDINGS], MAX_PARTS)
        if compound.rfind(word) >= MIN_REST and _LETTERS.fullmatch(compound)
    ]
    if compounds and wordpieces.is_word(word):
        rests = {compound: compound[: compound.rfind(word)] for compound in compounds}
        firsts = {rest.removesuffix(link) for rest in rests.values() for link in _LINKS}
        missing = set(snapshot.unknown_words([each for each in firsts if len(each) >= MIN_PART]))
        known = {each for each in firsts if len(each) >= MIN_PART} - missing
        compounds = [
            compound
            for compound, rest in rests.items()
            if not known.isdisjoint(rest.removesuffix(link) for link in _LINKS)
        ]
    if compounds:
        yield Variants((word,), tuple(compounds))


def _with_words(text: str, better: Mapping[str, str]) -> str:
    return _ALNUM.sub(lambda match: better.get(match[0].lower(), match[0]), text)


def variants_by_word(variants: Iterable[Variants]) -> VariantsByWord:
    """For each word what stands for it, as the reply names it."""
    by_name: dict[str, list[str]] = {}
    for each in variants:
        name = " ".join(each.words)
        words = each.seen if each.forms[0].endswith("*") else each.forms
        by_name.setdefault(name, []).extend(word.replace("_", " ") for word in words)
    return {name: tuple(dict.fromkeys(words)) for name, words in by_name.items()}


def notice(beside: VariantsByWord) -> str:
    """``also looked for: “halvorsen” for “halvor”``."""
    parts = []
    for word, words in beside.items():
        more = ", …" if len(words) > MAX_SHOWN_WORDS else ""
        listed = ", ".join(f"“{each}”" for each in words[:MAX_SHOWN_WORDS])
        parts.append(f"{listed}{more} for “{word}”")
    return f"also looked for: {'; '.join(parts)}"
