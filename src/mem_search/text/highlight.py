"""Finding the words of a query in a text, marking them with asterisks, and snippets by them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from mem_search.model import Snippet
from mem_search.patterns import pattern
from mem_search.text import stems
from mem_search.text.word_forms import folded, plain, view
from mem_search.text.words import RUN, bigrams, is_cjk

WORD = pattern(r"[^\W_]+")


class WordMatcher:
    """Recognizes the words of a query and their inflections; made by ``word_matcher``."""

    def __init__(self, words: tuple[str, ...], language: str | None = None) -> None:
        self._language = language
        runs = [run for word in words for run in RUN.findall(word)]
        self._pairs = [pair for run in runs if is_cjk(run) for pair in bigrams(run)]
        self._words = [run for run in runs if not is_cjk(run)]
        self._stems = {stem(_plain(run)) for run in self._words}

    @cached_property
    def _likely(self) -> re.Pattern[str]:
        """Matches what may be one of the words, in a text that is not ASCII.

        Compiling it takes as long as ranking does, and most pages need none.
        """
        roots = "|".join(map(re.escape, sorted(self._stems))) or "(?!)"
        # A word begins with its stem unless it has accents, so few words need a closer look.
        return re.compile(
            rf"(?<![^\W_])(?:(?:{roots})[^\W_]*|[^\W_]*[^\W_\x00-\x7f][^\W_]*)", re.IGNORECASE
        )

    def __call__(self, word: str) -> bool:
        """Whether ``word`` is one of the words or an inflection; for a CJK run, contains one."""
        word = plain(word)
        if word.isascii():
            return stem(word.lower()) in self._stems
        return next(self._places_in(word), None) is not None

    def places(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The places of the words in ``text[start:end]``, in order, each with its stem."""
        if written := view(text[start:end]):
            for at, root in self.places(written.text, 0, len(written.text)):
                yield start + written.span(at, at + 1)[0], root
        elif inflected := dict(self.inflected(text, start, end)):
            yield from sorted((inflected | dict(self._as_english(text, start, end))).items())
        else:
            yield from self._as_english(text, start, end)

    def inflected(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The places of words of ``text[start:end]`` that are one of the words by the rules of its
        language, if that is one of ``stems.SNOWBALL``.
        """
        shown, language = text[start:end], self._language
        if language is None:
            # Looking for the language of every English text would take longer than marking it.
            language = "" if " the " in shown or not self._words else stems.language_of(shown)
        if not language:
            return
        asked = {*stems.stemmed(self._words, language)}
        matches = [*WORD.finditer(text, start, end)]
        roots = stems.stemmed([match[0].lower() for match in matches], language)
        for match, root in zip(matches, roots, strict=True):
            if root in asked:
                yield match.start(), root

    def _as_english(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        if text.isascii():
            yield from sorted(self._ascii_places(text, start, end))
            return
        for match in self._likely.finditer(text, start, end):
            for at, root in self._places_in(match[0]):
                yield match.start() + at, root

    def _places_in(self, word: str) -> Iterator[tuple[int, str]]:
        """The places in a run without spaces: one word, or several scripts."""
        for run in RUN.finditer(word):
            if not is_cjk(run[0]):
                if (root := stem(_plain(run[0].lower()))) in self._stems:
                    yield run.start(), root
            elif self._pairs:
                for at in range(*run.span()):
                    for pair in self._pairs:
                        if word.startswith(pair, at):
                            yield at, pair

    def _ascii_places(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The places, unordered. Searching a few stems is faster than reading every word."""
        before = text[max(0, start - 1) : start]
        low = (before + text[start:end]).lower()
        shift = start - len(before)
        for root in self._stems:
            at = low.find(root, len(before))
            while at >= 0:
                # Only at the start of a word: a long word may contain the stem at every place.
                if not (at and low[at - 1].isalnum()):
                    word = WORD.match(low, at)
                    if word is None:  # a stem of punctuation is no word
                        break
                    if stem(word[0]) == root:
                        yield at + shift, root
                at = low.find(root, at + 1)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """The places of the words in ``text`` as (start, end), in order, without overlaps.

        Offsets count Unicode code points.
        """
        if written := view(text):
            return tuple(written.span(*each) for each in self.spans(written.text))
        run = WORD if text.isascii() else RUN
        spans: list[tuple[int, int]] = []
        for at, root in self.places(text, 0, len(text)):
            match = None if is_cjk(text[at]) else run.match(text, at)
            end = at + len(root) if match is None else match.end()
            if spans and at <= spans[-1][1]:  # two pairs of one run
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((at, end))
        return tuple(spans)

    def stands_in(self, text: str) -> bool:
        """Whether ``text`` contains any of the words."""
        text = plain(text)
        if text.isascii() and next(self._ascii_places(text, 0, len(text)), None) is not None:
            return True
        return next(self.places(text, 0, len(text)), None) is not None

    def count_in(self, text: str) -> int:
        """How many different words ``text`` contains."""
        return len({root for _, root in self.places(text, 0, len(text))})


@lru_cache(maxsize=256)
def word_matcher(words: tuple[str, ...], language: str | None = None) -> WordMatcher:
    """The cached matcher of ``words``, which are lower-case, in texts in ``language``, which is
    as in ``stems.language_of``; None where each text tells its own.
    """
    return WordMatcher(words, language)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A light stemmer, enough of Porter (1980) to mark what FTS5 matched: plural, -ed, -ing."""
    for ending in ("ations", "ation", "ings", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _plain(word: str) -> str:
    """``word`` in lower case without accents, as the full-text index finds it."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", folded(word))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def highlight(text: str, words: Iterable[str]) -> str | None:
    """``text`` with every word of ``words``, or an inflection of one, as ``**word**``.

    None without any: the record was found by its meaning or a link. ``words`` are lower-case. A
    run of a script without spaces is marked as a whole if it contains one.
    """
    matches = word_matcher(tuple(words))
    written = view(text)
    seen = written.text if written else text
    inflected = {at for at, _ in matches.inflected(seen, 0, len(seen))}
    tokens = WORD.finditer(seen)
    spans = [match.span() for match in tokens if match.start() in inflected or matches(match[0])]
    pieces: list[str] = []
    last = 0
    for start, end in [written.span(*each) for each in spans] if written else spans:
        pieces += text[last:start], "**", text[start:end], "**"
        last = end
    return "".join((*pieces, text[last:])) if pieces else None


# Snippets: the part of a passage that shows why it matched, as an exact span of the text.

SNIPPET_CHARS = 240
_LONG_WORD = 40
"""Characters; longer words may be cut, such as scripts without spaces and encoded data."""


def snippet(
    text: str,
    start: int,
    end: int,
    words: Iterable[str],
    *,
    length: int = SNIPPET_CHARS,
    language: str | None = None,
) -> Snippet:
    """The window of at most ``length`` characters in ``text[start:end]`` with most of ``words``.

    ``words`` and ``language`` are as in ``word_matcher``. The span begins and ends with whole
    words: ``result.text == text[result.start:result.end]``.
    """
    if end - start <= length:
        return _trimmed(text, start, end)
    hits = list(word_matcher(tuple(words), language).places(text, start, end))
    if not hits:
        return _window(text, start, length, start, end)
    lead = length // 6
    first = _densest(hits, length - lead)
    return _window(text, max(start, first - lead), length, start, end)


def around(text: str, at: int, length: int) -> Snippet:
    """At most ``length`` characters of ``text`` around the place ``at``, in whole words."""
    return _window(text, max(0, at - length // 2), length, 0, len(text))


def _densest(hits: Sequence[tuple[int, str]], reach: int) -> int:
    """The first place from which ``reach`` characters hold the most different roots."""
    inside: Counter[str] = Counter()
    best_at, best, until = hits[0][0], 0, 0
    for at, root in hits:
        while until < len(hits) and hits[until][0] < at + reach:
            inside[hits[until][1]] += 1
            until += 1
        if len(inside) > best:
            best_at, best = at, len(inside)
        inside[root] -= 1
        if not inside[root]:
            del inside[root]
    return best_at


def _window(text: str, first: int, length: int, start: int, end: int) -> Snippet:
    """At most ``length`` characters from about ``first`` on, in whole words."""
    reach = min(_LONG_WORD, length // 4)
    first = _beginning(text, first, max(start, first - reach))
    last = min(end, first + length)
    if last < end:
        last = _beginning(text, last, max(first + 1, last - reach))
    return _trimmed(text, first, last)


def _beginning(text: str, at: int, least: int) -> int:
    """The start of the word that contains ``at``; ``at`` when that is before ``least``."""
    place = at
    while place > least and text[place - 1].isalnum() and text[place].isalnum():
        place -= 1
    cuts_a_word = place > 0 and text[place - 1].isalnum() and text[place].isalnum()
    return at if cuts_a_word else place


def _trimmed(text: str, first: int, last: int) -> Snippet:
    """The span without white space at its ends."""
    while first < last and text[first].isspace():
        first += 1
    while last > first and text[last - 1].isspace():
        last -= 1
    return Snippet(text=text[first:last], start=first, end=last)
