"""Search with a filter against the same search without one, query by query in turns.

Over a copy of the store with new attributes (``filing``): project, kind, type, tag and date
range, each with values that half, a sixth, a hundredth and a thousandth of the records have.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figures import Bar, median
from filing import SHARES, file_anew
from process import Worker, worker

import questions

QUESTIONS = 60
_WARM = 40
_UNFILTERED = ("", 1.0)

Variant = tuple[str, float]
"""The sort of filter and the share of the records that pass it."""


def measure(home: Path, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """Ratios of p50 for the store in ``home``, which this changes: pass a copy."""
    asked = questions.draw(home, _WARM + QUESTIONS)
    filed = file_anew(home)
    variants: dict[Variant, Mapping[str, object]] = {_UNFILTERED: {}}
    for sort, by_share in filed.items():
        variants |= {(sort, share): parameters for share, parameters in by_share.items()}
    with worker(home, embedder) as running:
        _in_turns(running, asked[:_WARM], dict(list(variants.items())[::4]))
        times = _in_turns(running, asked[_WARM:], variants)
    base = median(times[_UNFILTERED])
    ratios = {variant: median(some) / base for variant, some in times.items()}
    worst = max((ratios[variant], variant) for variant in variants if variant != _UNFILTERED)
    figures: dict[str, Any] = {"unfiltered p50 ms": base}
    for sort in filed:
        figures[f"{sort}, as ratio to unfiltered"] = {
            f"{share:.1%}": ratios[sort, share] for share in SHARES
        }
    sort, share = worst[1]
    figures["slowest"] = f"{sort} {share:.1%}"
    return figures, [Bar("filters: slowest filtered / unfiltered, p50", worst[0], 2.0)]


def _in_turns(
    running: Worker, asked: list[str], variants: Mapping[Variant, Mapping[str, object]]
) -> dict[Variant, list[float]]:
    """Milliseconds of each variant, for each query."""
    times: dict[Variant, list[float]] = {variant: [] for variant in variants}
    names = list(variants)
    for turn, text in enumerate(asked):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            # Trailing spaces keep the worker from knowing the question of the last turn.
            times[name].append(questions.ask(running, text + " " * place, **variants[name]))
    return times
