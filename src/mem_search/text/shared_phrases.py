"""Phrases that two texts share, which show that one quotes the other. Pure, linear in time.

A phrase is a run of four words, two of them words of content. Each becomes a hash, and of those a
third is kept, by its value (Manber, "Finding similar files in a large file system", USENIX 1994):
two texts keep the same phrases of what they share. The kept hashes of a store say which texts to
compare, and where; comparing them there finds every shared run.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mem_search.patterns import pattern
from mem_search.text.words import CJK, STOP_WORDS

LENGTH: Final = 4
LENGTH_CJK: Final = 10
"""Words of a phrase, and characters where a text is mostly Chinese, Japanese or Korean."""

KEEP_ONE_OF: Final = 3
"""One of so many phrases is kept. A shared run of ten words keeps one in 16 of 17 cases."""

MAX_PHRASES: Final = 2_000
"""Kept phrases of one text; of a longer one a sixth, a twelfth, … is kept."""

MAX_READ_CHARS: Final = 200_000
"""Characters of a text that are read."""

AROUND: Final = 400
"""Characters before and after a kept phrase in which two texts are compared."""

_CONTENT: Final = 2
"""Words of content that a phrase has at least."""

_GAP: Final = 2
"""Words that may differ inside a run: a quotation drops or changes some."""

_TOKEN: Final = pattern(rf"[{CJK}]|[^\W_{CJK}]+")
_NOISE: Final = pattern(r"https?://[^\s)\]>\"]{1,2000}|\[\^?[0-9][0-9,; –-]{0,40}\]")
"""Addresses and markers of citations, which a quotation does not have."""

_CJK: Final = pattern(f"[{CJK}]")
_COMMON: Final = STOP_WORDS | frozenset(
    "about above after again all also although always among another any because been before"
    " being between both but can could during each either even ever every few first further"
    " get go had has here high however if important including into itself just key known large"
    " less like made make making many may might more most much must need neither new no non"
    " nor not now often one only other others over own people per rather same see several"
    " should significant significantly since so some still such than then there these those"
    " three through thus time today together too toward two under until up upon us use used"
    " using various very via way well were whether while within without work would year years"
    " yet".split()
)
"""Words that say little about where a phrase is from."""

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_BITS: Final = np.uint64(24)


class Phrase(NamedTuple):
    """A kept phrase: its hash, and where it starts in its text."""

    hash: int
    start: int


class SharedRun(NamedTuple):
    """``text[start:end]``, ``length`` words, stands in the other text too; ``words`` of them are
    words of content."""

    start: int
    end: int
    length: int
    words: int


class _Phrases(NamedTuple):
    """The phrases of a text: hash, the first word of each; and each word's span and content."""

    hashes: NDArray[np.int64]
    first: NDArray[np.int64]
    spans: Sequence[tuple[int, int]]
    content: NDArray[np.int64]
    length: int


def sampled_phrases(text: str) -> tuple[Phrase, ...]:
    """The phrases by which the store finds texts that share one with ``text``, each once."""
    phrases = _phrases(text)
    hashes, at = np.unique(phrases.hashes, return_index=True)
    step = KEEP_ONE_OF
    chosen = hashes % step == 0
    while chosen.sum() > MAX_PHRASES:
        step *= 2
        chosen = hashes % step == 0
    starts = phrases.first[at[chosen]].tolist()
    return tuple(
        Phrase(each, phrases.spans[first][0])
        for each, first in zip(hashes[chosen].tolist(), starts, strict=True)
    )


def shared(text: str, other: str, anchors: Collection[tuple[int, int]]) -> list[SharedRun]:
    """The runs of ``text`` that stand in ``other``, in order, near ``anchors``.

    An anchor is where a kept phrase that both have starts in either text; a run has one.
    """
    beside = "\n".join(other[a:b] for a, b in _windows([at for _, at in anchors], len(other)))
    others = _phrases(beside)
    shared_runs: list[SharedRun] = []
    places = sorted(at for at, _ in anchors)
    for low, high in _windows(places, len(text)):
        own = _phrases(text[low:high])
        if own.length != others.length:
            continue
        runs: list[tuple[int, int]] = []
        for first in own.first[np.isin(own.hashes, others.hashes)].tolist():
            end = first + own.length
            if runs and first <= runs[-1][1] + _GAP:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((first, end))
        for first, end in runs:
            start, stop = low + own.spans[first][0], low + own.spans[end - 1][1]
            if any(start <= at < stop for at in places):
                words = int(own.content[first:end].sum())
                shared_runs.append(SharedRun(start, stop, end - first, words))
    return shared_runs


def _windows(places: Collection[int], length: int) -> list[tuple[int, int]]:
    """Spans around ``places``, which are in a text of ``length``, without overlaps."""
    windows: list[tuple[int, int]] = []
    for at in sorted(places):
        low, high = max(0, at - AROUND), min(length, at + AROUND)
        if windows and low <= windows[-1][1]:
            windows[-1] = (windows[-1][0], high)
        else:
            windows.append((low, high))
    return windows


def _phrases(text: str) -> _Phrases:
    plain = _NOISE.sub(lambda match: " " * len(match[0]), text[:MAX_READ_CHARS])
    tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(plain)]
    words = [plain[start:end].lower() for start, end in tokens]
    is_cjk = len(_CJK.findall(plain)) * 2 > len(words)
    length = LENGTH_CJK if is_cjk else LENGTH
    content = np.array([_is_content(word) for word in words], np.int64)
    count = len(words) - length + 1
    if count < 1:
        none = np.empty(0, np.int64)
        return _Phrases(none, none, tokens, content, length)
    codes = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], np.uint64)
    mixed = np.zeros(count, np.uint64)
    said = np.zeros(count, np.int64)
    for place in range(length):
        mixed = (mixed ^ codes[place : place + count]) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
        said += content[place : place + count]
    enough = np.flatnonzero(said >= _CONTENT)
    hashes = (mixed[enough] >> _BITS).astype(np.int64)
    return _Phrases(hashes, enough, tokens, content, length)


def _is_content(word: str) -> bool:
    return word not in _COMMON and (len(word) > 2 or word.isdigit() or not word.isascii())
