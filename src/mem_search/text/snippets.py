"""The piece of a passage that shows why it matched, as an exact span of the record's text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mem_search.model import Snippet

LENGTH = 240


def snippet(
    text: str, start: int, end: int, words: Iterable[str], *, length: int = LENGTH
) -> Snippet:
    """The window of about ``length`` characters in ``text[start:end]`` with most of ``words``.

    ``words`` are lower-case; a text word counts when one begins with the other's stem, as the
    index stems too. The span is cut at word ends: ``result.text == text[result.start:result.end]``.
    """
    if end - start <= length:
        return _cut(text, start, end, start, end)
    stems = frozenset(map(stem, words))
    hits = [
        (match.start(), root)
        for match in (_begin_with(stems).finditer(text, start, end) if stems else ())
        if (root := stem(match[0].lower())) in stems
    ]
    if not hits:
        return _cut(text, start, min(end, start + length), start, end)
    lead = length // 6
    best_at, best = start, -1
    for at, _ in hits:
        inside = {root for other, root in hits if at <= other < at + length - lead}
        if len(inside) > best:
            best_at, best = at, len(inside)
    first = max(start, best_at - lead)
    return _cut(text, first, min(end, first + length), start, end)


@lru_cache(maxsize=256)
def _begin_with(stems: frozenset[str]) -> re.Pattern[str]:
    """Words that begin with a stem: far fewer to look at than all words of a passage."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(stems)))})\w*", re.IGNORECASE)


def _cut(text: str, first: int, last: int, start: int, end: int) -> Snippet:
    """Move both ends outward-safe to word ends and away from white space."""
    while first > start and text[first - 1].isalnum() and text[first].isalnum():
        first -= 1
    while (
        last < end
        and text[last - 1].isalnum()
        and text[last].isalnum()
        and last - first < 2 * LENGTH
    ):
        last += 1
    while first < last and text[first].isspace():
        first += 1
    while last > first and text[last - 1].isspace():
        last -= 1
    return Snippet(text=text[first:last], start=first, end=last)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Enough of Porter to light up what the index matched: plural, -ed, -ing."""
    for ending in ("ations", "ation", "ings", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
