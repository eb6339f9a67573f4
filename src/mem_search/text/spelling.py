"""Edit distance between spellings, and the nearest known spellings. Pure."""

from __future__ import annotations

import math

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"

MIN_LETTERS = 3
"""Letters; shorter words are near everything."""

TWO_EDITS_FROM = 6
"""Letters from which two edits are allowed; in shorter words they make another word."""

_ONE_EDIT_COSTS = math.log(50)
"""A word with one edit more must be fifty times as frequent to rank before another."""


def edits_allowed(word: str) -> int:
    """How many edits away the intended word may be; 0 when ``word`` is too short."""
    if len(word) < MIN_LETTERS:
        return 0
    return 2 if len(word) >= TWO_EDITS_FROM else 1


def distance(one: str, other: str, most: int) -> int:
    """The restricted Damerau-Levenshtein distance, ``most + 1`` for anything above ``most``.

    It counts letters inserted, omitted, changed, or swapped with a neighbour; no part is edited
    twice.
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
    """Words one edit away that begin with another letter."""
    return tuple(
        dict.fromkeys(
            letter + rest
            for letter in _ALPHABET
            for rest in (word[1:], word)
            if letter + rest != word
        )
    )


def nearest(
    word: str, known: Iterable[tuple[str, int]], limit: int, most: int | None = None
) -> Sequence[str]:
    """The most likely spellings of ``word`` among ``known`` (word, records), the best first.

    They are at most ``most`` edits away, by default as many as ``edits_allowed``.
    """
    most = edits_allowed(word) if most is None else most
    letters = _letters(word)
    spellings: list[tuple[float, str]] = []
    for other, records in known:
        # A changed letter makes the sets differ in two letters, an added or omitted one in one.
        longer = abs(len(word) - len(other))
        if longer > most or (letters ^ _letters(other)).bit_count() > 2 * most - longer:
            continue
        edits = distance(word, other, most)
        if 0 < edits <= most:
            spellings.append((edits * _ONE_EDIT_COSTS - math.log(max(1, records)), other))
    return [other for _, other in sorted(spellings)[:limit]]


def closest(name: str, known: Iterable[str]) -> str:
    """The one of ``known`` that ``name`` most likely means; "" for none.

    Case and punctuation do not count. A beginning of at least two letters means the whole.
    """
    asked = _bare(name)
    ranked: list[tuple[int, int, str]] = []
    for other in known:
        bare = _bare(other)
        edits = distance(asked, bare, max(1, len(asked) // 3))
        if asked == bare:
            ranked.append((0, 0, other))
        elif len(asked) > 1 and bare.startswith(asked):
            ranked.append((1, len(bare), other))
        elif len(asked) >= MIN_LETTERS and edits <= max(1, len(asked) // 3):
            ranked.append((1 + edits, len(bare), other))
    return min(ranked)[2] if ranked else ""


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    """Both words without their common start and end, which do not change the distance."""
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]


def _letters(word: str) -> int:
    """The set of letters as bits. Letters may share a bit, which only lets more words pass."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits
