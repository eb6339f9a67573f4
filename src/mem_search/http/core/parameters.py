"""The query parameters of searches, in one model that every search route reuses.

A parameter says its place in a ``SearchRequest`` (``model.requests``) where it is called
otherwise there.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError

from mem_search.http.core.parameter_types import (
    FACETS,
    SORT_FIELDS,
    Boosts,
    End,
    Facets,
    FieldNames,
    FieldValues,
    Kinds,
    Platform,
    ReadParts,
    SearchMode,
    Sort,
    Start,
    Stripped,
    Text,
    TimeZone,
    Words,
)
from mem_search.model import Filters, Order, SearchRequest
from mem_search.model.requests import MAX_FACET_VALUES, At, Match, to_request
from mem_search.records.registry import installed_kinds
from mem_search.text.search_fields import FIELDS, PARAMETERS
from mem_search.validation import as_meant

Format = Literal["index", "full", "json"]
ListFormat = Literal["index", "full", "json", "tsv"]
MAX_OFFSET = 10_000
"""The largest offset of a ranked list; a deeper rank costs memory."""
MAX_LIST_OFFSET = 1_000_000_000


MATCH: Final = "any: the more words of the question the better; all: every one has to be there"
SCRATCHPAD: Final = "Also notes in the folder scratchpad; else found where a folder is named"
BUDGET = "max_tokens"


def budget() -> Any:
    """The field of that name, for texts that may be long."""
    return Field(
        default=None,
        ge=50,
        le=100_000,
        description="Most tokens of the reply, as counted here; what does not fit is left out"
        " from the end, and a note says how to go on",
        json_schema_extra=also("maxTokens"),
    )


def also(*words: str) -> Any:
    """Further spellings of a parameter (see ``spellings``)."""
    return {"spellings": list(words)}


def spellings(name: str, field: FieldInfo) -> tuple[str, ...]:
    """All names of a parameter, the preferred one first."""
    extra = field.json_schema_extra
    more = extra.get("spellings", []) if isinstance(extra, dict) else []
    assert isinstance(more, list)
    return (field.alias or name, *(str(word) for word in more))


def _platform() -> Any:
    """The field of that name, as clients of other programs spell it, too."""
    return Field(
        default="",
        alias="platformSource",
        description="The agent's platform",
        json_schema_extra=also("platform_source", "platform"),
    )


class Parameters(BaseModel):
    """Base of all query parameters: an unknown one is an error.

    A validator is built when a request first needs it: the start would wait for all of them.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, populate_by_name=True)


class Body(BaseModel):
    """Base of all JSON bodies: strict types, and an unknown field is an error.

    null leaves out a field that has a default, unless ``null_empties``, and 5.0 is a whole number.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True)
    null_empties: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, sent: Any) -> Any:
        return as_meant(cls, sent, () if cls.null_empties else (None,))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        for name, field in schema.get("properties", {}).items():
            optional = name not in schema.get("required", ()) and not cls.null_empties
            if optional and "anyOf" not in field:
                said = {key: field.pop(key) for key in _ABOUT & set(field)}
                schema["properties"][name] = {"anyOf": [field, {"type": "null"}], **said}
        return schema


_ABOUT: Final = frozenset({"title", "description", "default", "examples"})
"""Of the schema of a field, what tells of it whatever its type."""


class TimeZoneParameters(Parameters):
    """How the reply writes times."""

    tz: TimeZone = Field(
        default=None,
        description="IANA time zone for dates given and shown; the machine's own by default",
    )


class PlatformParameters(Parameters):
    """The records of all platforms, or of one."""

    platform: Platform = _platform()

    def facets(self) -> tuple[tuple[str, str], ...]:
        return (("platform", self.platform),) if self.platform else ()


class FilterParameters(TimeZoneParameters):
    """Filters for records of any kind."""

    project: Annotated[Stripped, At("filters.project")] = Field(
        default="", description="Project by name"
    )
    session: Annotated[Stripped, At("filters.session")] = Field(
        default="", description="Session by its id"
    )
    source: Annotated[Stripped, At("filters.source")] = Field(
        default="", description="Source: claude-code, git, jsonl, …"
    )
    platform: Platform = _platform()
    branch: Text = Field(default="", description="Branch")
    worktree: Text = Field(default="", description="Linked worktree")
    tags: Annotated[Words, At("filters.tags")] = Field(
        default=(), description="Any of these tags", json_schema_extra=also("tag")
    )
    date_start: Annotated[Start, At("filters.created.start")] = Field(
        default=None,
        alias="dateStart",
        description="Not before: ISO, epoch s or ms, or words such as 'last Tuesday'",
        json_schema_extra=also("date_start", "date_from", "since", "dateRange[start]"),
    )
    date_end: Annotated[End, At("filters.created.end")] = Field(
        default=None,
        alias="dateEnd",
        description="Not after; a day includes all of it",
        json_schema_extra=also("date_end", "date_to", "until", "dateRange[end]"),
    )

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        start, end = self.date_start, self.date_end
        if start is not None and end is not None and start > end:
            raise PydanticCustomError("at:dateEnd", "is before the start")
        return self

    def filters(self, kinds: tuple[str, ...] = ()) -> Filters:
        """The filters that these parameters set, and ``kinds``."""
        facets = (("platform", self.platform), ("branch", self.branch), ("worktree", self.worktree))
        return replace(
            to_request(self, SearchRequest()).filters,
            kinds=kinds,
            facets=tuple(filter(itemgetter(1), facets)),
        )


def field_of(name: str, values: Any = FieldValues) -> Any:
    """The parameter ``name`` for the field of the query language that is called so."""
    described = Field(default=None, description=FIELDS[name].removesuffix("."))
    return Annotated[values, At(f"where.{name}")], described


if TYPE_CHECKING:
    FieldParameters = FilterParameters
else:
    FieldParameters = create_model(
        "FieldParameters",
        __base__=FilterParameters,
        **{name: field_of(name) for name in PARAMETERS},
    )


class KindParameters(FieldParameters):
    """A search whose path names the kind, with a parameter for each field of the query language."""

    query: Annotated[Text, At("text")] = Field(
        default="", description="The question", json_schema_extra=also("q")
    )
    format: ListFormat = Field(
        default="index", description="One line a record, whole records, JSON, or a table with tabs"
    )
    scope: Stripped = Field(default="", description="Only records in the scope with this name")
    type: Annotated[Words, At("filters.types")] = Field(
        default=(),
        description="Types of observation: bugfix, feature, decision, …",
        json_schema_extra=also("obs_type"),
    )
    concepts: Annotated[Words, At("filters.concepts")] = Field(
        default=(), description="Any of these concepts", json_schema_extra=also("concept")
    )
    files: Annotated[Words, At("filters.files")] = Field(
        default=(),
        description="Any of these paths, whole or their end; src/ is all below, src/* directly in",
        json_schema_extra=also("filePath", "file"),
    )
    is_folder: bool = Field(
        default=False,
        alias="isFolder",
        description="The paths are folders: what lies directly in them",
        json_schema_extra=also("is_folder"),
    )
    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")
    order: Order | None = Field(
        default=None,
        alias="orderBy",
        description="The order of all that is found",
    )
    sort: Sort = Field(
        default=(),
        description="Instead of orderBy: fields, the first of them first, such as"
        f" kind,-created_at; - is falling. Known are {', '.join(SORT_FIELDS)}",
    )
    include_weaker: bool = Field(
        default=False,
        description="Also matches that answer the question less well",
        json_schema_extra=also("includeWeaker"),
    )
    limit_per_kind: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Most results of one kind",
        json_schema_extra=also("limit_per_type", "limitPerType"),
    )
    snippets: bool = Field(
        default=False,
        description="Show under each title of format=index why the record was found",
    )
    facets: Facets = Field(
        default=(),
        description="Count everything that is found by these facets: " + ", ".join(FACETS),
        json_schema_extra=also("facet"),
    )
    facet_limit: int = Field(
        default=MAX_FACET_VALUES,
        ge=1,
        le=366,
        description="Most values of a facet",
        json_schema_extra=also("facetLimit"),
    )
    fields: FieldNames = Field(
        default=(),
        description="What a result of format=json has beside its ref; everything by default",
        json_schema_extra=also("field"),
    )
    mode: SearchMode = Field(
        default="hybrid",
        description="How to search; semantic means vector",
        json_schema_extra=also("search_type", "searchType"),
    )
    as_words: ReadParts = Field(
        default=(),
        description="What the question names in plain words and is not to be read as a filter:"
        " kind, person, fact, time or all; it is looked for as words",
        json_schema_extra=also("asWords"),
    )
    match: Match = Field(default="any", description=MATCH)
    scratchpad: bool = Field(default=False, description=SCRATCHPAD)
    explain: bool = Field(default=False, description="Explain every score")
    fold: bool = Field(
        default=True, description="Fold near-duplicates into the best of them, which lists them"
    )
    per_session: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Most results of one session before those of others; no limit by default",
        json_schema_extra=also("perSession"),
    )
    boosts: Boosts = Field(
        default=(),
        description="What counts a little besides the question: recency, importance, opened",
        json_schema_extra=also("boost"),
    )
    max_tokens: int | None = budget()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.sort and self.order is not None:
            raise PydanticCustomError("at:sort", "an order was given as well; give only one")
        if self.fields and str(self.format) not in ("json", "csv"):
            raise PydanticCustomError(
                "at:fields",
                "a result of format {name} has no fields to choose; JSON and CSV have",
                {"name": self.format},
            )
        if self.query.strip() and self.offset > MAX_OFFSET:
            raise PydanticCustomError(
                "at:offset",
                "a ranked list ends at result {deepest}; narrow it down with filters",
                {"deepest": MAX_OFFSET},
            )
        return self

    def search(self, kinds: tuple[str, ...] = (), order: Order = "relevance") -> SearchRequest:
        """The search among ``kinds``; in ``order`` unless another one is given."""
        asked_at = datetime.now(self.tz) if self.tz else None
        base = SearchRequest(order="fields" if self.sort else order, asked_at=asked_at)
        request = to_request(self, base)
        return replace(request, filters=self.filters(kinds))

    def filters(self, kinds: tuple[str, ...] = ()) -> Filters:
        """Those of ``FilterParameters``; the paths of folders mean the files directly in them."""
        filters = super().filters(kinds)
        if not self.is_folder:
            return filters
        folders = (path.removesuffix("*").rstrip("/") for path in filters.files)
        return replace(filters, files=tuple(f"{folder}/*" for folder in folders))


class SearchParameters(KindParameters):
    """A search over all kinds, or those in ``types``.

    A word in ``type`` that means a kind (``observations``, ``sessions``) selects it, as
    clients of other programs expect.
    """

    types: Kinds = Field(
        default=(),
        description="Kinds of record: observations, sessions, prompts, notes, …",
        json_schema_extra=also("kinds", "kind"),
    )

    def filters(self, kinds: tuple[str, ...] = ()) -> Filters:
        """As of ``KindParameters``, with the words of ``type`` that are kinds among ``kinds``."""
        named = [(word, installed_kinds().named(word)) for word in self.type]
        kinds = (*self.types, *[kind for _, kind in named if kind], *kinds)
        types = tuple([word for word, kind in named if not kind])
        return replace(super().filters(tuple(dict.fromkeys(kinds))), types=types)


class ListParameters(PlatformParameters):
    """A list, newest first, in pages."""

    project: Text = Field(default="", description="Project by name")
    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")
    max_tokens: int | None = budget()


class RecordParameters(TimeZoneParameters):
    """The format of one record."""

    format: Format = Field(default="json", description="JSON, or the whole record as text")
    max_tokens: int | None = budget()


class Listing(Parameters):
    """A list in pages, the newest first."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")
