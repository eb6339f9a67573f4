"""What a search ranks, as columns: kinds, passages, candidates, matches and their scores.

Columns because a search makes hundreds of candidates to show twenty results, among tens of
thousands of matches; an object for each costs more than ranking them.

In a column a kind is a small integer, its code (``kind_codes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mem_search.model.arrays import distinct, run_starts
from mem_search.model.kind_codes import KIND_CODES, Codes
from mem_search.model.records import Kind

_RUN: Final = 64
"""Scores in a run. Only the highest of each run is compared to find where the best scores begin."""


Numbers = NDArray[np.int64]
Values = NDArray[np.float64]

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), each row of unit length."""


def best_first(records: Numbers, scores: Values) -> NDArray[np.intp]:
    """The rows best first, ties by record number, so that equal searches have equal pages."""
    return np.lexsort((records, -scores))


class Candidate(NamedTuple):
    """A record that one leg found, with its best passage; a higher score is better."""

    record: int
    kind: Kind
    is_code: bool
    passage: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidates best first, each record once: columns of one length.

    ``kinds`` are codes of KIND_CODES; ``code`` says which passages are source code.
    """

    records: Numbers
    kinds: Codes
    code: NDArray[np.bool_]
    passages: Numbers
    scores: Values

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> Self:
        rows = list(candidates)
        return cls(
            np.array([row.record for row in rows], dtype=np.int64),
            KIND_CODES.codes(row.kind for row in rows),
            np.array([row.is_code for row in rows], dtype=np.bool_),
            np.array([row.passage for row in rows], dtype=np.int64),
            np.array([row.score for row in rows], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, place: int) -> Candidate:
        return Candidate(
            int(self.records[place]),
            KIND_CODES.name(int(self.kinds[place])),
            bool(self.code[place]),
            int(self.passages[place]),
            float(self.scores[place]),
        )

    def __iter__(self) -> Iterator[Candidate]:
        return map(self.__getitem__, range(len(self)))

    def taken(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Candidates:
        """Those at ``rows``, in their order."""
        return Candidates(
            self.records[rows],
            self.kinds[rows],
            self.code[rows],
            self.passages[rows],
            self.scores[rows],
        )

    def ranks_of(self, records: Numbers) -> Numbers:
        """The rank of each of ``records``, from 1; 0 for those that are not among these."""
        if not len(self):
            return np.zeros(len(records), np.int64)
        order = np.argsort(self.records)
        places = np.minimum(np.searchsorted(self.records, records, sorter=order), len(self) - 1)
        ranks = order[places]
        return np.where(self.records[ranks] == records, ranks + 1, 0)

    def joined(self, others: Candidates) -> Candidates:
        """These, then those of ``others`` that are not among them."""
        if not len(self):
            return others
        both = Candidates(
            np.concatenate([self.records, others.records]),
            np.concatenate([self.kinds, others.kinds]),
            np.concatenate([self.code, others.code]),
            np.concatenate([self.passages, others.passages]),
            np.concatenate([self.scores, others.scores]),
        )
        _, first = np.unique(both.records, return_index=True)
        return both.taken(np.sort(first))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Records with a score each: columns in the order of the record numbers."""

    records: Numbers
    scores: Values

    @classmethod
    def by_record(cls, scores: Mapping[int, float]) -> Scores:
        order = sorted(scores)
        return Scores(
            np.array(order, dtype=np.int64),
            np.array([scores[record] for record in order], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.records)

    def of(self, records: Numbers) -> Values:
        """The score of each of ``records``; NaN where there is none."""
        if not len(self):
            return np.full(len(records), np.nan)
        places = np.minimum(np.searchsorted(self.records, records), len(self) - 1)
        return np.where(self.records[places] == records, self.scores[places], np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Matches(Scores):
    """All records that match a leg; ``kinds`` are codes of KIND_CODES."""

    kinds: Codes

    @classmethod
    def by_kind(cls, scored: Mapping[int, tuple[Kind, float]]) -> Self:
        """From record → (kind, score)."""
        order = sorted(scored)
        return cls(
            np.array(order, dtype=np.int64),
            np.array([scored[record][1] for record in order], dtype=np.float64),
            KIND_CODES.codes(scored[record][0] for record in order),
        )


NONE_KNOWN = Scores.by_record({})
NO_MATCHES = Matches.by_kind({})
NO_CANDIDATES = Candidates.of(())


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What one leg found.

    ``scores`` has every record whose score the leg knows, also below the candidates.
    ``matched`` has every record that matches this leg; empty when the leg has no such notion.
    ``unknown`` are words of the question that no record of the store has in any form.
    """

    name: str
    candidates: Candidates = NO_CANDIDATES
    scores: Scores = field(default=NONE_KNOWN)
    matched: Matches = NO_MATCHES
    state: Literal["ok", "degraded"] = "ok"
    detail: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """The ranking columns of some records, one row each.

    ``conversations`` numbers the session and project of each record, 0 outside of sessions;
    ``positions`` count a kind in its conversation. ``created`` is in milliseconds, ``importance``
    lies in 0..1 or is NaN.
    """

    exist: NDArray[np.bool_]
    conversations: Numbers
    positions: NDArray[np.int32]
    created: Numbers
    importance: Values

    def taken(self, rows: NDArray[np.bool_]) -> RecordColumns:
        """Those at ``rows``, in their order."""
        return RecordColumns(
            self.exist[rows],
            self.conversations[rows],
            self.positions[rows],
            self.created[rows],
            self.importance[rows],
        )


NO_COLUMNS = RecordColumns(
    np.zeros(0, np.bool_),
    np.zeros(0, np.int64),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0, np.float64),
)


class PassageSpan(NamedTuple):
    """A span of the text of a record; ``page`` is None where there are none.

    ``above`` are the lines of headings, and the head of a table, that stand above it.
    """

    start: int
    end: int
    page: int | None = None
    above: str = ""


@dataclass(frozen=True, slots=True)
class PassageContext:
    """The ``ordinal``-th of ``count`` passages; ``start`` and ``end`` span its neighbours too.

    Offsets are into the record's text, so overlapping passages are not repeated.
    """

    ordinal: int
    count: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class BestPassages:
    """Records with their best passage and its score: columns in order of the record number.

    ``kinds`` are codes of KIND_CODES; ``code`` says which passages are source code.
    """

    records: Numbers
    passages: Numbers
    kinds: Codes
    code: NDArray[np.bool_]
    scores: Values

    def candidates(self, depth: int) -> Candidates:
        """The best ``depth`` records, and ``depth // 10`` of each kind with fewer among them."""
        wanted = _first(self.scores, depth)
        if len(self.records) > depth:
            present = np.bincount(self.kinds) > 0
            among = np.bincount(self.kinds[wanted], minlength=len(present))
            for kind in np.flatnonzero(present & (among < depth // 10)):
                of_kind = np.flatnonzero(self.kinds == kind)
                rarer = of_kind[_first(self.scores[of_kind], depth // 10)]
                wanted = distinct(np.concatenate([wanted, rarer]))
        wanted = wanted[np.lexsort((self.records[wanted], -self.scores[wanted]))]
        return Candidates(
            self.records[wanted],
            self.kinds[wanted],
            self.code[wanted],
            self.passages[wanted],
            self.scores[wanted],
        )


@dataclass(frozen=True, slots=True, eq=False)
class PassageColumns:
    """The ranking columns of some passages, one row each.

    ``records`` is 0 for a passage that does not exist, ``kinds`` are codes of KIND_CODES,
    ``code`` says which are source code, and ``lengths`` are in characters.
    """

    passages: Numbers
    records: Numbers
    kinds: Codes
    code: NDArray[np.bool_]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.passages)

    @classmethod
    def of_none(cls, passages: Numbers) -> PassageColumns:
        """Columns that say of none of ``passages`` that it exists; to be filled."""
        size = len(passages)
        return cls(
            passages,
            np.zeros(size, np.int64),
            np.zeros(size, np.uint8),
            np.zeros(size, np.bool_),
            np.zeros(size, np.int32),
        )

    def put(
        self,
        rows: slice | NDArray[np.intp],
        columns: PassageColumns,
        taken: slice | NDArray[np.intp] = slice(None),
    ) -> None:
        """Set the columns at ``rows`` to those that ``columns`` has at ``taken``."""
        self.records[rows] = columns.records[taken]
        self.kinds[rows] = columns.kinds[taken]
        self.code[rows] = columns.code[taken]
        self.lengths[rows] = columns.lengths[taken]

    def taken(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> PassageColumns:
        """Those at ``rows``, in their order."""
        return PassageColumns(
            self.passages[rows],
            self.records[rows],
            self.kinds[rows],
            self.code[rows],
            self.lengths[rows],
        )

    def best(self, scores: Values) -> BestPassages:
        """One row for each record, with its best passage (the first of equal ones).

        A passage that does not exist is left out.
        """
        here = self
        if not here.records.all():
            exist = here.records > 0
            here, scores = here.taken(exist), scores[exist]
        # Passages come in order of their number, and mostly that is the order of their records.
        if (here.records[1:] < here.records[:-1]).any():
            order = np.argsort(here.records, kind="stable")
            here, scores = here.taken(order), scores[order]
        again = here.records[1:] == here.records[:-1]
        if again.any():
            stay = ~(np.append(again, False) | np.append(False, again))
            rows = np.flatnonzero(~stay)  # of records with several passages
            records, row_scores = here.records[rows], scores[rows]
            starts = run_starts(records)
            most = np.maximum.reduceat(row_scores, starts)
            sizes = np.diff(np.append(starts, len(records)))
            best = rows[row_scores == np.repeat(most, sizes)]
            stay[best[run_starts(here.records[best])]] = True
            here, scores = here.taken(stay), scores[stay]
        return BestPassages(here.records, here.passages, here.kinds, here.code, scores)


def _first(scores: Values, count: int) -> NDArray[np.intp]:
    """Rows of the ``count`` best scores, of equal ones the first; in no order."""
    if len(scores) <= count or not count:
        return np.arange(min(len(scores), count))
    # Each of the ``count`` best is at least as high as the ``count``-th of the highest of runs.
    highest = scores[: len(scores) // _RUN * _RUN].reshape(-1, _RUN).max(axis=1)
    near = np.arange(len(scores))
    if len(highest) > count:
        near = np.flatnonzero(scores >= np.partition(highest, -count)[-count])
    # A partition is enough: only the first rows are needed, in no order.
    least = np.partition(scores[near], -count)[-count]
    near = near[scores[near] >= least]
    best_first: NDArray[np.intp] = near[np.argsort(-scores[near], kind="stable")]
    return best_first[:count]
