"""Whose a passage is, in memory: record, kind, length and whether it is code, by its number.

A search looks up thousands of passages; joining them in SQL costs more than ranking them. What
is kept here never changes for a passage (``records.store`` gives a passage a new number when it
would), so the arrays only grow, and numbers of passages that are gone are simply never asked for.
About 14 bytes a passage.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import KIND_CODES, Codes
from mem_search.model.rankings import Candidates
from mem_search.model.rankings import Scores as RecordScores
from mem_search.storage.sqlite.database import Database

Numbers = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class BestPassages:
    """Records with their best passage and its score: columns in order of the record number."""

    records: Numbers
    passages: Numbers
    scores: NDArray[np.float64]

    def by_record(self) -> RecordScores:
        return RecordScores(self.records, self.scores)


@dataclass(frozen=True, slots=True)
class PassageMap:
    """Arrays indexed by passage number; ``kinds`` are codes of KIND_CODES."""

    records: Numbers
    kinds: Codes
    code: NDArray[np.bool_]
    lengths: NDArray[np.int32]

    @property
    def size(self) -> int:
        """One more than the highest passage number known."""
        return len(self.records)

    def best(self, passages: Numbers, scores: NDArray[np.float64]) -> BestPassages:
        """One row a record, that of its best passage (the first of equal ones).

        A passage that is gone and was never known here has no owner and is left out.
        """
        records = self.records[passages]
        if not records.all():
            owned = np.flatnonzero(records)
            records, passages, scores = records[owned], passages[owned], scores[owned]
        # Passages come in order of their number, and mostly that is the order of their records.
        if (records[1:] < records[:-1]).any():
            order = np.argsort(records, kind="stable")
            records, passages, scores = records[order], passages[order], scores[order]
        starts = _firsts(records)
        if len(starts) < len(records):
            most = np.maximum.reduceat(scores, starts)
            sizes = np.diff(np.append(starts, len(records)))
            best = np.flatnonzero(scores == np.repeat(most, sizes))
            chosen = best[_firsts(records[best])]
            records, passages, scores = records[chosen], passages[chosen], scores[chosen]
        return BestPassages(records, passages, scores)

    def candidates(self, best: BestPassages, depth: int) -> Candidates:
        """The first ``depth`` of ``best``, and a tenth as many of each kind that is rarer."""
        wanted = _first(best.scores, depth)
        if len(best.records) > depth:
            kinds = self.kinds[best.passages]
            present = np.bincount(kinds) > 0
            among = np.bincount(kinds[wanted], minlength=len(present))
            for kind in np.flatnonzero(present & (among < depth // 10)):
                of_kind = np.flatnonzero(kinds == kind)
                rarer = of_kind[_first(best.scores[of_kind], depth // 10)]
                wanted = np.union1d(wanted, rarer)
        wanted = wanted[np.lexsort((best.records[wanted], -best.scores[wanted]))]
        chosen = best.passages[wanted]
        return Candidates(
            best.records[wanted],
            self.kinds[chosen],
            self.code[chosen],
            chosen,
            best.scores[wanted],
        )


def _firsts(ordered: Numbers) -> NDArray[np.intp]:
    """Where each value begins in a column that is in order."""
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _first(scores: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Rows of the ``count`` best scores, of equal ones the first; in no order."""
    if len(scores) <= count or not count:
        return np.arange(min(len(scores), count))
    # Whole columns are not sorted for the sake of their beginning.
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    near = np.flatnonzero(scores >= least)
    best_first: NDArray[np.intp] = near[np.argsort(-scores[near], kind="stable")]
    return best_first[:count]


@dataclass(slots=True)
class PassageMapCache:
    """The owners of one store, read further whenever a passage beyond them is asked about."""

    database: Database
    _known: PassageMap = field(
        default_factory=lambda: PassageMap(
            np.zeros(0, np.int64),
            np.zeros(0, np.uint8),
            np.zeros(0, np.bool_),
            np.zeros(0, np.int32),
        )
    )
    _reading: threading.Lock = field(default_factory=threading.Lock)

    async def up_to(self, passage: int) -> PassageMap:
        """Owners that include ``passage``, if it exists."""
        if passage >= self._known.size:
            return await self.database.read(self.within, passage)
        return self._known

    def within(self, connection: sqlite3.Connection, passage: int) -> PassageMap:
        """The same inside a read that has seen ``passage``."""
        if passage >= self._known.size:
            with self._reading:
                if passage >= self._known.size:
                    rows = _after(connection, self._known.size)
                    self._known = _extended(self._known, rows, passage)
        return self._known


def _after(connection: sqlite3.Connection, first: int) -> Sequence[Sequence[Any]]:
    """Columns id, record, kind, is it code, length of the passages from ``first`` on."""
    row = connection.execute(
        "select json_group_array(id), json_group_array(record_id), json_group_array(kind),"
        " json_group_array(field = 'code'), json_group_array(end - start)"
        " from passages where id >= ?",
        (first,),
    ).fetchone()
    return [json.loads(column) for column in row]


def _extended(known: PassageMap, rows: Sequence[Sequence[Any]], passage: int) -> PassageMap:
    ids, records, kinds, code, lengths = rows
    places = np.array(ids, dtype=np.int64)
    size = max(int(places.max(initial=-1)), passage) + 1
    found = PassageMap(
        records=_grown(known.records, size),
        kinds=_grown(known.kinds, size),
        code=_grown(known.code, size),
        lengths=_grown(known.lengths, size),
    )
    found.records[places] = np.array(records, dtype=np.int64)
    found.kinds[places] = KIND_CODES.codes(kinds)
    found.code[places] = np.array(code, dtype=np.bool_)
    found.lengths[places] = np.array(lengths, dtype=np.int32)
    return found


def _grown(column: NDArray[T], size: int) -> NDArray[T]:
    larger = np.zeros(size, column.dtype)
    larger[: len(column)] = column
    return larger
