"""How far apart two spellings are, and the nearest of several. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from string import ascii_lowercase

SHORTEST = 3
"""Letters; a shorter word is near to everything."""

TWO_EDITS_FROM = 6
"""Letters from which a word may be two edits away: in shorter ones that is another word."""

_ONE_EDIT_COSTS = math.log(50)
"""One edit more is worth it only for a word that is fifty times as frequent."""


def edits_allowed(word: str) -> int:
    """How many edits away a word may be that was meant by ``word``; 0 for none at all."""
    if len(word) < SHORTEST:
        return 0
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def distance(one: str, other: str, most: int) -> int:
    """Letters inserted, left out, changed, or two neighbours swapped; ``most + 1`` when more.

    This is the restricted Damerau-Levenshtein distance: no part is edited twice.
    """
    beyond = most + 1
    if abs(len(one) - len(other)) > most:
        return beyond
    one, other = _without_common_ends(one, other)
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return beyond
    return min(row[-1], beyond)


def other_beginnings(word: str) -> tuple[str, ...]:
    """Words one edit away whose first letter cannot be told from ``word``."""
    return tuple(
        dict.fromkeys(
            letter + rest
            for letter in ascii_lowercase
            for rest in (word[1:], word)
            if letter + rest != word
        )
    )


def nearest(word: str, known: Iterable[tuple[str, int]], limit: int) -> Sequence[str]:
    """The likeliest spellings of ``word`` among ``known`` (word, records), the best first."""
    most = edits_allowed(word)
    letters = _letters(word)
    found: list[tuple[float, str]] = []
    for other, records in known:
        # A changed letter is two differences of the sets, one that is left out or added is one.
        longer = abs(len(word) - len(other))
        if longer > most or (letters ^ _letters(other)).bit_count() > 2 * most - longer:
            continue
        edits = distance(word, other, most)
        if 0 < edits <= most:
            found.append((edits * _ONE_EDIT_COSTS - math.log(max(1, records)), other))
    return [other for _, other in sorted(found)[:limit]]


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    """What differs: equal letters at both ends change no distance."""
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]


def _letters(word: str) -> int:
    """The set of letters as bits; two letters may share one, which only lets more through."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits
