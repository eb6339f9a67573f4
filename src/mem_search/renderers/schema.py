"""What a JSON reply is built of, how it becomes JSON, and what all replies to searches have.

A reply is a tree of dataclasses marked with ``@schema``. mypy checks how they are built, pydantic
writes them and describes them in OpenAPI. They are not validated on the way out: that would cost
as much as writing them, and refuse a text with half a surrogate pair, which records may have
(ADR 0016).
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, dataclass_transform

import orjson
from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializeAsAny,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError

from mem_search.model import (
    Analyzed,
    FoundDate,
    FoundFilter,
    LegReport,
    ReadPart,
    SearchReport,
)
from mem_search.renderers.projection import From, Projection
from mem_search.renderers.record_line import reading_notes
from mem_search.text import dates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

_CONFIG = ConfigDict(extra="forbid", strict=True)


@dataclass_transform(kw_only_default=True)
def schema(cls: type[T]) -> type[T]:
    """A dataclass with keyword arguments that is one object of a JSON reply.

    Its docstring is its description in OpenAPI. A field without a default is in every reply.
    """
    made = dataclass(slots=True, kw_only=True)(cls)
    made.__pydantic_config__ = _CONFIG  # type: ignore[attr-defined]
    return made


Absent = Annotated[T | None, Field(exclude_if=partial(operator.is_, None))]
"""``Absent[X]`` has no key in the JSON where it is None; give it that default."""


@dataclass(frozen=True, slots=True)
class SomeFields:
    """``Annotated[dict[str, Any], SomeFields(X, "ref")]``: plain values of the fields of the schema
    ``X`` that a request names, and always of ``needed``. OpenAPI describes it as ``X``.
    """

    whole: Any
    needed: str

    @property
    def names(self) -> tuple[str, ...]:
        """All fields that can be named."""
        return tuple(each.name for each in fields(self.whole))

    def of(self, whole: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """The named fields of ``whole``, in that order. A caution is never left out."""
        wanted = dict.fromkeys((self.needed, *names, "caution"))
        return {name: whole[name] for name in wanted if name in whole}

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler.resolve_ref_schema(handler(adapter(self.whole).core_schema))
        title = f"Chosen{self.whole.__name__}"
        said = f"Those fields of {self.whole.__name__} that the request names."
        return {**described, "title": title, "description": said, "required": [self.needed]}


def remade(kind: type[T], whole: DataclassInstance, **changes: Any) -> T:
    """The schema ``kind`` with the fields of ``whole``, which is of a class that it extends."""
    values = {each.name: getattr(whole, each.name) for each in fields(whole)}
    return kind(**{**values, **changes})


Stored = Annotated[T, SerializeAsAny()]
"""``Stored[X]`` takes plain values that were stored as JSON."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Time = Annotated[
    int,
    PlainSerializer(dates.iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Milliseconds since 1970, written as ISO 8601 in UTC."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """The writer of ``kind``, which is a schema or a type of them such as ``list[Job]``."""
    return TypeAdapter(kind)


def to_values(value: Any, kind: Any = None) -> Any:
    """``value`` as plain dicts, lists, texts and numbers, keyed as in JSON."""
    return adapter(kind or value.__class__).dump_python(value, mode="json", by_alias=True)


def to_json(value: Any, kind: Any = None) -> bytes:
    """``value`` as JSON in UTF-8; ``kind`` is its type where that is not its class.

    Half a surrogate pair, which UTF-8 cannot write, becomes an escape (RFC 8259, 8.2).
    """
    try:
        return adapter(kind or value.__class__).dump_json(value, by_alias=True)
    except PydanticSerializationError:
        values = adapter(kind or value.__class__).dump_python(value, by_alias=True)
        return _encoded(dumped(values))


def to_json_with(value: DataclassInstance, field: str, values: Any, written: str) -> bytes:
    """``to_json`` with ``values`` as ``field``, which are ``written`` as JSON already."""
    whole = to_values(replace(value, **{field: []}))
    try:
        return orjson.dumps({**whole, field: orjson.Fragment(_encoded(written))})
    except orjson.JSONEncodeError:  # half a surrogate pair
        return _encoded(dumped({**whole, field: values}))


def _encoded(written: str) -> bytes:
    return written.encode("utf-8", "backslashreplace")


def dumped(value: Any) -> str:
    """Plain values as JSON, the form whose tokens are counted."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@schema
class SearchLeg(Projection[LegReport]):
    """The state, count and time of one leg."""

    name: str
    state: Literal["ok", "off", "degraded", "failed"]
    count: Count
    ms: float
    detail: str


@schema
class QuestionDate(Projection[FoundDate]):
    """A time that the question names in plain words. `use` is `lift` where records from it are
    raised, `filter` where the question asks for nothing else and finds all that is from it.
    """

    phrase: str
    start: Annotated[Time | None, From("range.start")]
    end: Annotated[Time | None, From("range.end")]
    use: Literal["lift", "filter"]


@schema
class QuestionFilter(Projection[FoundFilter]):
    """A kind or a person that the question names in plain words, as `filter` of the query language.
    `use` is `lift` where such records are raised, `filter` where only they are found.
    """

    phrase: str
    filter: str
    part: ReadPart
    use: Literal["lift", "filter"]


@schema
class AnalyzedWords(Projection[Analyzed]):
    """How the query was parsed. `near` are other spellings of a word that were tried, `operators`
    the words AND, OR and NOT that were read as operators. `readings` are kinds and people, and
    `dates` times, that the question names in plain words.
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...]
    demanded: str
    filters: tuple[str, ...]
    excluded: tuple[str, ...]
    near: dict[str, tuple[str, ...]]
    operators: tuple[str, ...]
    dates: list[QuestionDate]
    readings: list[QuestionFilter]


@schema
class AnalyzedQuestion(AnalyzedWords):
    """How the query was parsed, with warnings about ignored parts."""

    warnings: tuple[str, ...]


@schema
class HowSearched:
    """How the search was really done. `coverage` is the share of passages in the vector index,
    `index_age_s` for how many seconds the oldest of the others waits. `flags` are patterns that
    were found in the question of a remote caller. `stale_s` is there where a replica of the store
    answered: what was stored in the last so many seconds may be missing.
    """

    requested: str
    realised: str
    legs: list[SearchLeg]
    coverage: Share
    index_age_s: float
    took_ms: float
    notices: tuple[str, ...]
    suggestions: tuple[str, ...]
    analyzed: AnalyzedQuestion
    flags: Absent[tuple[str, ...]] = None
    stale_s: Absent[float] = None

    @classmethod
    def of(
        cls, report: SearchReport, flags: tuple[str, ...] = (), bounds: str = "dateStart/dateEnd"
    ) -> Self:
        """``bounds`` are the parameters of the surface that keep only what is from a time."""
        return cls(
            requested=report.requested,
            realised=report.realised,
            legs=[SearchLeg.of(leg) for leg in report.legs],
            coverage=report.coverage,
            index_age_s=round(report.index_age_s, 3),
            took_ms=report.took_ms,
            notices=(*report.notices, *reading_notes(report.analyzed, bounds)),
            suggestions=report.suggestions,
            analyzed=AnalyzedQuestion.of(report.analyzed, warnings=report.analyzed.warnings),
            flags=flags or None,
            stale_s=None if report.stale_s is None else round(report.stale_s, 3),
        )
