"""An estimate of the tokens of a text, without the tokenizer of any language model.

The rule, by runs of one kind of letter:

- Latin letters: 1 token up to 6 letters, else 1 for every 4, rounded up
- digits: 1 for every 3
- CJK letters, kana and hangul: 1 each
- letters of other scripts: 1 for every 2
- white space: a lone space belongs to the word after it; any other run is 1, and 1 more for
  every 16
- anything else (punctuation, symbols, marks, emoji): 1 for every 2 of a run

It is rather too high for prose, so a budget kept here is kept in the model as well. The count is
monotonic: ``count(a) <= count(a + b)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.patterns import pattern

_CJK: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LATIN: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_RUN: Final = pattern(
    rf"(?P<latin>[{_LATIN}]+)|(?P<digits>[0-9]+)|(?P<space>\s+)|(?P<cjk>[{_CJK}]+)"
    rf"|(?P<letters>(?:(?![{_CJK}{_LATIN}0-9_])\w)+)|(?P<other>(?:[^\w\s{_CJK}]|_)+)"
)
_KINDS: Final = ("latin", "digits", "space", "cjk", "letters", "other")  # of ``_RUN``
_LONG: Final = 64
"""Letters of a run whose cost is computed; that of a shorter one stands in a table."""
_BASIC: Final = 0x10000
"""Letters below have their kind in a table; few texts have others."""
_ELLIPSIS: Final = "…"
_MAX_LETTERS: Final = 16
"""Letters that one token can cost at most: those of a long run of spaces."""


def count(text: str) -> int:
    """The estimate; 0 for an empty text. Vectorized, because every answer is counted."""
    if not text:
        return 0
    if text.isascii():
        kinds = _kinds().take(np.frombuffer(text.encode(), np.uint8))
    else:
        letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        kinds = _kinds().take(np.minimum(letters, _BASIC))
        for place in np.flatnonzero(letters >= _BASIC).tolist():
            kinds[place] = _kind(text[place])
    starts = np.concatenate([[0], np.flatnonzero(kinds[1:] != kinds[:-1]) + 1])
    lengths = np.diff(starts, append=len(text))
    kinds = kinds[starts]
    total = int(_costs().take(kinds * np.intp(_LONG) + np.minimum(lengths, _LONG - 1)).sum())
    for run in np.flatnonzero(lengths >= _LONG).tolist():
        kind = _KINDS[kinds[run]]
        total += _cost(kind, int(lengths[run])) - _cost(kind, _LONG - 1)
    return total


@cache
def _costs() -> NDArray[np.int64]:
    """The cost of a run by its kind and length, ``_LONG`` lengths a kind."""
    return np.array([_cost(kind, length) for kind in _KINDS for length in range(_LONG)])


@cache
def _kinds() -> NDArray[np.uint8]:
    """The kind of run of each letter of the basic multilingual plane."""
    kinds = np.zeros(_BASIC + 1, np.uint8)
    for kind, start, end in _runs("".join(map(chr, range(_BASIC)))):
        kinds[start:end] = _KINDS.index(kind)
    return kinds


@cache
def _kind(letter: str) -> int:
    match = _RUN.match(letter)
    assert match is not None  # the groups cover all of Unicode
    assert match.lastgroup is not None
    return _KINDS.index(match.lastgroup)


def cut(text: str, limit: int) -> str:
    """``text`` if it fits, else its beginning up to a word, and "…".

    ``count`` of the result is at most ``limit``; below 1 it is empty. A word is cut only when not
    even the first one fits.
    """
    if limit < 1:
        return ""
    end = _fitting(text, limit)
    if end == len(text):
        return text
    end = _fitting(text, limit - 1)  # "…" costs one, or less behind other punctuation
    return text[: _word_end(text, end)].rstrip() + _ELLIPSIS


def _fitting(text: str, limit: int) -> int:
    """How many letters of ``text`` fit into ``limit``."""
    left = limit
    # What lies beyond cannot fit: the time depends on the limit, not on the text.
    for kind, start, end in _runs(text[: _MAX_LETTERS * (limit + 1) + 2]):
        cost = _cost(kind, end - start)
        if cost > left:
            return start + _length(kind, left, end - start)
        left -= cost
    return len(text)


def _word_end(text: str, end: int) -> int:
    """The last word boundary up to ``end``; ``end`` when there is only one word."""
    if end == len(text) or text[end].isspace():
        return end
    for place in range(end, 0, -1):
        if text[place - 1].isspace() or _is_cjk(text[place - 1]):
            return place if text[:place].strip() else end
    return end


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _RUN.finditer(text):
        kind = match.lastgroup
        assert kind is not None  # the groups cover all of Unicode
        yield kind, match.start(), match.end()


def _cost(kind: str, length: int) -> int:
    match kind:
        case "latin":
            return 1 if length <= 6 else -(-length // 4)
        case "digits":
            return -(-length // 3)
        case "cjk":
            return length
        case "space":
            return 0 if length == 1 else 1 + length // 16
        case _:
            return -(-length // 2)


def _length(kind: str, cost: int, most: int) -> int:
    """The longest run up to ``most`` letters that costs at most ``cost``."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _cost(kind, middle) <= cost else (low, middle - 1)
    return low


def _is_cjk(letter: str) -> bool:
    match = _RUN.match(letter)
    return match is not None and match.lastgroup == "cjk"
