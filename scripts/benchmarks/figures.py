"""Milliseconds, medians, percentiles and the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Bar:
    """A target: the figure, its limit, and whether more is better."""

    name: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentile(values: Sequence[float], share: float) -> float:
    """Interpolated between the two nearest values; 0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(milliseconds: Sequence[float], of: str = "") -> dict[str, float]:
    """The median and the 95th percentile, by name; ``of`` says of what."""
    return {
        f"{of} p50 ms".strip(): median(milliseconds),
        f"{of} p95 ms".strip(): percentile(milliseconds, 0.95),
    }


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What ``call`` gives, and the milliseconds that it takes."""
    started = time.perf_counter()
    result = call()
    return result, (time.perf_counter() - started) * 1000


def show(stage: str, figures: Mapping[str, object]) -> None:
    """One benchmark as a table; nested figures are indented below their name."""
    print(f"\n{stage}")
    _rows(figures, 2)


def show_bars(bars: Sequence[Bar]) -> None:
    print("\nbars")
    for bar in bars:
        sign = "≥" if bar.at_least else "≤"
        verdict = "holds" if bar.holds else "MISSED"
        print(f"  {bar.name:<44}{bar.value:>10.2f}  {sign} {bar.limit:<8g}{verdict}")


def _rows(figures: Mapping[str, object], indent: int) -> None:
    for name, value in figures.items():
        label = " " * indent + name
        if isinstance(value, Mapping):
            print(label)
            _rows(value, indent + 2)
        elif isinstance(value, float):
            print(f"{label:<46}{value:>10.2f}")
        else:
            print(f"{label:<46}{value!s:>10}")
