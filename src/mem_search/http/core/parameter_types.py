"""The types of query parameters: lists, kinds, dates, time zones, refs and names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

from dateutil.tz import gettz, tzlocal
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from mem_search.errors import InputError
from mem_search.model import Boost, FacetName, Mode, ReadPart, Ref, SortField
from mem_search.patterns import pattern
from mem_search.records.registry import installed_kinds
from mem_search.renderers.record_json import SOME_FIELDS
from mem_search.text import dates, record_ids
from mem_search.text.platforms import platform_named
from mem_search.text.query.fields import Fields
from mem_search.text.record_ids import RecordId
from mem_search.text.redaction import refuse_secret
from mem_search.validation import (
    clock_of,
    input_errors_as_invalid,
    invalid_value,
    nearest,
    note_reading,
)

Zone = tzinfo


@cache
def zone(name: str) -> Zone:
    """The IANA zone called ``name``; the machine's own for an empty name. Raises InputError."""
    if not name:
        # The zone with its rules, not today's offset: dates in summer keep their hour.
        return gettz() or tzlocal()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # OSError: names of directories, such as Europe
        raise InputError(
            f"{name[:60]!r} is not a time zone; write an IANA name such as Europe/Berlin",
            field="tz",
        ) from None


MAX_VALUE_CHARS = 4000
REF_PATTERN = rf"^{record_ids.PATTERN}$"


def split(value: Any) -> Any:
    """Comma-separated and repeated values as one list without empties and repeats."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        return items
    words = (word.strip() for item in items for word in str(item).split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def kinds_named(value: Any) -> Any:
    """A validator: the kinds that words mean, in a list or with commas."""
    words = split(value)
    if not isinstance(words, tuple):
        return value
    with input_errors_as_invalid():
        return installed_kinds().all_named(words)


def facet_name(word: Any) -> Any:
    """A validator: reports an unknown facet with the nearest known one."""
    if isinstance(word, str) and word not in FACETS:
        raise invalid_value(f"there is no facet {word[:60]!r}; {nearest(word, FACETS)}")
    return word


def _facets(value: Any) -> Any:
    words = split(value)
    return tuple(map(facet_name, words)) if isinstance(words, tuple) else words


def sort_key(word: Any) -> Any:
    """A validator: reports an unknown field to sort by with the nearest known one."""
    if isinstance(word, str) and (name := word.removeprefix("-")) not in SORT_FIELDS:
        raise invalid_value(f"results have no order by {name[:60]!r}; {nearest(name, SORT_FIELDS)}")
    return word


def _sort(value: Any) -> Any:
    words = split(value)
    return tuple(map(sort_key, words)) if isinstance(words, tuple) else words


def field_name(known: Sequence[str], word: Any) -> Any:
    """A validator: reports an unknown field of a result with the nearest known one."""
    if isinstance(word, str) and word not in known:
        raise invalid_value(f"a result has no field {word[:60]!r}; {nearest(word, known)}")
    return word


def _fields(value: Any) -> Any:
    words = split(value)
    known = SOME_FIELDS.names
    return tuple(field_name(known, word) for word in words) if isinstance(words, tuple) else words


def _field(value: Any, info: ValidationInfo) -> Any:
    """The values of a field of the query language, which have to be readable as such."""
    values = [value] if isinstance(value, str) else value
    if not (isinstance(values, list | tuple) and all(isinstance(each, str) for each in values)):
        return value
    now, zone_of_caller = clock_of(info)
    tz: tzinfo = info.data.get("tz") or zone_of_caller
    with input_errors_as_invalid():
        Fields(installed_kinds(), now.astimezone(tz), tz).asked(info.field_name or "", values)
    return list(values)


def _zone(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    with input_errors_as_invalid():
        return zone(value)


def _date_bound(value: Any, info: ValidationInfo, *, end: bool) -> Any:
    if not isinstance(value, str | int | float):
        return value
    now, zone_of_caller = clock_of(info)
    tz: tzinfo = info.data.get("tz") or zone_of_caller
    with input_errors_as_invalid():
        bound = dates.parse_bound(value, end=end, now=now.astimezone(tz), tz=tz, field="date")
    note_reading(info, bound, tz)
    return bound


def _ref(text: str) -> str:
    with input_errors_as_invalid():
        return str(Ref.parse(text))


def _record_id(text: str) -> str:
    with input_errors_as_invalid():
        return str(RecordId.parse(text))


def check_shape(name: str) -> None:
    """Raises InputError for what is no ``NAME``."""
    if NAME.fullmatch(name) is None:
        raise InputError(
            "has to begin with a letter or digit, and to have only letters (a to z), digits, '.',"
            f" '_' and '-', {MAX_NAME_CHARS} at most"
        )


def _name(text: str) -> str:
    with input_errors_as_invalid():
        check_shape(text)
        return refuse_secret(text)


def _mode(value: Any) -> Any:
    return "vector" if value == "semantic" else value


def fault_at(name: str, message: str, sent: Any) -> InitErrorDetails:
    """A fault of the field ``name``, for rules over several fields."""
    return InitErrorDetails(type=invalid_value(message), loc=(name,), input=sent)


def faults_of(error: ValidationError) -> list[InitErrorDetails]:
    """The faults of ``error``, to be raised again together with others."""
    # The message goes in as a value: pydantic would interpret braces in a template.
    return [
        InitErrorDetails(
            type=PydanticCustomError(item["type"], "{message}", {"message": item["msg"]}),
            loc=item["loc"],
            input=item["input"],
        )
        for item in error.errors(include_url=False, include_context=False)
    ]


Text = Annotated[str, Field(max_length=MAX_VALUE_CHARS)]
Platform = Annotated[Text, AfterValidator(platform_named)]
Stripped = Annotated[Text, AfterValidator(str.strip)]
Words = Annotated[tuple[Text, ...], BeforeValidator(split, json_schema_input_type=str)]
FACETS: Final = get_args(FacetName)
Facets = Annotated[tuple[FacetName, ...], BeforeValidator(_facets, json_schema_input_type=str)]
SORT_FIELDS: Final = get_args(SortField)
Sort = Annotated[tuple[str, ...], BeforeValidator(_sort, json_schema_input_type=str)]
FieldNames = Annotated[tuple[str, ...], BeforeValidator(_fields, json_schema_input_type=str)]
FieldValues = Annotated[
    tuple[Text, ...] | None, BeforeValidator(_field, json_schema_input_type=str)
]
FieldList = Annotated[
    list[Text] | None, BeforeValidator(_field, json_schema_input_type=str | list[str] | None)
]
"""Values of the field of the query language that the parameter is called by (``search_fields``)."""
ReadParts = Annotated[tuple[ReadPart, ...], BeforeValidator(split, json_schema_input_type=str)]
Boosts = Annotated[tuple[Boost, ...], BeforeValidator(split, json_schema_input_type=str)]
SearchMode = Annotated[
    Mode,
    BeforeValidator(
        _mode, json_schema_input_type=Literal["hybrid", "keyword", "vector", "semantic"]
    ),
]
"""By words, by meaning, or both; ``/api/v1/search`` calls the meaning semantic."""
if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[installed_kinds().names]
"""The name of an installed kind. Replies have ``str``: a stored kind may not be installed."""
Kinds = Annotated[tuple[str, ...], BeforeValidator(kinds_named, json_schema_input_type=str)]
Start = Annotated[
    int | None, BeforeValidator(partial(_date_bound, end=False), json_schema_input_type=str)
]
End = Annotated[
    int | None, BeforeValidator(partial(_date_bound, end=True), json_schema_input_type=str)
]
"""Milliseconds since 1970; an end is the last millisecond of the date that it names."""
RefName = Annotated[str, AfterValidator(_ref)]
"""``kind:number``, however it was written."""
IdOfRecord = Annotated[str, AfterValidator(_record_id)]
"""What names a record: a ref, a number, ``S12``, an alias (``text.record_ids``)."""
TimeZone = Annotated[Any, BeforeValidator(_zone, json_schema_input_type=str)]
"""A tzinfo, or None for the worker's own."""

MAX_NAME_CHARS: Final = 64
NAME: Final = pattern(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MAX_NAME_CHARS - 1}}}")
Name = Annotated[
    str,
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"}),
]
