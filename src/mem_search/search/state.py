"""The state that the stages of one ranking pass on: frozen columns.

A stage is a name and a pure function from state to state. Everything that stages need of the
store is read before the first of them (``ranking.prefetch``) and travels in ``stored``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import FeedbackScorer, Question, RankingTraits
from mem_search.model import Filters, Hit, LegReport, SearchRequest
from mem_search.model.rankings import (
    KIND_CODES,
    Candidates,
    Codes,
    Numbers,
    Ranking,
    RecordColumns,
    Values,
    are_among,
)
from mem_search.retrievers.graph import Expansion
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text.sketch import NO_SKETCHES, Sketches

Mask = NDArray[np.bool_]

NO_NUMBERS: Final[Numbers] = np.zeros(0, np.int64)


class Expand(Protocol):
    """The walk of the graph leg: ``retrievers.graph.expand``."""

    def __call__(
        self,
        snapshot: SearchSnapshot,
        seeds: Mapping[int, float],
        *,
        depth: int,
        limit: int,
        filters: Filters,
    ) -> Expansion: ...


@dataclass(frozen=True, slots=True, eq=False)
class LegScores:
    """The scores and ranks of one leg for each record of the union.

    ``scores`` are NaN where the leg has none; ``ranks`` count from 1 and are 0 where the leg does
    not list the record.
    """

    scores: Values
    ranks: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Word matches that are no candidates: one row a record, in order of their numbers.

    Where the request orders by date, ``first`` are the first of them by date, as many as its page
    can show, and ``created`` are their dates in milliseconds.
    """

    records: Numbers
    kinds: Codes
    first: Numbers
    created: Numbers

    def taken(self, rows: Mask) -> Beyond:
        """Those at ``rows``."""
        records = self.records[rows]
        stay = are_among(self.first, records)
        return Beyond(records, self.kinds[rows], self.first[stay], self.created[stay])


@dataclass(frozen=True, slots=True, eq=False)
class StoredData:
    """Data from the store for the stages, read once before the first stage.

    ``columns`` have one row for each record of the union.
    """

    columns: RecordColumns
    exact_matches: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Record → how many names of the question it holds, and how well (``Name.held``)."""
    lifted: Sequence[Numbers] = ()
    """The records of each kind or person that the question names."""
    whole: Numbers = field(default_factory=lambda: NO_NUMBERS)
    """Records that have all that a short question, or an explicit one, asks for; in order."""
    names_alone: bool = False
    """The question is nothing but names that some record holds."""
    guessed: tuple[Numbers, Numbers] | None = None
    """Where a word was misspelt: records with only a word that may be meant, and those with a word
    as it was typed; each in order."""
    beyond: Beyond | None = None
    """Word matches that are no candidates."""
    successors: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Superseded record → the records that supersede it, nearest first."""
    sketched: Sequence[int] = ()
    """Records that may have a near-duplicate in the union."""
    sketches: Sketches = field(default_factory=lambda: NO_SKETCHES)
    """One row for each of ``sketched``."""
    feedback: Mapping[str, FeedbackScorer] = field(default_factory=dict)
    """Leg → its scorer for a moved question; empty where the legs cannot agree."""
    sorted_records: Numbers = field(default_factory=lambda: NO_NUMBERS)
    """All that is found, where the request sorts by fields; empty otherwise."""
    sort_values: Mapping[str, Numbers] = field(default_factory=dict)
    """Field → one number for each of ``sorted_records``, see ``SearchSnapshot.sort_values``."""
    counts: Mapping[str, int] | None = None
    """Kind → records that pass the filters, where the filters alone decide what matches."""
    newest: Sequence[int] = ()
    """The newest records that pass the filters, where the filters alone decide."""
    expand: Callable[[Mapping[int, float], int], Expansion] | None = None
    """Follows links from starting records (record → weight); None where links do not count."""


class Fusion(Protocol):
    """How the scores and ranks of the legs become one score. A strategy; see ``stages.scoring``."""

    @property
    def name(self) -> str:
        """The strategy's name in documents and reports."""
        ...

    def fuse(self, state: RankingState) -> Values:
        """One score for each record of ``state.union``; the higher the better."""
        ...

    def scores(self, state: RankingState, row: int) -> dict[str, float]:
        """The scores that the result at ``row`` carries, by leg and by stage."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RankingState:
    """One ranking under way.

    ``union`` are the candidates of all legs, one row a record, and every column has its rows:
    ``legs`` (scores and ranks), ``matched`` and the ``parts`` of the score. ``rankings`` are the
    legs' own lists, ``further`` the same as far as the page reaches. ``hits`` are the ordered
    result, which exists after the stage ``sort``.
    """

    request: SearchRequest
    question: Question
    fusion: Fusion
    rankings: Sequence[Ranking]
    further: Sequence[Ranking]
    union: Candidates
    legs: Mapping[str, LegScores]
    traits: RankingTraits
    stored: StoredData
    filters_decide: bool = False
    matched: Mask | None = None
    """Which rows are found; None means all of them."""
    beyond: Beyond | None = None
    """What is found beside them; None where the filters decide."""
    weaker: int = 0
    """How many matches were left out because they answer the question less well."""
    parts: Mapping[str, Values] = field(default_factory=dict)
    """Name of a stage → what it adds to the score of each record."""
    hits: Sequence[Hit] = ()
    expansion: Expansion | None = None
    """What the walk of the graph reached, where links were followed."""
    reports: tuple[LegReport, ...] = ()
    """What legs report that run as a stage."""

    @property
    def total(self) -> Values:
        """The score so far of each record."""
        return sum(self.parts.values(), np.zeros(len(self.union)))

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows that are matches."""
        return np.arange(len(self.union)) if self.matched is None else np.flatnonzero(self.matched)

    def kinds(self) -> Mapping[int, str]:
        """Record → the name of its kind."""
        names = KIND_CODES.names(self.union.kinds)
        return dict(zip(self.union.records.tolist(), names, strict=True))

    def added(self, name: str, values: Values) -> RankingState:
        """The state after a stage that adds ``values`` to the score under ``name``."""
        return replace(self, parts={**self.parts, name: values})

    def ordered(self, hits: Sequence[Hit]) -> RankingState:
        """The state after a stage that changes the order or the number of hits."""
        return replace(self, hits=hits)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the ranking. Its name is the same in ``explain``, in ``scripts/evaluate
    --without NAME`` and in the table of docs/retrieval.md, whose text is ``apply``'s docstring.

    A ``required`` stage cannot be left out: without it there is no result.
    """

    name: str
    apply: Callable[[RankingState], RankingState]
    required: bool = False
    option: str = ""
    """The field of the request that asks for the stage; without it the stage does not run."""

    @property
    def summary(self) -> str:
        """The first line of the docstring of ``apply``."""
        return (self.apply.__doc__ or "").strip().partition("\n")[0]
