"""Finding the words of a query in a text, and marking them with asterisks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from mem_search.patterns import pattern
from mem_search.text.words import RUN, folded, is_cjk, pairs

WORD = pattern(r"[^\W_]+")


class WordMatcher:
    """Recognizes the words of a query and their inflections; made by ``word_matcher``."""

    def __init__(self, words: tuple[str, ...]) -> None:
        runs = [run for word in words for run in RUN.findall(word)]
        self._pairs = [pair for run in runs if is_cjk(run) for pair in pairs(run)]
        self._stems = {stem(_plain(run)) for run in runs if not is_cjk(run)}

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
        if word.isascii():
            return stem(word.lower()) in self._stems
        return next(self._places_in(word), None) is not None

    def places(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The places of the words in ``text[start:end]``, in order, each with its stem."""
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
        run = WORD if text.isascii() else RUN
        found: list[tuple[int, int]] = []
        for at, root in self.places(text, 0, len(text)):
            match = None if is_cjk(text[at]) else run.match(text, at)
            end = at + len(root) if match is None else match.end()
            if found and at <= found[-1][1]:  # two pairs of one run
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((at, end))
        return tuple(found)

    def stands_in(self, text: str) -> bool:
        """Whether ``text`` contains any of the words."""
        places = self._ascii_places if text.isascii() else self.places
        return next(places(text, 0, len(text)), None) is not None

    def count_in(self, text: str) -> int:
        """How many different words ``text`` contains."""
        return len({root for _, root in self.places(text, 0, len(text))})


@lru_cache(maxsize=256)
def word_matcher(words: tuple[str, ...]) -> WordMatcher:
    """The cached matcher of ``words``, which are lower-case."""
    return WordMatcher(words)


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
    marked = WORD.sub(lambda match: f"**{match[0]}**" if matches(match[0]) else match[0], text)
    return marked if marked != text else None
