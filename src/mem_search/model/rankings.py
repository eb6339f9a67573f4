"""The results of one leg, as columns: hundreds of candidates, tens of thousands of matches.
Columns, because an object for each candidate costs more than ranking them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mem_search.model.kind_codes import KIND_CODES, Codes
from mem_search.model.records import Kind

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
    def of(cls, found: Iterable[Candidate]) -> Self:
        rows = list(found)
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
    def by_record(cls, found: Mapping[int, float]) -> Scores:
        order = sorted(found)
        return Scores(
            np.array(order, dtype=np.int64),
            np.array([found[record] for record in order], dtype=np.float64),
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
    def by_kind(cls, found: Mapping[int, tuple[Kind, float]]) -> Self:
        """From record → (kind, score)."""
        order = sorted(found)
        return cls(
            np.array(order, dtype=np.int64),
            np.array([found[record][1] for record in order], dtype=np.float64),
            KIND_CODES.codes(found[record][0] for record in order),
        )


NONE_KNOWN = Scores.by_record({})
NO_MATCHES = Matches.by_kind({})
NO_CANDIDATES = Candidates.of(())


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What one leg found.

    ``scores`` has every record whose score the leg knows, also below the candidates.
    ``matched`` has every record that matches this leg; empty when the leg has no such notion.
    """

    name: str
    candidates: Candidates = NO_CANDIDATES
    scores: Scores = field(default=NONE_KNOWN)
    matched: Matches = NO_MATCHES
    state: Literal["ok", "degraded"] = "ok"
    detail: str = ""


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
