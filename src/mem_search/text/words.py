"""Words of a query, as a full-text index sees them, and the word queries over them.

A full-text index takes letters and digits as words and everything else as space, so a question
is cut the same way: ``a::b``, ``x/y.py`` and ``snake_case`` become their parts. Question words
that carry no meaning are left out unless nothing else remains. Chinese, Japanese and Korean runs
are cut into the same character pairs that ``extra_terms`` puts into the index beside the text.
There the last character of a run is indexed alone as well: every other one begins a pair, so that
each can be found by itself. Emoji and other signs are words only of a question that has no others.

What is asked of the index is a ``WordQuery``; each store compiles it to its own syntax.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse

from mem_search.patterns import pattern
from mem_search.text import word_forms
from mem_search.text.decoding import View
from mem_search.text.word_forms import folded, plain

STOP_WORDS = frozenset(
    "a an and are as at be by did do does for from had has have he her his how i in is it its me"
    " my of on or our she that the their them they this to was we were what when where which who"
    " whom why will with would you your".split()
)
"""54 words; a larger list or frequency trimming ranks worse (docs/retrieval.md)."""

MAX_WORDS = 64
"""Most distinct words of a query; more of them add cost, not meaning."""

CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003134f"
)
"""Chinese, Japanese and Korean, as ranges inside the brackets of a regular expression."""

RUN = pattern(f"[{CJK}]+|(?:(?![{CJK}])[^\\W_])+")
"""A word: letters and digits, all of them CJK or none."""

_IS_CJK = pattern(f"[{CJK}]")
_WORD = pattern(r"[^\W_]+")
"""What ``RUN`` finds in a text without CJK, in a quarter of its time."""
_PHRASE = pattern(r'"([^"]+)"')
_SAID = pattern(
    "[\u2e80-\u2fdf\u3005\u30a1-\u30fa\u30fc\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003134f]+"
    "|(?<![\uac00-\ud7ff])[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]{1,2}"
)
"""What a run says: not its hiragana, which is grammar, and of Korean what a word begins with."""
_GRAMMAR = pattern(
    "[的吗嗎呢吧谁誰何]|为?什么|為?什麼|怎么样?|怎麼樣?|如何|哪里|哪裡|哪个|哪個|[我你他]们|[我你他]們"
    "|(?:왜|언제|어디|누가|누구|무엇|무슨|어떻)[\uac00-\ud7ff]*"
)
"""What asks or joins in Chinese, Japanese and Korean questions, as ``STOP_WORDS`` do in English."""
_CAMEL = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NEIGHBOURS = 2
"""Words on each side of one in another form that are indexed again with it."""
_HASH = pattern(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}")
"""A commit's hash or the beginning of it; of digits or letters alone it might be anything."""


@dataclass(frozen=True, slots=True)
class Variants:
    """What else stands for ``words`` of a question: ``forms`` as ``known_word`` reads them.

    ``wifi`` stands for ``wi`` and ``fi``, ``halvor*`` for ``halvor``. ``seen`` are the words of the
    store that are meant, to be marked in a text.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...]
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """A question cut up: single words, quoted phrases, CJK runs.

    Phrases must match when ``demanded``, else they only add to the score. ``near`` are words of
    the store that a prefix or a misspelling stands for; ``auth*`` means all words that begin so.
    ``guessed`` has for each word that the store does not have those that may be meant, which count
    for less than a word that was typed. ``variants`` stand for words that few records have, and
    count for less, too. ``stems`` are those of words in other languages (``text.stems``).
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    cjk: tuple[str, ...] = ()
    demanded: bool = True
    near: tuple[str, ...] = ()
    guessed: tuple[tuple[str, ...], ...] = ()
    variants: tuple[Variants, ...] = ()
    stems: tuple[Variants, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.cjk or self.near or self.guessed)

    @property
    def all(self) -> tuple[str, ...]:
        """Every word to highlight in a text that matched."""
        near = [word.rstrip("*") for word in self.near]
        seen = [each.seen or each.forms for each in self.variants]
        every = chain(self.words, *self.phrases, self.cjk, near, *self.guessed, *seen)
        return tuple(dict.fromkeys(every))

    @property
    def untyped(self) -> tuple[str, ...]:
        """Every word that was not typed and counts for less than the question's own phrases."""
        others = chain(*(each.forms for each in self.variants))
        return (*chain(*self.guessed), *(form for form in others if (form,) not in self.phrases))

    def forms_of(self, word: str) -> tuple[str, ...]:
        """What else stands for ``word``."""
        every = (*self.stems, *self.variants)
        return tuple(chain(*(each.forms for each in every if word in each.words)))


@dataclass(frozen=True, slots=True)
class WordPhrase:
    """Matches a passage that has ``words`` next to each other, in lower case.

    With ``prefix`` the last word may go on. A single hash of a commit, and a single Chinese,
    Japanese or Korean character, may always go on.
    """

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class AllWords:
    """Matches a passage that matches each of ``of`` (at least one)."""

    of: tuple[WordQuery, ...]


@dataclass(frozen=True, slots=True)
class AnyWords:
    """Matches a passage that matches one of ``of`` (at least one); the more, the better."""

    of: tuple[WordQuery, ...]


WordQuery = WordPhrase | AllWords | AnyWords


def read(text: str) -> Words:
    """Cut a question into words. Any text is fine; nothing raises.

    Quotes around several words are a demand when they are at least half of what is asked;
    inside a longer sentence they quote, and their words count like the others.
    """
    text = plain(text)
    quoted = [tuple(_runs(inside)) for inside in _PHRASE.findall(text)]
    phrases = tuple(filter(is_phrase, quoted))
    outside = [run for run in _runs(_PHRASE.sub(" ", text)) if run not in STOP_WORDS]
    demanded = sum(map(len, phrases)) >= len(outside)
    if demanded and phrases:
        one_word = [run for runs in quoted if not is_phrase(runs) for run in runs]
        kept = list(dict.fromkeys(outside + one_word))
    else:
        runs = list(dict.fromkeys(_runs(text)))
        kept = [run for run in runs if run not in STOP_WORDS] or runs
    kept = kept or list(dict.fromkeys(word_forms.SIGN.findall(text)))
    return Words(
        words=tuple(filterfalse(_IS_CJK.match, kept))[:MAX_WORDS],
        phrases=phrases[:MAX_WORDS],
        cjk=tuple(filter(_IS_CJK.match, kept))[:MAX_WORDS],
        demanded=demanded,
    )


def unquoted(words: Words) -> Words:
    """The same with phrases that only add to the score, and whose words count like the others."""
    inside = [word for phrase in words.phrases for word in phrase]
    inside = [word for word in inside if word not in STOP_WORDS] or inside
    kept = dict.fromkeys((*words.words, *words.cjk, *inside))
    return replace(
        words,
        words=tuple(filterfalse(_IS_CJK.match, kept))[:MAX_WORDS],
        cjk=tuple(filter(_IS_CJK.match, kept))[:MAX_WORDS],
        demanded=False,
    )


def mostly_foreign(text: str) -> bool:
    """Whether most letters are outside Latin script: the bundled model knows English only."""
    if text.isascii():
        return False
    letters = [char for char in plain(text) if char.isalpha()]
    latin = [char for char in letters if unicodedata.name(char, "").startswith("LATIN")]
    return len(latin) * 2 < len(letters)


def any_of(words: Words) -> WordQuery | None:
    """A passage with any word of the question, but every phrase that the question demands.

    None when there is nothing to look for.
    """
    phrases = tuple(map(WordPhrase, words.phrases))
    other = map(known_word, chain(*(each.forms for each in (*words.stems, *words.variants))))
    single = (*[WordPhrase((word,)) for word in words.words], *other, *_single(words))
    if not phrases or not words.demanded:
        return _combined(AnyWords, single + phrases)
    # A demanded phrase is named again among the alternatives, so that a passage with the
    # phrase alone still matches while other words add to its score.
    return (
        AllWords((*phrases, AnyWords(phrases + single))) if single else _combined(AllWords, phrases)
    )


def all_of(words: Words) -> WordQuery | None:
    """A passage with all words and phrases of the question; None when it has none."""
    each = [_guess((word, *words.forms_of(word))) for word in words.words]
    return _combined(AllWords, (*map(WordPhrase, words.phrases), *each, *_single(words)))


def known_word(word: str) -> WordPhrase:
    """The query for a word of the store, or with ``*`` at its end for all that begin so.

    ``_`` joins words that stand together. Chinese, Japanese and Korean words need no prefix: they
    are found inside a run anyway.
    """
    return WordPhrase(tuple(word.rstrip("*").split("_")), prefix=word.endswith("*"))


def _guess(words: tuple[str, ...]) -> WordQuery:
    """The query for a word that may be any of ``words``."""
    phrases = tuple(map(known_word, words))
    return AnyWords(phrases) if len(phrases) > 1 else phrases[0]


def _single(words: Words) -> tuple[WordQuery, ...]:
    """A query for each word by itself, beside the plain ones."""
    pairs_of_runs = chain.from_iterable(map(bigrams, words.cjk))
    return (
        *map(known_word, words.near),
        *map(_guess, words.guessed),
        *[WordPhrase((pair,)) for pair in pairs_of_runs],
    )


def _combined(how: type[AllWords | AnyWords], queries: tuple[WordQuery, ...]) -> WordQuery | None:
    return how(queries) if len(queries) > 1 else queries[0] if queries else None


def extra_terms(text: str) -> str:
    """Terms to index beside ``text``: CJK character pairs, the parts of camelCase words, words
    with their letters ``folded``, and those that are written in another form (``word_forms``).

    A word of another script that touches CJK (``使用Redis缓存``) stands here as well: in the text
    the index takes it all for one word.
    """
    terms: Iterable[str] = word_forms.joined(text)
    if not text.isascii():
        terms = chain(terms, map(indexed, dict.fromkeys(word_forms.SIGN.findall(text))))
    if seen := word_forms.view(text):
        terms, text = chain(terms, _other_forms(seen, text)), seen.text
    if _IS_CJK.search(text):
        return " ".join(chain(terms, _cjk_parts(text)))
    return " ".join(chain(terms, chain.from_iterable(map(_word_parts, _WORD.findall(text)))))


def indexed(word: str) -> str:
    """``word`` as it stands in the index, which takes signs for blanks: ``u1f9a6`` for an otter."""
    return word if word[:1].isalnum() else "".join(f"u{ord(char):x}" for char in word)


def _other_forms(seen: View, text: str) -> Iterator[str]:
    """The words that ``text`` has in another form, with their neighbours, so that phrases match."""
    runs = list(RUN.finditer(seen.text))
    last = -1
    for at, run in enumerate(runs):
        start, end = seen.span(*run.span())
        goes_on = text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
        if _IS_CJK.match(run[0]) or (not goes_on and _is_found(text[start:end], run[0])):
            continue
        until = min(len(runs), at + _NEIGHBOURS + 1)
        for near in runs[max(last + 1, at - _NEIGHBOURS) : until]:
            if not _IS_CJK.match(near[0]):
                yield near[0].lower()
        last = max(last, until - 1)


def _is_found(written: str, run: str) -> bool:
    """Whether the index takes ``written`` for ``run``: it drops accents of Latin letters itself."""
    if written == run:
        return True
    bare = unmarked(unicodedata.normalize("NFD", run))
    return bare.isascii() and unmarked(unicodedata.normalize("NFD", written)) == bare


def _cjk_parts(text: str) -> Iterator[str]:
    for match in RUN.finditer(text):
        run = match[0]
        if _IS_CJK.match(run):
            yield from bigrams(run)
            yield from run[-1:] if len(run) > 1 else ()
            continue
        if _IS_CJK.match(text, match.end()) or _IS_CJK.match(text, max(0, match.start() - 1)):
            yield run.lower()
        yield from _word_parts(run)


def _word_parts(run: str) -> Sequence[str]:
    if run.islower() and run.isascii():  # most words of most texts
        return ()
    terms = []
    if not run.isascii():
        if (other := folded(run.lower())) != run.lower():
            terms.append(other)
    elif not run.isupper():
        pieces = _CAMEL.findall(run)
        if len(pieces) > 1 and sum(map(len, pieces)) == len(run):
            terms += [piece.lower() for piece in pieces]
    return terms


def bigrams(run: str) -> list[str]:
    """Overlapping character pairs; a single character stands for itself."""
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def said_by(runs: Sequence[str]) -> Sequence[str]:
    """The words of CJK runs that say something, else all: 会議 and 延期 of 会議はいつ延期."""
    return [said for run in runs for said in _SAID.findall(_GRAMMAR.sub(" ", run))] or runs


def is_hash(word: str) -> bool:
    """Whether ``word``, in lower case, is a hash in hexadecimal or the beginning of one."""
    return bool(_HASH.fullmatch(word))


def hashes_alone(text: str) -> bool:
    """Whether the text has only hashes, which mean nothing to a model."""
    runs = _runs(text)
    return bool(runs) and all(map(_HASH.fullmatch, runs))


def is_cjk(word: str) -> bool:
    """Whether ``word`` is a run of Chinese, Japanese or Korean."""
    return bool(_IS_CJK.match(word))


def is_phrase(runs: tuple[str, ...]) -> bool:
    """Several words, or a CJK run that the index holds as several pairs."""
    return len(runs) > 1 or any(_IS_CJK.match(run) and len(run) > 2 for run in runs)


def _runs(text: str) -> list[str]:
    return [run.lower() for run in RUN.findall(text)]


def runs_of(text: str) -> tuple[str, ...]:
    """The words of a piece of text in lower case, such that reading them again changes nothing."""
    return tuple(map(unmarked, _runs(plain(text))))


def unmarked(run: str) -> str:
    """A word without the mark that "İ" gets in lower case; the index drops it, too."""
    if run.isascii():
        return run
    return "".join(char for char in run if not unicodedata.combining(char))
