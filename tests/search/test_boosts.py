"""Boosts as a pure function of dates and importance."""

from __future__ import annotations

import pytest

from mem_search.search.boosts import HALF_LIFE, IMPORTANCE_WEIGHT, RECENCY_WEIGHT, add

NOW = 100 * HALF_LIFE


def test_nothing_is_added_unless_it_is_asked_for() -> None:
    assert add((), {1: 5}, {1: 1.0}, NOW) == {}
    assert add(("recency", "importance"), {}, {}, NOW) == {"importance": {}}


def test_recency_halves_from_the_newest_candidate_on() -> None:
    added = add(("recency",), {1: HALF_LIFE * 3, 2: HALF_LIFE * 2, 3: HALF_LIFE}, {}, NOW)
    assert added["recency"] == pytest.approx(
        {1: RECENCY_WEIGHT, 2: RECENCY_WEIGHT / 2, 3: RECENCY_WEIGHT / 4}
    )


def test_a_date_in_the_future_makes_nothing_else_old() -> None:
    added = add(("recency",), {1: NOW * 50, 2: NOW, 3: NOW - HALF_LIFE}, {}, NOW)["recency"]
    assert added == pytest.approx({1: RECENCY_WEIGHT, 2: RECENCY_WEIGHT, 3: RECENCY_WEIGHT / 2})


def test_records_of_one_date_gain_alike() -> None:
    assert len(set(add(("recency",), {1: 7, 2: 7}, {}, NOW)["recency"].values())) == 1


def test_importance_adds_and_takes_and_leaves_alone_what_has_none() -> None:
    added = add(("importance",), {1: 0, 2: 0}, {1: 1.0, 3: 0.0, 4: 0.5, 5: 7.0}, NOW)
    half = IMPORTANCE_WEIGHT / 2
    assert added == {"importance": {1: half, 3: -half, 4: 0.0, 5: half}}
