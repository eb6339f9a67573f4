"""Whether the time of a function grows with the length of its text, on a busy machine, too."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from mem_search.errors import MemSearchError

REPEATS = 3

_QUADRATIC = 100
"""Ten times the text takes a quadratic function so many times as long."""

CLEAR = 0.05
"""Seconds that are told from noise: after these three times the text shows how time grows."""


def check_growth(
    name: str,
    function: Callable[[str], object],
    text_of: Callable[[int], str],
    sizes: tuple[int, ...],
    growth: float,
    noticeable: float,
) -> None:
    """Each size takes at most ``growth`` times as long as the one before.

    Sizes are characters and grow tenfold. What takes fewer than ``noticeable`` seconds of processor
    time is not told apart from noise. So the last size is not tried where a quadratic function
    would not be noticed, and a smaller one where the time is clear already.
    """
    before = _seconds(function, text_of(sizes[0]))
    for size in sizes[1:]:
        if size == sizes[-1] and _QUADRATIC * before < noticeable:
            return
        is_clear = size == sizes[-1] and before >= CLEAR
        step = 3 if is_clear else 10
        most = growth * step / 10
        text = text_of(size * step // 10)
        took = _seconds(function, text)
        allowed = most * before if is_clear else max(noticeable, most * before)
        for _ in range(REPEATS):
            if took <= allowed:
                break
            # Once more, beside what is linear for sure: where other processes have the caches,
            # more text takes that more than its part longer, too.
            smaller = text_of(size // 10)
            before = max(before, _seconds(function, smaller))
            took = min(took, _seconds(function, text))
            slower = max(1.0, _seconds(_linear, text) / _seconds(_linear, smaller) / step)
            allowed = max(allowed, most * slower * before)
        assert took <= allowed, (
            f"{name}, {len(text)} characters: {before:.3f} s became {took:.3f} s"
        )
        before = took


def _seconds(function: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    with contextlib.suppress(ValueError, MemSearchError):  # a refusal is an answer: time it too
        function(text)
    return time.thread_time() - started


def _linear(text: str) -> object:
    """One small object a character, in one list: what most functions of a text do, and no more."""
    return [(character, place) for place, character in enumerate(text)]
