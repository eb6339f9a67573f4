"""Columns of passages: which are in a set, and the best of each record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import rankings
from mem_search.model.arrays import are_among, distinct
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.rankings import PassageColumns

NUMBERS = st.lists(st.integers(0, 400), max_size=60)
FAR = st.lists(st.integers(0, 1 << 31), max_size=20)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int32])
@given(numbers=NUMBERS | FAR, others=NUMBERS | FAR)
def test_what_is_among_numbers_in_order(
    kind: type[np.integer], numbers: list[int], others: list[int]
) -> None:
    here = [number % (1 << 31) for number in numbers]
    there = sorted(number % (1 << 31) for number in others)
    found = are_among(np.array(here, kind), np.array(there, np.uint32))
    assert found.tolist() == [number in there for number in here]


@given(numbers=st.lists(st.integers(-9, 9)))
def test_each_number_is_kept_once_in_order(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, np.int64)).tolist() == sorted({*numbers})


@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.sampled_from([1.0, 2.0, 3.0])), max_size=30),
    in_order=st.booleans(),
)
def test_the_best_passage_of_a_record_is_the_first_of_the_best(
    rows: list[tuple[int, float]], in_order: bool
) -> None:
    if in_order:
        rows = sorted(rows, key=lambda row: row[0])
    owners = np.array([record for record, _ in rows], np.int64)
    passages = np.arange(1, len(rows) + 1)
    columns = PassageColumns(
        passages,
        owners,
        (passages % 3).astype(np.uint8),
        passages % 2 == 0,
        np.ones(len(rows), np.int32),
    )
    best = columns.best(np.array([score for _, score in rows]))
    expected: dict[int, tuple[int, float]] = {}
    for passage, (record, score) in enumerate(rows, 1):  # record 0 stands for none
        if record and score > expected.get(record, (0, 0.0))[1]:
            expected[record] = passage, score
    assert best.records.tolist() == sorted(expected)
    assert best.passages.tolist() == [expected[record][0] for record in sorted(expected)]
    assert best.scores.tolist() == [expected[record][1] for record in sorted(expected)]
    assert best.kinds.tolist() == [passage % 3 for passage in best.passages.tolist()]
    assert best.code.tolist() == [passage % 2 == 0 for passage in best.passages.tolist()]


@given(
    scores=st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 9.0]), min_size=1, max_size=60),
    depth=st.integers(1, 40),
)
def test_the_best_candidates_are_those_of_a_whole_sort(scores: list[float], depth: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankings, "_RUN", 4)
        passages = np.arange(1, len(scores) + 1)
        columns = PassageColumns(
            passages,
            passages,
            np.full(len(scores), KIND_CODES.code("note")),
            np.zeros(len(scores), np.bool_),
            np.ones(len(scores), np.int32),
        )
        found = columns.best(np.array(scores)).candidates(depth)
    rows = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:depth]
    assert found.records.tolist() == [row + 1 for row in rows]
