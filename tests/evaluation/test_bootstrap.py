"""Intervals of means: properties for any figures."""

from __future__ import annotations

import pytest
from comparison import Interval, intervals
from hypothesis import given, settings
from hypothesis import strategies as st

FIGURES = st.lists(st.floats(0, 1, allow_nan=False, width=32), min_size=1, max_size=40)
PAIRS = FIGURES.flatmap(
    lambda column: st.tuples(
        st.just(column),
        st.lists(
            st.floats(0, 1, allow_nan=False, width=32), min_size=len(column), max_size=len(column)
        ),
    )
)
FEW = 400
ROUNDING = 1e-9

unhurried = settings(deadline=None)


def of(column: list[float], **options: float) -> Interval:
    return intervals({"it": column}, resamples=FEW, **options)["it"]


@unhurried
@given(FIGURES)
def test_the_interval_contains_the_mean(column: list[float]) -> None:
    mean, low, high = of(column)
    assert mean == pytest.approx(sum(column) / len(column))
    assert low - ROUNDING <= mean <= high + ROUNDING
    assert min(column) - ROUNDING <= low <= high <= max(column) + ROUNDING


@unhurried
@given(FIGURES)
def test_identical_systems_are_never_told_apart(column: list[float]) -> None:
    difference = of([one - other for one, other in zip(column, column, strict=True)])
    assert difference == (0, 0, 0)
    assert difference.verdict == "open"


@unhurried
@given(PAIRS)
def test_a_system_that_is_nowhere_worse_has_no_lower_interval(
    pair: tuple[list[float], list[float]],
) -> None:
    worse = [min(a, b) for a, b in zip(*pair, strict=True)]
    better = [max(a, b) for a, b in zip(*pair, strict=True)]
    columns = {"worse": worse, "better": better}
    columns["difference"] = [b - a for a, b in zip(worse, better, strict=True)]
    found = intervals(columns, resamples=FEW)
    assert found["better"].low >= found["worse"].low - ROUNDING
    assert found["better"].high >= found["worse"].high - ROUNDING
    assert found["difference"].low >= -ROUNDING


@unhurried
@given(PAIRS)
def test_swapping_two_systems_mirrors_their_difference(
    pair: tuple[list[float], list[float]],
) -> None:
    forth = of([a - b for a, b in zip(*pair, strict=True)])
    back = of([b - a for a, b in zip(*pair, strict=True)])
    assert (back.mean, back.low, back.high) == pytest.approx(
        (-forth.mean, -forth.high, -forth.low), abs=ROUNDING
    )


@unhurried
@given(FIGURES, st.floats(-5, 5))
def test_what_all_questions_gain_moves_the_interval_as_a_whole(
    column: list[float], gain: float
) -> None:
    before, after = of(column), of([value + gain for value in column])
    assert after == pytest.approx([bound + gain for bound in before], abs=ROUNDING)


@unhurried
@given(FIGURES)
def test_a_higher_confidence_gives_a_wider_interval(column: list[float]) -> None:
    narrow, wide = of(column, level=0.8), of(column, level=0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@unhurried
@given(PAIRS)
def test_the_interval_of_a_column_does_not_depend_on_the_comparison(
    pair: tuple[list[float], list[float]],
) -> None:
    one, other = pair
    both = intervals({"other": other, "one": one}, resamples=FEW)
    assert both["one"] == pytest.approx(of(one), abs=ROUNDING)


def test_more_questions_of_the_same_sort_narrow_it() -> None:
    few, many = of([0.0, 1.0] * 10), of([0.0, 1.0] * 1000)
    assert many.high - many.low < (few.high - few.low) / 5


def test_equal_seeds_give_equal_samples_and_different_seeds_different_ones() -> None:
    column = [i / 50 for i in range(50)]
    assert of(column) == of(column)
    assert of(column, seed=1) != of(column)


def test_figures_that_vary_as_a_coin_give_the_textbook_interval() -> None:
    mean, low, high = intervals({"coin": [0.0, 1.0] * 200})["coin"]
    # 1.96 standard errors of a share of one half over 400.
    assert (mean, low, high) == pytest.approx((0.5, 0.451, 0.549), abs=0.004)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (Interval(0.2, 0.1, 0.3), "above"),
        (Interval(-0.2, -0.3, -0.1), "below"),
        (Interval(0.1, 0.0, 0.2), "open"),
        (Interval(0.0, -0.1, 0.1), "open"),
    ],
)
def test_a_verdict_needs_zero_to_be_outside(interval: Interval, verdict: str) -> None:
    assert interval.verdict == verdict


def test_no_columns_have_no_intervals() -> None:
    assert intervals({}) == {}


def test_what_cannot_be_paired_or_has_no_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        intervals({"a": [1.0], "b": [1.0, 0.0]})
    with pytest.raises(ValueError, match="no questions"):
        intervals({"a": []})
    with pytest.raises(ValueError, match="level"):
        intervals({"a": [1.0]}, level=1)
