"""Snippets: the part of a passage that shows why it matched, as an exact span of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mem_search.model import Snippet
from mem_search.text.highlight import word_matcher

LENGTH = 240
_LONG_WORD = 40
"""Characters; longer words may be cut, such as scripts without spaces and encoded data."""


def snippet(
    text: str, start: int, end: int, words: Iterable[str], *, length: int = LENGTH
) -> Snippet:
    """The window of at most ``length`` characters in ``text[start:end]`` with most of ``words``.

    ``words`` are lower-case and match as in ``highlight``. The span begins and ends with whole
    words: ``result.text == text[result.start:result.end]``.
    """
    if end - start <= length:
        return _trimmed(text, start, end)
    hits = list(word_matcher(tuple(words)).places(text, start, end))
    if not hits:
        return _window(text, start, length, start, end)
    lead = length // 6
    first = _densest(hits, length - lead)
    return _window(text, max(start, first - lead), length, start, end)


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
