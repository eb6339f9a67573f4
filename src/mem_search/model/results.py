"""Search results: hits, results and pages, how the search was done, what research stores of it, and
what a web search found beside the records.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mem_search.model.graph import KnowledgeGraph
from mem_search.model.records import Record, Ref
from mem_search.model.requests import DateRange, FacetName, Filters, Mode, ReadPart, SearchRequest

if TYPE_CHECKING:
    from mem_search.model.rankings import PassageContext, PassageSpan


NO_SCORES: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Snippet:
    """``record.text[start:end]``, exactly; ``heading`` is the path of headings above it."""

    text: str
    start: int
    end: int
    page: int | None = None
    heading: str = ""


NEAREST_SHOWN: Final = "; the nearest are shown"
"""How the notice ends that the store has no answer."""


class Hit(NamedTuple):
    """A record that matched, with the reason: raw and fused scores by name.

    ``relevance`` and ``confidence`` are as in ``Result``.
    ``similar`` are near-duplicates, of its kind, without a place of their own. A tuple, because
    a search makes hundreds of hits to show twenty.
    """

    number: int
    score: float
    scores: Mapping[str, float] = NO_SCORES
    passage: int | None = None
    similar: tuple[int, ...] = ()
    relevance: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A hit with its record. ``similar`` are the near-duplicates that are folded under it.

    ``relevance`` is the probability that it is relevant, ``confidence`` that it answers the
    question: the same for this record and question whatever else is found. None where nothing tells
    them, as where filters alone decide.
    ``passages`` are all its passages in order, where the request has annotations; ``context`` is
    where the passage that matched stands, where the request has ``neighbours``.
    """

    record: Record
    score: float
    snippet: Snippet
    scores: Mapping[str, float] = field(default_factory=dict)
    similar: tuple[Ref, ...] = ()
    passages: tuple[PassageSpan, ...] = ()
    context: PassageContext | None = None
    relevance: float | None = None
    confidence: float | None = None

    @property
    def found_on(self) -> int | None:
        """The page of what was found, of a document with several."""
        return self.snippet.page if self.record.metadata.get("pages") != 1 else None


@dataclass(frozen=True, slots=True)
class LegReport:
    """The state, count and time of one leg. ``state`` is ok, off, degraded or failed."""

    name: str
    state: Literal["ok", "off", "degraded", "failed"]
    count: int = 0
    ms: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A time that the question names in plain words, and its use: what is from that time is raised
    (``lift``); or the question asks for nothing else and finds just that (``filter``). ``read_as``
    is the range for people, in the time zone of the caller: ``Nov 9-15``; ``ahead`` of the question
    is a time that is still to come.
    """

    phrase: str
    range: DateRange
    use: Literal["lift", "filter"] = "lift"
    read_as: str = ""
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class FoundFilter:
    """A kind, a person or a fact that the question names in plain words, as ``filter`` of the query
    language. Records that pass are raised (``lift``), or only they are found (``filter``).
    """

    phrase: str
    filter: str
    part: ReadPart
    use: Literal["lift", "filter"]


@dataclass(frozen=True, slots=True)
class Analyzed:
    """How the text of a query was parsed. ``text`` is embedded. ``demanded`` is what every result
    must meet, in the query language; ``filters`` and ``excluded`` are the parts of it that are
    fields or negated. ``question`` is the text without fields that hold for all of it; None where
    it has no such fields.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    demanded: str = ""
    filters: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    near: tuple[tuple[str, tuple[str, ...]], ...] = ()
    dates: tuple[FoundDate, ...] = ()
    readings: tuple[FoundFilter, ...] = ()
    operators: tuple[str, ...] = ()
    alone: str = ""
    question: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchReport:
    """How the search was really done: every reply carries it.

    ``coverage`` is the share of passages that the vector index has, ``index_age_s`` for how many
    seconds the oldest of the others has been waiting, 0 when it has all. ``suggestions`` are
    corrected queries, where little was found. ``stage_ms`` is stage of the ranking → milliseconds.
    ``stale_s``: a replica of the store answered, which may lack what was stored in the last so many
    seconds; None where the store itself did. Not ``answerable``: no record answers the question;
    the page has the nearest few. ``missing`` are words of the question that no record has.
    """

    requested: Mode
    realised: Literal["hybrid", "keyword", "vector", "filter"]
    legs: tuple[LegReport, ...] = ()
    coverage: float = 1.0
    index_age_s: float = 0.0
    took_ms: float = 0.0
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    analyzed: Analyzed = Analyzed()
    suggestions: tuple[str, ...] = ()
    stale_s: float | None = None
    answerable: bool = True
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """Values of a facet with how many of the found records have each, most frequent first.

    ``distinct`` is how many values there are in all.
    """

    values: tuple[tuple[str, int], ...] = ()
    distinct: int = 0


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The results in the requested order, how many there are, and how the search was done.

    ``total`` counts the relevant set, ``counts`` the same by kind. ``weaker`` is how many other
    records share a word with the question; no page has them unless the request includes them.
    ``folded`` of the total are listed under a near-duplicate. ``graph`` is there where the request
    follows links. ``facets`` count the relevant set by each facet that the request names.
    ``filters`` are those of the request with what its text demands.
    """

    request: SearchRequest
    results: tuple[Result, ...]
    total: int
    counts: Mapping[str, int]
    report: SearchReport
    folded: int = 0
    weaker: int = 0
    graph: KnowledgeGraph | None = None
    facets: Mapping[FacetName, FacetCounts] = field(default_factory=dict)
    filters: Filters = Filters()  # noqa: RUF009 - frozen

    @property
    def relevant(self) -> tuple[Result, ...]:
        """The results; none where they are only the nearest to a question without an answer."""
        return self.results if self.report.answerable else ()


OperationType = Literal["search", "fetch", "refine"]


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One result of an operation; ``digest`` is the content hash of the record then, in hex."""

    ref: str
    digest: str
    relevance: float


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of store and index that results depend on.

    ``revision`` counts changes of records and scopes; ``passages`` and ``waiting`` count passages,
    all and those without an index entry; ``embedder`` is the fingerprint of the space, ``version``
    that of mem-search.
    """

    revision: int
    passages: int
    waiting: int
    embedder: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step of a research session. ``request`` holds every field, so that it can be replayed.

    ``redacted``: the query contained a secret, which was not kept.
    """

    id: str
    session_id: str
    parent_id: str | None
    type: OperationType
    query: str
    mode: str = "deep_research"
    content_types: tuple[str, ...]
    request: Mapping[str, Any]
    redacted: bool = False
    results: tuple[StoredResult, ...]
    total_count: int
    took_ms: float
    report: Mapping[str, Any] = field(default_factory=dict)
    index_state: IndexState
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A summary of the operations that share a ``session_id``."""

    id: str
    operations: int
    first_query: str
    started_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations to list; an empty field matches any."""

    session_id: str = ""
    type: str = ""
    since: int | None = None
    until: int | None = None


WebState = Literal["ok", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result: texts on one line, without markup. ``published`` is as the provider writes it."""

    url: str
    title: str
    snippet: str = ""
    published: str = ""
    caution: bool = False
    """Whether it reads like instructions to an agent."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """``detail`` says why there is nothing, or what was left out. ``query`` is what was sent."""

    provider: str
    state: WebState = "ok"
    detail: str = ""
    query: str = ""
    results: tuple[WebResult, ...] = ()
    took_ms: float = 0.0

    @property
    def notice(self) -> str:
        """``state`` and ``detail`` in words; "" where all went well."""
        if self.state == "ok":
            return self.detail and f"the web search left something out: {self.detail}"
        did = "sent nothing" if self.state == "refused" else "gave nothing"
        return f"the web search {did}: {self.detail}"
