"""Passages: the record of each, and its span in the record's text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import Codes
from mem_search.model.rankings import Candidates, Numbers, Scores, Values

PassageSpan = tuple[int, int, int | None]
"""(start, end, page) in the text of the record; the page is None where there are none."""


@dataclass(frozen=True, slots=True)
class PassageContext:
    """The ``ordinal``-th of ``count`` passages; ``start`` and ``end`` span its neighbours too.

    Offsets are into the record's text, so overlapping passages are not repeated.
    """

    ordinal: int
    count: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BestPassages:
    """Records with their best passage and its score: columns in order of the record number."""

    records: Numbers
    passages: Numbers
    scores: Values

    def by_record(self) -> Scores:
        return Scores(self.records, self.scores)


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

    def best(self, passages: Numbers, scores: Values) -> BestPassages:
        """One row for each record, with its best passage (the first of equal ones).

        A deleted passage that is unknown here is left out.
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
        """The best ``depth`` records, and ``depth // 10`` of each kind with fewer among them."""
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


def _first(scores: Values, count: int) -> NDArray[np.intp]:
    """Rows of the ``count`` best scores, of equal ones the first; in no order."""
    if len(scores) <= count or not count:
        return np.arange(min(len(scores), count))
    # A partition is enough: only the first rows are needed, in no order.
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    near = np.flatnonzero(scores >= least)
    best_first: NDArray[np.intp] = near[np.argsort(-scores[near], kind="stable")]
    return best_first[:count]
