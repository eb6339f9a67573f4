"""What a JSON reply is built of, how it becomes JSON, and what all replies to searches have.

A reply is a tree of dataclasses marked with ``@schema``. mypy checks how they are built, pydantic
writes them and describes them in OpenAPI. They are not validated on the way out: that would cost
as much as writing them, and refuse a text with half a surrogate pair, which records may have
(ADR 0034).

A field is the attribute of the noun that is called as it is. ``From`` names another one, or what is
made of its value, as ``At`` does for requests:

    @schema
    class Found(Projection[Record]):
        title: str
        created: Annotated[Time, From("created_at")]
        id: Annotated[str, From("ref", str)]

    Found.of(record)

A field with a default keeps it, unless it says ``From``. Nouns inside become what the type of the
field says: ``Page``, ``Page | None`` or ``list[Page]``, where ``Page`` has an ``of``, too. Only
what has to be computed is an argument.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from types import SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson
from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializeAsAny,
    TypeAdapter,
    WithJsonSchema,
)  # fmt: skip
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError

from mem_search.model import Analyzed, FoundDate, FoundFilter, LegReport, ReadPart, SearchReport
from mem_search.renderers.record_line import notices_of, reading_notes
from mem_search.text import dates

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


N = TypeVar("N")

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class From:
    """``Annotated[X, From("path.to.it")]``: where a field comes from, "" for its own name and "."
    for the noun itself, and what is made of the value there.
    """

    path: str = ""
    then: Convert | None = None


def or_none(value: Any) -> Any:
    """None for an empty text, an empty list, 0."""
    return value or None


def text_or_none(value: Any) -> str | None:
    """The text of a ref or another value, None of none."""
    return None if value is None else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    """The text of each."""
    return [str(value) for value in values]


class Projection(Generic[N]):
    """Base of a reply that shows a noun of the class ``N``."""

    __slots__ = ()

    @classmethod
    def of(cls, noun: N, /, **computed: Any) -> Self:
        """The reply for ``noun``; ``computed`` are the fields that it does not have."""
        build = _BUILDERS.get(cls) or _builder(cls, computed)
        made: Self = build(noun, **computed)
        return made


def projected(kind: type[T], noun: object, /, **computed: Any) -> T:
    """The reply ``kind`` for ``noun``: for a builder that computes some of its fields, always the
    same ones.
    """
    build = _BUILDERS.get(kind) or _builder(kind, computed)
    made: T = build(noun, **computed)
    return made


def places(kind: Any) -> dict[str, From]:
    """Field → where it comes from; without those that keep their default."""
    by_field = {
        each.name: _from(_hints(kind)[each.name])
        or (From(each.name) if each.default is MISSING else None)
        for each in fields(kind)
    }
    return {name: place for name, place in by_field.items() if place is not None}


_BUILDERS: Final[dict[type, Callable[..., Any]]] = {}


def _builder(kind: type, computed: Iterable[str]) -> Callable[..., Any]:
    """A call of ``kind`` as one would write it by hand, so that it is as quick: a search of 100
    results makes a thousand of them.
    """
    hints = _hints(kind)
    names: dict[str, Any] = {"kind": kind}
    given = [f"{name}={name}" for name in computed]
    for name, place in places(kind).items():
        if name not in computed:
            value = "_noun" if place.path == "." else f"_noun.{place.path or name}"
            if convert := place.then or _conversion(hints[name]):
                names[f"_{name}"] = convert
                value = f"_{name}({value})"
            given.append(f"{name}={value}")
    source = f"lambda {', '.join(['_noun', *computed])}: kind({', '.join(given)})"
    built: Callable[..., Any] = eval(source, names)  # noqa: S307 - names of our own classes
    _BUILDERS[kind] = built
    return built


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        # Each in the names of its own module, where functions of ``From`` look for theirs later.
        own = SimpleNamespace(__annotations__=vars(base).get("__annotations__", {}))
        names = vars(sys.modules[base.__module__])
        hints |= get_type_hints(own, names, names, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def _from(hint: Any) -> From | None:
    said = getattr(hint, "__metadata__", ())
    return next((each for each in said if isinstance(each, From)), None)


def _conversion(hint: Any) -> Convert | None:
    """How a value becomes one of the type, None where it stays as it is."""
    inner, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        return _conversion(inner[0])
    if origin in (Union, UnionType):
        return _unless_none(next(filter(None, map(_conversion, inner)), None))
    if origin is list:
        return _each(_conversion(inner[0]))
    if origin is dict:
        return dict
    made: Convert | None = getattr(hint, "of", None) if is_dataclass(hint) else None
    return made


def _unless_none(of: Convert | None) -> Convert | None:
    return None if of is None else lambda value: None if value is None else of(value)


def _each(of: Convert | None) -> Convert:
    return list if of is None else lambda values: [of(value) for value in values]


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


def as_subclass(kind: type[T], whole: DataclassInstance, **changes: Any) -> T:
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
    """``value`` as JSON in UTF-8; ``kind`` is its type where that is not its class. Half a
    surrogate pair, which UTF-8 cannot write, becomes an escape (RFC 8259, 8.2).
    """
    try:
        return adapter(kind or value.__class__).dump_json(value, by_alias=True)
    except PydanticSerializationError:
        values = adapter(kind or value.__class__).dump_python(value, by_alias=True)
        return _encoded(dumped(values))


def to_json_with(value: DataclassInstance, field: str, written: str) -> bytes:
    """``to_json`` with ``written`` as ``field``, which is JSON already."""
    whole = to_values(replace(value, **{field: []}))
    try:
        return orjson.dumps({**whole, field: orjson.Fragment(_encoded(written))})
    except orjson.JSONEncodeError:  # half a surrogate pair
        texts = {name: dumped(each) for name, each in whole.items()} | {field: written}
        return _encoded("{" + ", ".join(f'"{key}": {text}' for key, text in texts.items()) + "}")


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
            notices=(*notices_of(report), *reading_notes(report.analyzed, bounds)),
            suggestions=report.suggestions,
            analyzed=AnalyzedQuestion.of(report.analyzed, warnings=report.analyzed.warnings),
            flags=flags or None,
            stale_s=None if report.stale_s is None else round(report.stale_s, 3),
        )
