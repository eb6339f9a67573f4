"""What a search is asked: the text, the filters, and the options of the answer.

Wire models are mapped to a ``SearchRequest`` and back by name. A field that has the name of one of
its fields stands for it. One that has another name says where it stands:
``content_types: Annotated[…, At("filters.kinds")]``. All other fields of a wire model (formats,
token budgets, webhooks) belong to the surface and are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mem_search.model.records import VARIETIES, Kind

if TYPE_CHECKING:  # the command line does without pydantic
    from pydantic import BaseModel

Mode = Literal["hybrid", "keyword", "vector"]
Order = Literal["relevance", "date_desc", "date_asc"]
SortField = Literal[
    "score", "created_at", "updated_at", "kind", "title", "project", "session", "source",
    "importance", "number", "opened_at",
]  # fmt: skip
"""What results can be sorted by, called as in their JSON."""
Boost = Literal["recency", "importance", "opened"]
Match = Literal["any", "all"]
Source = Literal["local", "web"]
Comparison = Literal["has", "contains", "is", "<", "<=", ">", ">="]
ReadPart = Literal["kind", "person", "fact", "time", "negation", "intent", "relation", "all"]
"""A part of a question in plain words that may be read as a filter."""
ResearchMode = Literal["basic", "deep_research"]
FacetName = Literal[
    "kind", "project", "type", "source", "tag", "author", "domain", "folder", "month", "day"
]
"""What the found records can be counted by."""
MAX_FACET_VALUES = 10
"""Values of a facet that are counted, unless a request asks for another number."""
MAX_OPERATIONS = 10
"""Steps of a research chain, unless a request allows more."""


@dataclass(frozen=True, slots=True)
class DateRange:
    """Milliseconds, both ends included; None is open."""

    start: int | None = None
    end: int | None = None

    def __bool__(self) -> bool:
        return self.start is not None or self.end is not None


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of records. An empty field filters nothing.

    Values of one field are alternatives; all fields have to hold. ``types`` is the type of an
    observation (bugfix, feature, ...). All of ``facets`` must hold, and one of ``any_facets``, both
    as (name, value). ``stored`` is the time when it was stored or last changed. ``demand`` is what
    the query requires explicitly. ``without`` are numbers of records that are left out whatever
    they are. All of ``metadata`` hold; ``url`` is a part of the record's URL.
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
    metadata: tuple[MetadataTest, ...] = ()
    url: str = ""
    demand: Demand | None = None
    without: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Read names of ``VARIETIES`` among the kinds as the kind and the source that they mean.

        It is done here so that no surface, leg or statement can see them otherwise.
        """
        varieties = [each for each in self.kinds if each in VARIETIES] if self.kinds else ()
        if not varieties:
            return
        plain = tuple(each for each in self.kinds if each not in VARIETIES)
        meant = [Filters(kinds=plain)] if plain else []
        for name in varieties:
            kind, source = VARIETIES[name]
            if kind not in plain:
                meant.append(Filters(kinds=(kind,), source=source))
        one, *others = meant
        alone = not others and one.source in ("", self.source or one.source)
        object.__setattr__(self, "kinds", one.kinds if alone else ())
        if alone:
            object.__setattr__(self, "source", self.source or one.source)
        else:
            wanted = Condition(f"kind:{','.join((*plain, *varieties))}", tuple(meant))
            demand = AllOf((self.demand, wanted)) if self.demand is not None else wanted
            object.__setattr__(self, "demand", demand)

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True, slots=True)
class MetadataTest:
    """A value of the metadata passes, under one of ``names`` (dots lead into objects).

    ``has``: it is there and neither empty nor false. ``contains``: the text has ``value`` in it, in
    any case. ``is``: it equals ``value``, where ``*`` stands for any letters. The others compare a
    number, or the moment that a text in ISO form names, with ``bounds``: a number is both bounds,
    a date is its first and its last millisecond. ``days`` are the bounds of a date for a text that
    is a day alone, which is the same day in every time zone, counted as if in UTC.
    """

    names: tuple[str, ...]
    test: Comparison
    value: str = ""
    bounds: tuple[float, float] | None = None
    days: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """A record has these words, next to each other, in its title or any of its passages.

    ``near`` are the store's own words that a prefix, a misspelling or a wildcard stands for; one
    ending in ``*`` stands for all that begin so. The word of a wildcard is its pattern
    (``au*tion``). With ``column`` only the title or only the text counts.
    """

    words: tuple[str, ...]
    form: Literal["exact", "prefix", "fuzzy", "wildcard"] = "exact"
    near: tuple[str, ...] = ()
    column: Literal["", "title", "text"] = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A record passes one of these filters; ``text`` is how the query language writes it."""

    text: str
    any_of: tuple[Filters, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A record does not meet ``of``."""

    of: Demand


@dataclass(frozen=True, slots=True)
class AllOf:
    """A record meets all of ``of``."""

    of: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A record meets at least one of ``of``."""

    of: tuple[Demand, ...]


Demand = Term | Condition | Not | AllOf | AnyOf
"""A requirement of the query language on a whole record, in any of its passages."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A filter with a name; ``filter`` is written in the query language."""

    name: str
    filter: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ResultTexts:
    """Which parts of a record's text the results contain.

    ``snippet_length`` is the most characters of a snippet; None is the usual length.
    """

    snippets: bool = True
    snippet_length: int | None = None
    full_content: bool = False


@dataclass(frozen=True, slots=True)
class ResearchPlacement:
    """The place of a search in a research chain. In ``basic`` mode it is not a step.

    Without ``session_id`` a step belongs to the session of its parent, or to a new one.
    ``max_operations`` is the longest chain that the step may end.
    """

    mode: ResearchMode = "basic"
    session_id: str = ""
    parent_operation_id: str = ""
    max_operations: int = MAX_OPERATIONS


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Options of following links: ``depth`` (1 to 5) steps from the best ``seeds`` results."""

    depth: int = 2
    seeds: int = 10


@dataclass(frozen=True, slots=True)
class RrfOptions:
    """Weighted reciprocal rank fusion with weights of the caller.

    ``weights`` is leg (keyword, vector, graph) → weight; a leg with 0 or without one is left out.
    ``k`` is the constant of the fusion: 60 is the authors' choice, smaller favours the first
    places, larger evens the legs out. Results below ``min_score`` (0 to 1) are dropped. Without
    ``graph`` no links are followed.
    """

    weights: Mapping[str, float]
    k: int = 60
    min_score: float = 0.0
    graph: GraphOptions | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search: every surface (HTTP, CLI, MCP, research) makes one and gets a ``SearchPage``.

    ``text`` may use the query language (docs/query-language.md). ``scope`` is the name of a saved
    filter; ``where`` are fields of the query language beside the text (``Fields.asked``);
    ``as_words`` are the parts of the text that are looked for as words and not read as filters;
    ``translated`` are the fields that a language model read in it (``search.translation``);
    ``folder`` narrows notes and ``domain`` narrows websites, records of other kinds pass;
    ``scratchpad`` finds notes in the scratchpad, too, as a request does that names a folder.
    ``match`` all demands every word of the text.
    ``asked_at`` is the moment of the search in the caller's time zone: ``before:yesterday`` counts
    from there. ``explain`` adds each leg's share to every score (``explain``). ``fold`` puts
    near-duplicates under the best of them. After ``per_session`` results of one session those of
    others come; None is no bound. ``boosts`` add a little to the score beside the question.
    ``fusion`` None is the measured default; ``mode``, ``boosts``, ``fold`` and ``per_session``
    belong to that default alone. With ``neighbours`` a result tells where its passage stands, and
    the span of that many passages on either side. ``order`` sorts the whole relevant set, which
    is what the question finds; where it is ``fields``, by those of ``sort``, the first of them
    first; ``-created_at`` is the newest first, and what has no value comes last.
    ``include_weaker`` adds the other matches to it. There are at most
    ``limit_per_kind`` results of one kind; None is no bound. The whole set is counted by
    ``facets``, each with its ``facet_limit`` most frequent values. With ``web`` among its
    ``sources`` the surface asks a web search, too; the pipeline searches the store alone.

    A field is declared here and in the wire models that expose it; ``to_request`` maps
    it by name, and research stores it without further code.
    """

    text: str = ""
    filters: Filters = Filters()
    mode: Mode = "hybrid"
    fusion: RrfOptions | None = None
    order: Order | Literal["fields"] = "relevance"
    sort: tuple[str, ...] = ()
    limit: int = 20
    offset: int = 0
    asked_at: datetime | None = None
    explain: bool = False
    fold: bool = True
    include_weaker: bool = False
    limit_per_kind: int | None = None
    facets: tuple[FacetName, ...] = ()
    facet_limit: int = MAX_FACET_VALUES
    per_session: int | None = None
    boosts: tuple[Boost, ...] = ()
    scope: str = ""
    folder: str = ""
    domain: str = ""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    as_words: tuple[ReadPart, ...] = ()
    translated: tuple[str, ...] = ()
    scratchpad: bool = False
    match: Match = "any"
    neighbours: int | None = None
    texts: ResultTexts = ResultTexts()
    sources: tuple[Source, ...] = ("local",)
    research: ResearchPlacement = ResearchPlacement()

    @property
    def is_research(self) -> bool:
        """Whether it is a step of a research chain.

        A step is answered exactly (no approximate index takes part, so that a replay gives the
        same results) and its results are annotated.
        """
        return self.research.mode == "deep_research"


_NAMES = frozenset(each.name for each in fields(SearchRequest))
T = TypeVar("T")


@dataclass(frozen=True)
class At:
    """The place of a wire field in a ``SearchRequest``, as a dotted path; "" maps it to nothing.
    ``values`` maps wire values to values of the request.
    """

    path: str
    values: Mapping[str, str] = field(default_factory=dict)


def to_request(wire: BaseModel, base: SearchRequest) -> SearchRequest:
    """``base`` with the values of ``wire``; None leaves the value of ``base``."""
    changes: dict[str, Any] = {}
    for name, place in _places(type(wire)).items():
        value = getattr(wire, name)
        if value is None:
            continue
        if isinstance(value, list | tuple):
            value = tuple(dict.fromkeys(value))
        elif place.values:
            value = place.values.get(value, value)
        *parents, last = place.path.split(".")
        branch = changes
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[last] = value
    return _changed(base, changes)


def to_wire(model: type[BaseModel], request: SearchRequest) -> dict[str, Any]:
    """``request`` as a body of ``model``: plain values, null for what is empty."""
    places = _places(model)
    values: dict[str, Any] = {}
    for name, place in places.items():
        *parents, last = place.path.split(".")
        holder = attrgetter(".".join(parents))(request) if parents else request
        value = holder.get(last, ()) if isinstance(holder, Mapping) else getattr(holder, last)
        for word, meaning in place.values.items():
            value = word if value == meaning else value
        value = list(value) if isinstance(value, tuple) else value
        is_empty = value in ("", []) and model.model_fields[name].default is None
        values[name] = None if is_empty else value
    return model.model_construct(**values).model_dump(mode="json", include=set(places))


@cache
def _places(model: type[BaseModel]) -> dict[str, At]:
    """The fields of ``model`` that stand for a part of a request, with where."""
    by_field: dict[str, At] = {}
    for name, info in model.model_fields.items():
        places = [each for each in info.metadata if isinstance(each, At)]
        if places and places[-1].path:
            by_field[name] = places[-1]
        elif not places and name in _NAMES:
            by_field[name] = At(name)
    return by_field


def _changed(target: T, changes: Mapping[str, Any]) -> T:
    """The frozen value with other fields, also in its parts; a mapping with other values."""
    if isinstance(target, Mapping):
        return {**target, **changes}  # type: ignore[return-value]
    values = {
        name: _changed(getattr(target, name), change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return replace(target, **values)  # type: ignore[type-var]
