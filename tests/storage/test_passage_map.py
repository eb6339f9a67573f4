"""The best passages of records are those that plain loops choose."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model.rankings import Scores
from mem_search.storage.sqlite.passage_map import PassageMap, PassageMapCache, empty

ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 4)), max_size=40)
"""(record, kind, score) of passages 1, 2, …; record 0 is nobody."""


def owners(rows: list[tuple[int, int, int]]) -> PassageMap:
    return PassageMap(
        records=np.array([0, *(record for record, _, _ in rows)], dtype=np.int64),
        kinds=np.array([0, *(kind for _, kind, _ in rows)], dtype=np.uint8),
        code=np.zeros(len(rows) + 1, np.bool_),
        lengths=np.ones(len(rows) + 1, np.int32),
    )


@given(ROWS, st.randoms(use_true_random=False), st.sampled_from([1, 5, 10, 30]))
def test_a_record_has_the_score_of_its_best_passage(
    rows: list[tuple[int, int, int]], shuffled: object, depth: int
) -> None:
    passages = list(range(1, len(rows) + 1))
    shuffled.shuffle(passages)  # type: ignore[attr-defined]
    known = owners(rows)
    expected: dict[int, tuple[int, float]] = {}
    for passage in passages:
        record, _, score = rows[passage - 1]
        if record and (record not in expected or score > expected[record][1]):
            expected[record] = (passage, float(score))
    scores = np.array([rows[passage - 1][2] for passage in passages], dtype=np.float64)
    best = known.of(np.array(passages, dtype=np.int64)).best(scores)
    assert best.records.tolist() == sorted(expected)
    by_record = Scores(best.records, best.scores).of(best.records)
    assert by_record.tolist() == [expected[record][1] for record in sorted(expected)]
    assert best.passages.tolist() == [expected[record][0] for record in sorted(expected)]

    order = sorted(expected, key=lambda record: (-expected[record][1], record))
    wanted = set(order[:depth])
    for kind in range(4):
        of_kind = [record for record in order if rows[expected[record][0] - 1][1] == kind]
        wanted.update(of_kind[: depth // 10])
    found = best.candidates(depth)
    assert found.records.tolist() == [r for r in order if r in wanted]


def test_a_passage_beyond_the_map_does_not_exist() -> None:
    known = owners([(3, 1, 0), (4, 2, 0)])
    found = known.of(np.array([99, 2, 1]))
    assert found.records.tolist() == [0, 4, 3]
    assert found.kinds.tolist() == [0, 2, 1]
    assert found.best(np.array([9.0, 1.0, 2.0])).passages.tolist() == [1, 2]
    assert empty(0).of(np.array([7])).records.tolist() == [0]
    assert not len(empty(0).of(np.array([], np.int64)).best(np.array([])).records)


def test_a_passage_that_an_older_snapshot_lacks_is_not_gone(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as newer:
        newer.execute("pragma journal_mode = wal")
        newer.execute("create table passages(id integer primary key, record_id)")
        newer.execute("create table record_changes(revision, record_id)")
        newer.execute("insert into passages values(1, 7), (2, 8)")
        newer.execute("insert into record_changes values(1, 7)")
        with closing(sqlite3.connect(file, isolation_level=None)) as older:
            older.execute("begin")
            older.execute("select 1 from passages").fetchall()
            newer.execute("delete from passages where id = 1")
            newer.execute("insert into passages values(3, 7)")
            newer.execute("insert into record_changes values(2, 7)")
            cache = PassageMapCache(owners([(7, 0, 0), (8, 0, 0), (7, 0, 0)]))
            cache.gone(older)
            assert cache.gone(newer).tolist() == [1]
