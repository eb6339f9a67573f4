"""The bodies of ``/api/v1``: every field with its default, its range and its place in a request.

Every fault names its field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails

from mem_search.errors import InputError
from mem_search.http.core.parameter_types import (
    FACETS,
    MAX_VALUE_CHARS,
    REF_PATTERN,
    SORT_FIELDS,
    FieldList,
    IdOfRecord,
    Stripped,
    facet_name,
    fault_at,
    faults_of,
    field_name,
    kinds_named,
    sort_key,
)
from mem_search.http.core.parameters import MATCH, MAX_OFFSET, SCRATCHPAD, Body, field_of
from mem_search.model import Boost, FacetName, ReadPart, ResultTexts, RrfOptions, SearchRequest
from mem_search.model.requests import (
    MAX_FACET_VALUES,
    MAX_OPERATIONS,
    At,
    Match,
    ResearchMode,
    Source,
    to_request,
    to_wire,
)
from mem_search.records.registry import PERSONAL, installed_kinds
from mem_search.renderers.universal import SOME_FIELDS
from mem_search.search.citations import SNIPPET_LENGTH
from mem_search.search.stored_requests import load
from mem_search.text import dates
from mem_search.text.search_fields import FIELDS
from mem_search.validation import clock_of, moment, not_blank

MAX_ID_CHARS = 200
MAX_URL_CHARS = 2000
MAX_CHAIN_STEPS = 100
RANGES = (("created_after", "created_before"), ("updated_after", "updated_before"))

BASE = SearchRequest(
    fold=False,  # paging to the total, and saved searches, need every match
    texts=ResultTexts(snippet_length=SNIPPET_LENGTH),
)
"""The defaults of ``/api/v1``."""

ONLY_IN_BACKGROUND: JsonDict = {
    "if": {"required": ["webhook_url"], "properties": {"webhook_url": {"type": "string"}}},
    "then": {"required": ["background"], "properties": {"background": {"const": True}}},
}


Query = Annotated[
    str,
    Field(max_length=MAX_VALUE_CHARS),
    AfterValidator(not_blank),
    WithJsonSchema(
        {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARS, "pattern": r"\S"}
    ),
    At("text"),
]


def _kind(word: str) -> str:
    kinds_named(word)  # raises for what is none
    return word


def _kinds(words: list[str] | None) -> list[str] | None:
    return None if words is None else list(installed_kinds().all_named(words))


_KIND: Final[JsonDict] = {"type": "string", "enum": [*installed_kinds().names, PERSONAL]}
ContentTypes = Annotated[
    list[Annotated[str, AfterValidator(_kind)]] | None,
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
    AfterValidator(_kinds),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _KIND}, _KIND, {"type": "null"}]}),
    At("filters.kinds"),
]
SearchType = Annotated[Literal["keyword", "semantic", "hybrid"], At("mode", {"semantic": "vector"})]
_DATE: Final = WithJsonSchema(
    {"anyOf": [{"type": "string", "format": each} for each in ("date-time", "date")]}
)
Start = Annotated[int, BeforeValidator(moment), PlainSerializer(dates.iso, return_type=str), _DATE]
End = Annotated[
    int,
    BeforeValidator(partial(moment, end=True)),
    PlainSerializer(dates.iso, return_type=str),
    _DATE,
]
"""Milliseconds since 1970; a day that ends a range counts whole."""
Share = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[str, Field(max_length=MAX_ID_CHARS)]
Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]
SnippetLength = Annotated[int, Field(ge=1, le=2000)]
FacetLimit = Annotated[int, Field(ge=1, le=366)]
Facet = Annotated[FacetName, BeforeValidator(facet_name)]
SortKey = Annotated[
    str,
    BeforeValidator(sort_key),
    WithJsonSchema({"type": "string", "pattern": f"^-?({'|'.join(SORT_FIELDS)})$"}),
]
ItemField = Annotated[
    str,
    BeforeValidator(partial(field_name, SOME_FIELDS.names)),
    WithJsonSchema({"type": "string", "enum": [*SOME_FIELDS.names]}),
]
Steps = Annotated[int, Field(ge=1, le=MAX_CHAIN_STEPS)]


_OWN = ("kind", "folder", "domain", "scope")
"""Fields that a body names otherwise, or that it means otherwise."""

if TYPE_CHECKING:
    FieldBody = Body
else:
    FieldBody = create_model(
        "FieldBody",
        __base__=Body,
        **{name: field_of(name, FieldList) for name in FIELDS if name not in _OWN},
    )


class UniversalSearchRequest(FieldBody):
    """A search over everything that is stored."""

    model_config = ConfigDict(json_schema_extra=ONLY_IN_BACKGROUND)

    query: Query = Field(
        description="The question; may use the query language", examples=["rate limit tag:work"]
    )
    content_types: ContentTypes = Field(
        default=None,
        description="Kinds of record to search; all of them when left out or empty. personal is"
        " what a person keeps: notes, websites, files, conversations and memories",
    )
    mode: Annotated[ResearchMode, At("research.mode")] = Field(
        default="basic",
        description="deep_research adds annotations and stores a step of a research chain; by"
        " default it also searches by meaning and returns full content",
    )
    search_type: SearchType = Field(
        default="keyword", description="By words, by meaning, or both; hybrid in deep_research"
    )
    limit: Limit = Field(default=50, description="How many at most")
    offset: Offset = Field(default=0, description="How many to skip")
    created_after: Annotated[Start | None, At("filters.created.start")] = Field(
        default=None, description="Not created before (RFC 3339, or a day)"
    )
    created_before: Annotated[End | None, At("filters.created.end")] = Field(
        default=None, description="Not created after (RFC 3339, or a day)"
    )
    updated_after: Annotated[Start | None, At("filters.updated.start")] = Field(
        default=None, description="Not updated before (RFC 3339, or a day)"
    )
    updated_before: Annotated[End | None, At("filters.updated.end")] = Field(
        default=None, description="Not updated after (RFC 3339, or a day)"
    )
    folder: Stripped | None = Field(default=None, description="Of notes, only those in this folder")
    domain: Stripped | None = Field(
        default=None, description="Of websites, only those of this domain"
    )
    archived: Annotated[bool | None, At("filters.archived")] = Field(
        default=None,
        description="true: only archived records; false: only others; both when left out",
    )
    include_snippets: Annotated[bool, At("texts.snippets")] = Field(
        default=True, description="Whether results have a snippet"
    )
    snippet_length: Annotated[SnippetLength, At("texts.snippet_length")] = Field(
        default=SNIPPET_LENGTH, description="Most characters of a snippet"
    )
    full_content: Annotated[bool, At("texts.full_content")] = Field(
        default=False, description="Whether results have their whole text; true in deep_research"
    )
    session_id: Annotated[Id | None, At("research.session_id")] = Field(
        default=None, description="Groups the searches of a chain"
    )
    parent_operation_id: Annotated[Id | None, At("research.parent_operation_id")] = Field(
        default=None, description="The operation that this search follows"
    )
    max_operations: Annotated[Steps, At("research.max_operations")] = Field(
        default=MAX_OPERATIONS, description="Longest chain"
    )
    background: bool = Field(default=False, description="Answer with a job instead of results")
    webhook_url: Annotated[str, Field(max_length=MAX_URL_CHARS)] | None = Field(
        default=None, description="Called when the background job has ended"
    )
    scope: Stripped | None = Field(
        default=None, description="Only records in the scope with this name"
    )
    boosts: list[Boost] | None = Field(
        default=None, description="Small bonuses for recency, importance, or what was opened lately"
    )
    match: Match = Field(default="any", description=MATCH)
    scratchpad: bool = Field(default=False, description=SCRATCHPAD)
    alpha: Share | None = Field(
        default=None,
        description="Of a hybrid search: how much the meaning counts, from 0, words alone, to 1,"
        " meaning alone; by default as measured",
    )

    as_words: list[ReadPart] | None = Field(
        default=None,
        description="What the question names in plain words and is looked for as words: a kind, a"
        " person, a fact such as an amount, a time, or all",
    )
    facets: list[Facet] | None = Field(
        default=None,
        max_length=len(FACETS),
        description="Count everything that is found by these facets",
    )
    facet_limit: FacetLimit = Field(default=MAX_FACET_VALUES, description="Most values of a facet")
    sort: list[SortKey] | None = Field(
        default=None,
        max_length=len(SORT_FIELDS),
        description="Fields to sort by, the first of them first; - is falling; by relevance when"
        " left out",
        examples=[["kind", "-created_at"]],
    )
    sources: list[Source] = Field(
        default=["local"],
        min_length=1,
        description="local, web: also a web search, where a setting names one; nothing of that is"
        " stored",
    )
    fields: list[ItemField] | None = Field(
        default=None,
        max_length=len(SOME_FIELDS.names),
        description="What an item has beside its id; everything when left out or empty",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fits_together(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Check rules over several fields; report them together with faults of single ones."""
        rules = list(_contradictions(value, info)) if isinstance(value, Mapping) else []
        try:
            body = handler(value)
        except ValidationError as error:
            rules = [*faults_of(error), *rules]
        else:
            if not rules:
                return body
        raise ValidationError.from_exception_data(cls.__name__, rules)

    def request(self, asked_at: datetime | None = None) -> SearchRequest:
        """The search; ``deep_research`` has other defaults."""
        order: Literal["fields", "relevance"] = "fields" if self.sort else "relevance"
        request = to_request(self, replace(BASE, asked_at=asked_at, order=order))
        if request.is_research and "search_type" not in self.model_fields_set:
            request = replace(request, mode="hybrid")
        if self.alpha is not None:
            weights = {"keyword": 1 - self.alpha, "vector": self.alpha}
            request = replace(request, fusion=RrfOptions(weights))
        if request.is_research and "full_content" not in self.model_fields_set:
            request = replace(request, texts=replace(request.texts, full_content=True))
        return request


def request_body(stored: Mapping[str, Any]) -> dict[str, Any] | None:
    """A stored search (``research.requests``) as a body that can be sent again; None of none."""
    if "search" not in stored:
        return None
    request = load(stored)
    alpha = request.fusion.weights.get("vector") if request.fusion else None
    return {**to_wire(UniversalSearchRequest, request), "alpha": alpha}


class McpSearchRequest(Body):
    """A search for research agents: by words and meaning, with short results."""

    query: Query = Field(
        description="The question; may use the query language", examples=["how is the rate limited"]
    )
    content_types: ContentTypes = Field(
        default=None,
        description="Kinds of record to search; all of them when left out or empty. personal is"
        " what a person keeps: notes, websites, files, conversations and memories",
    )
    limit: Limit = Field(default=20, description="How many at most")

    def request(self, asked_at: datetime | None = None) -> SearchRequest:
        """The search."""
        return to_request(self, replace(BASE, mode="hybrid", asked_at=asked_at))


class McpFetchRequest(Body):
    """One whole record."""

    id: Annotated[IdOfRecord, WithJsonSchema({"type": "string", "pattern": REF_PATTERN})] = Field(
        description="As a search returns it: local:note:42, or note:42", examples=["local:note:42"]
    )
    session_id: Id | None = Field(default=None, description="Keep it as a step of this session")
    parent_operation_id: Id | None = Field(
        default=None, description="The operation that this step follows"
    )
    max_operations: Steps = Field(default=MAX_OPERATIONS, description="Longest chain")


def _contradictions(value: Mapping[str, Any], info: ValidationInfo) -> Iterator[InitErrorDetails]:
    """Checks the raw body, so that a fault in another field does not hide these."""
    _, tz = clock_of(info)
    for after, before in RANGES:
        with suppress(InputError, AttributeError):  # what is no date, and what is no text
            start, _ = dates.read_moment(cast(str, value.get(after)), tz)
            end, _ = dates.read_moment(cast(str, value.get(before)), tz, end=True)
            if start > end:
                yield fault_at(before, f"is before {after}", value[before])
    if value.get("alpha") is not None:
        usual = "hybrid" if value.get("mode") == "deep_research" else "keyword"
        if (value.get("search_type") or usual) != "hybrid":
            message = "weighs words against meaning; set search_type to hybrid"
            yield fault_at("alpha", message, value["alpha"])
        if value.get("boosts"):
            message = "are added to the measured score; leave out alpha"
            yield fault_at("boosts", message, value["boosts"])
    if value.get("webhook_url") is not None and value.get("background") is not True:
        message = "is called when a background job ends; set background to true"
        yield fault_at("webhook_url", message, value["webhook_url"])
    if (sources := value.get("sources")) and isinstance(sources, list):
        if "local" not in sources:
            yield fault_at("sources", "searches the web beside the store; add local", sources)
        if "web" in sources and value.get("background") is True:
            message = "is not for a search in the background; leave out web"
            yield fault_at("sources", message, sources)
    if value.get("fields") and value.get("background") is True:
        message = "is not for a search in the background, which keeps everything"
        yield fault_at("fields", message, value["fields"])
