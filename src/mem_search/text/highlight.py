"""A text with the words of a question set off by asterisks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from mem_search.text.words import RUN, is_cjk, pairs

WORD = re.compile(r"[^\W_]+")


class WordMatcher:
    """The words of one question, lower-case. Make it with ``lit``."""

    def __init__(self, words: tuple[str, ...]) -> None:
        runs = [run for word in words for run in RUN.findall(word)]
        self._pairs = [pair for run in runs if is_cjk(run) for pair in pairs(run)]
        self._stems = {stem(_plain(run)) for run in runs if not is_cjk(run)}
        roots = "|".join(map(re.escape, sorted(self._stems))) or "(?!)"
        # A word begins with its stem, but for accents: few words need a closer look.
        self._likely = re.compile(
            rf"(?<![^\W_])(?:(?:{roots})[^\W_]*|[^\W_]*[^\W_\x00-\x7f][^\W_]*)", re.IGNORECASE
        )

    def __call__(self, word: str) -> bool:
        """Whether ``word`` is one of them or inflects one; of a CJK run, whether it has any."""
        if word.isascii():
            return stem(word.lower()) in self._stems
        return next(self._places_in(word), None) is not None

    def places(self, text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Where in ``text[start:end]`` they stand, in order, each with what it stands for."""
        if text.isascii():
            yield from sorted(self._ascii_places(text, start, end))
            return
        for match in self._likely.finditer(text, start, end):
            for at, root in self._places_in(match[0]):
                yield match.start() + at, root

    def _places_in(self, word: str) -> Iterator[tuple[int, str]]:
        """The same inside of what stands without a space: one word, or several scripts' runs."""
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
        """The same in no order. Looking for a few stems is faster than reading every word."""
        before = text[max(0, start - 1) : start]
        low = (before + text[start:end]).lower()
        shift = start - len(before)
        for root in self._stems:
            at = low.find(root, len(before))
            while at >= 0:
                # Only the start of a word is read on: a long word may hold the stem at each place.
                if not (at and low[at - 1].isalnum()):
                    word = WORD.match(low, at)
                    if word is None:  # a stem of signs is no word
                        break
                    if stem(word[0]) == root:
                        yield at + shift, root
                at = low.find(root, at + 1)

    def stands_in(self, text: str) -> bool:
        """Whether any of them stands in ``text``."""
        places = self._ascii_places if text.isascii() else self.places
        return next(places(text, 0, len(text)), None) is not None

    def count_in(self, text: str) -> int:
        """How many different ones stand in ``text``."""
        return len({root for _, root in self.places(text, 0, len(text))})


@lru_cache(maxsize=256)
def word_matcher(words: tuple[str, ...]) -> WordMatcher:
    """The words of a question as they are recognised in texts."""
    return WordMatcher(words)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Enough of Porter to light up what the index matched: plural, -ed, -ing."""
    for ending in ("ations", "ation", "ings", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _plain(word: str) -> str:
    """Without accents, as the full-text index has it."""
    if word.isascii():
        return word
    taken_apart = unicodedata.normalize("NFD", word)
    return "".join(char for char in taken_apart if not unicodedata.combining(char))


def highlight(text: str, words: Iterable[str]) -> str | None:
    """``text`` with each word that is one of ``words``, or inflects one, as ``**word**``.

    None when there is none: the record was found by meaning or by a link. ``words`` are
    lower-case; a run of characters without spaces between words is set off where it has one.
    """
    is_lit = word_matcher(tuple(words))
    marked = WORD.sub(lambda match: f"**{match[0]}**" if is_lit(match[0]) else match[0], text)
    return marked if marked != text else None
