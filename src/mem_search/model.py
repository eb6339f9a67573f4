"""The nouns of mem-search as frozen values: no I/O, no behaviour beyond their own identity.

Stages of the pipeline hand these to each other and know nothing else of one another.
Times are integers: milliseconds since 1970-01-01T00:00:00Z. The glossary is docs/glossary.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from mem_search.errors import InputError

Kind = Literal[
    "observation", "session_summary", "user_prompt", "note", "website",
    "file", "conversation", "memory", "email", "report",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Mode = Literal["hybrid", "keyword", "vector"]
Order = Literal["relevance", "date_desc", "date_asc"]
Boost = Literal["recency", "importance"]

NO_SCORES: Final[Mapping[str, float]] = MappingProxyType({})
_REF = re.compile(r"(?:local:)?([a-z_]+):([0-9]{1,18})")


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The name of a stored record: ``observation:42``. Numbers never collide between kinds."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"

    @classmethod
    def parse(cls, text: str, field: str = "ref") -> Self:
        """Read ``kind:number`` or ``local:kind:number``; else raise InputError naming ``field``."""
        match = _REF.fullmatch(text.strip())
        if match is None:
            raise InputError(
                f"{text!r} is not a ref; write kind:number, such as observation:42", field=field
            )
        if match[1] not in KINDS:
            raise InputError(
                f"{text!r} is not a ref: no kind of record is called {match[1]!r}; "
                f"known are {', '.join(KINDS)}",
                field=field,
            )
        return cls(match[1], int(match[2]))


@dataclass(frozen=True, slots=True)
class Link:
    """A pointer from one record to another: ``to`` is a ref, a source id or a URL."""

    to: str
    relation: str = "related"


@dataclass(frozen=True, slots=True)
class Draft:
    """A record that is not stored yet. ``(source, source_id)`` is its identity for ever;
    where another kind has it already, the kind joins it (``storage/sqlite/identities.py``).

    ``text`` is the canonical text: passages and citations are spans of it. ``session`` names
    the conversation the record belongs to, and drafts of one session arrive in its order.
    ``metadata`` holds what only this kind has (see ``records/``).
    """

    kind: Kind
    source: str
    source_id: str
    text: str
    title: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    project: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    url: str = ""
    importance: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A stored draft: it has a number, times, a place in its session, perhaps a successor."""

    number: int
    kind: Kind
    source: str
    source_id: str
    title: str
    text: str
    created_at: int
    updated_at: int
    project: str = ""
    session: str = ""
    position: int = 0
    tags: tuple[str, ...] = ()
    url: str = ""
    importance: float | None = None
    archived: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    superseded_by: Ref | None = None
    supersedes: tuple[Ref, ...] = ()

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.number)


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a record comes from: seed 000's ``CitationMetadata``. ``source_id`` is the ref.

    Only what the record itself says: what it does not know is empty or None. Times are
    milliseconds; ``accessed_at`` is when somebody last looked at it.
    """

    source_id: str
    source_type: Kind
    source_title: str
    url: str = ""
    author: str = ""
    published_at: int | None = None
    created_at: int | None = None
    accessed_at: int | None = None
    folder: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """The piece of a record that is indexed: ``record.text[start:end]`` of one ``field``."""

    ordinal: int
    start: int
    end: int
    field: str = "content"
    page: int | None = None


@dataclass(frozen=True, slots=True)
class DateRange:
    """Milliseconds, both ends included; None is open."""

    start: int | None = None
    end: int | None = None

    def __bool__(self) -> bool:
        return self.start is not None or self.end is not None


@dataclass(frozen=True, slots=True)
class Filters:
    """What a record must be, beside matching the words. Empty means anything.

    Values inside one tuple are alternatives; different fields all have to hold.
    ``types`` is the type of an observation (bugfix, feature, ...). All of ``facets`` must hold,
    and one of ``any_facets``, both as (name, value). ``stored`` is when it came into the store,
    or changed there. ``demand`` is what the text of the query asks for explicitly. ``without``
    are numbers of records that are left out whatever they are.
    """

    kinds: tuple[Kind, ...] = ()
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    project: str = ""
    session: str = ""
    source: str = ""
    created: DateRange = DateRange()
    updated: DateRange = DateRange()
    stored: DateRange = DateRange()
    importance: float | None = None
    archived: bool | None = None
    superseded: bool | None = None
    facets: tuple[tuple[str, str], ...] = ()
    any_facets: tuple[tuple[str, str], ...] = ()
    demand: Demand | None = None
    without: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True, slots=True)
class Term:
    """A record has these words, next to each other, in its title or any of its passages.

    ``near`` are the store's own words that a prefix or a misspelling stands for; one ending in
    ``*`` stands for all that begin so.
    """

    words: tuple[str, ...]
    form: Literal["exact", "prefix", "fuzzy"] = "exact"
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A record passes one of these filters; ``text`` is how the query language writes it."""

    text: str
    any_of: tuple[Filters, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A record is none of that."""

    of: Demand


@dataclass(frozen=True, slots=True)
class AllOf:
    """A record is all of that."""

    of: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A record is at least one of that."""

    of: tuple[Demand, ...]


Demand = Term | Condition | Not | AllOf | AnyOf
"""What the query language demands of a record as a whole, in whatever passage."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One search: HTTP, CLI and MCP all hand over this.

    ``text`` may use the query language (docs/query-language.md). ``asked_at`` is the moment of
    asking in the caller's time zone: ``before:yesterday`` counts from there.
    ``explain`` adds to every hit what each leg's share in its score was (``fusion.explain``).
    ``fold`` puts near-duplicates under the best of them. After ``per_session`` results of one
    session those of others come; None is no bound. ``boosts`` count a little beside the question.
    ``snippet_length`` is the most characters of a snippet; None is the usual. ``exact`` takes more
    time for an answer that the same store gives again, whatever became of the vector index.
    """

    text: str = ""
    filters: Filters = Filters()
    mode: Mode = "hybrid"
    order: Order = "relevance"
    limit: int = 20
    offset: int = 0
    asked_at: datetime | None = None
    explain: bool = False
    fold: bool = True
    per_session: int | None = None
    boosts: tuple[Boost, ...] = ()
    snippet_length: int | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """``record.text[start:end]``, exactly."""

    text: str
    start: int
    end: int
    page: int | None = None


class Hit(NamedTuple):
    """A record that matched, with the reason: raw and fused scores by name.

    ``similar`` are near-duplicates, of its kind, without a place of their own. A tuple, because
    a search makes hundreds of hits to show twenty.
    """

    number: int
    score: float
    scores: Mapping[str, float] = NO_SCORES
    passage: int | None = None
    similar: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """A hit with its record. ``similar`` are the near-duplicates that are folded under it."""

    record: Record
    score: float
    snippet: Snippet
    scores: Mapping[str, float] = field(default_factory=dict)
    similar: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class LegReport:
    """How one retriever did its part. ``state`` is ok, off, degraded or failed."""

    name: str
    state: Literal["ok", "off", "degraded", "failed"]
    count: int = 0
    ms: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date that the question names in plain words: reported, not applied as a filter."""

    phrase: str
    range: DateRange


@dataclass(frozen=True, slots=True)
class Analyzed:
    """How the text of a query was read.

    ``text`` is what is looked for by meaning. ``demanded`` is what every result must be, as the
    query language writes it; ``filters`` and ``excluded`` are the parts of it that are fields
    or negated.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    demanded: str = ""
    filters: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    near: tuple[tuple[str, tuple[str, ...]], ...] = ()
    dates: tuple[FoundDate, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchReport:
    """How the search was really done: every reply carries it.

    ``coverage`` is the share of passages that the vector index has, ``index_age_s`` for how many
    seconds the oldest of the others has been waiting, 0 when it has all. ``suggestions`` are
    whole questions that were perhaps meant, where little was found.
    """

    requested: Mode
    realised: Literal["hybrid", "keyword", "vector", "filter"]
    legs: tuple[LegReport, ...] = ()
    coverage: float = 1.0
    index_age_s: float = 0.0
    took_ms: float = 0.0
    notices: tuple[str, ...] = ()
    analyzed: Analyzed = Analyzed()
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """Results in the asked order, the true total, and how it was done.

    ``folded`` of all that match have no place on any page: a near-duplicate names them.
    """

    query: SearchQuery
    results: tuple[Result, ...]
    total: int
    counts: Mapping[str, int]
    report: SearchReport
    folded: int = 0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What became of one item (a path, a row, a line) that a source saw."""

    item: str
    outcome: Literal["taken", "left", "failed", "deleted"]
    reason: str = ""
    records: int = 0


@dataclass(frozen=True, slots=True)
class Location:
    """A place a source can read: ``claude-mem`` at ``~/.claude-mem/claude-mem.db``."""

    source: str
    path: str
    label: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """A step of reading a location, stored in one transaction together with ``cursor``.

    ``done``/``total`` are the progress after this batch in the source's own unit (bytes,
    rows, commits). ``deletions`` are source ids that are gone from the location.

    In the ledger, ``outdated`` are items of which nothing said earlier holds, nor of what lies in
    them (``name:7`` in ``name``); an empty one is the whole location. ``places`` are the items
    that drafts were read from, one for each, where their source ids would tell nobody. ``item``
    is what the drafts are called together: then how many were taken is counted as they are
    stored, and ``ledger`` does not say it.
    """

    drafts: tuple[Draft, ...] = ()
    deletions: tuple[str, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    cursor: Mapping[str, Any] = field(default_factory=dict)
    done: int = 0
    total: int = 0
    outdated: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    item: str = ""
