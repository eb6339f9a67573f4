"""The state that the stages of one ranking pass on: frozen columns.

A stage is a name and a pure function from state to state. It declares what it needs of the store
as ``StageData``. ``ranking.rank`` reads all of it before the first stage; it travels in ``stored``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Question, RankingTraits, Retriever
from mem_search.errors import MemSearchError
from mem_search.model import Filters, Hit, LegReport, SearchRequest
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES, Codes
from mem_search.model.rankings import (
    NO_CANDIDATES,
    NO_COLUMNS,
    NONE_KNOWN,
    Candidates,
    Numbers,
    Ranking,
    RecordColumns,
    Scores,
    Values,
)
from mem_search.retrievers.graph import Expansion
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text.sparse import SparseModel

T = TypeVar("T")

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
    not list the record. ``space`` is as in ``Retriever``.
    """

    scores: Values
    ranks: Numbers
    space: str = ""


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


@dataclass(frozen=True, slots=True)
class LegAnswer:
    """The answer of one leg: its ranking, or in the report why it has none."""

    leg: Retriever
    report: LegReport
    ranking: Ranking | None = None
    early: Scores = NONE_KNOWN
    """The leg's scores of records that other legs found first."""
    error: MemSearchError | None = None


@dataclass(frozen=True, slots=True)
class SparseQuestion:
    """A question for sparse scores. Its vector is made once, however often it is asked for."""

    model: SparseModel
    text: str

    def vector(self) -> bytes:
        """Takes some milliseconds. Raises ModelUnavailable."""
        return self.model.of_question(self.text)


@dataclass(frozen=True, slots=True, eq=False)
class StageData(Generic[T]):
    """Something of the store that stages need, by its identity; ``name`` is for people.

    ``read`` gets it, in the one read before the first stage. ``absent`` is what stages see where
    none that runs declares it.
    """

    name: str
    read: Callable[[RankingInput], T]
    absent: T


@dataclass(frozen=True, slots=True, eq=False)
class StoredData:
    """Data from the store for the stages. ``columns`` have one row for each record of the union."""

    columns: RecordColumns = NO_COLUMNS
    counts: Mapping[str, int] | None = None
    """Kind → records that pass the filters, where the filters alone decide what matches."""
    values: Mapping[StageData[Any], object] = field(default_factory=dict)
    """What the stages declare."""

    def of(self, data: StageData[T]) -> T:
        """The value of ``data``."""
        return cast(T, self.values.get(data, data.absent))


@dataclass(frozen=True, slots=True, eq=False)
class RankingInput:
    """What ``StageData.read`` may look at: the snapshot, the request, and what the legs found.

    ``union`` are the candidates, ``legs`` their exact scores, and ``beyond`` what is found beside
    them. ``stored`` has what was read before; ``depth`` is how many candidates each leg was asked
    for.
    """

    snapshot: SearchSnapshot
    request: SearchRequest
    question: Question
    answers: Sequence[LegAnswer]
    further: Sequence[Ranking]
    depth: int
    expand: Expand
    union: Candidates = NO_CANDIDATES
    stored: StoredData = field(default_factory=StoredData)
    legs: Mapping[str, LegScores] = field(default_factory=dict)
    filters_decide: bool = False
    beyond: Beyond | None = None
    sparse: SparseQuestion | None = None
    """None where sparse vectors are off."""
    traits: RankingTraits = field(default_factory=RankingTraits)

    @property
    def rankings(self) -> list[Ranking]:
        """Those of the legs that answered."""
        return [answer.ranking for answer in self.answers if answer.ranking is not None]

    def having(self, data: StageData[Any]) -> RankingInput:
        """The input with ``data`` read."""
        if data in self.stored.values:
            return self
        values = {**self.stored.values, data: data.read(self)}
        return replace(self, stored=replace(self.stored, values=values))


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
    relevance: Values | None = None
    """The probability that each record is relevant; None where nothing tells it."""
    confidence: Values | None = None
    """The probability that each record answers the question."""
    is_answered: bool = True
    """Whether any of the best records may answer the question."""
    missing: tuple[str, ...] = ()
    """Words of the question that no passage has."""
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
    reads: tuple[StageData[Any], ...] = ()
    """What it needs of the store: it finds each in ``state.stored.of(…)``."""
    after: str = ""
    """Of a package: the stage that it follows; without one it is the last before ``sort``."""

    @property
    def summary(self) -> str:
        """The first line of the docstring of ``apply``."""
        return (self.apply.__doc__ or "").strip().partition("\n")[0]
