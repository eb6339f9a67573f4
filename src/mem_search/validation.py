"""What the validators of requests share, over HTTP and over MCP."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import cache
from typing import Any, Final, cast

from pydantic import AliasChoices, BaseModel, ValidationInfo
from pydantic_core import PydanticCustomError

from mem_search.errors import InputError
from mem_search.text import dates, spelling

ReadAs = dict[str, str]
"""Field → the moment as which its date was read, in ISO 8601 with its offset."""

_MAX_EXACT_FLOAT: Final = 2.0**53
"""Up to here a float counts whole numbers one by one."""


def invalid_value(message: str) -> PydanticCustomError:
    """The error that a validator raises to report ``message`` for its value."""
    # The message goes in as a value: pydantic would interpret braces in a template.
    return PydanticCustomError("value", "{message}", {"message": message})


@contextmanager
def input_errors_as_invalid() -> Iterator[None]:
    """Report an InputError of the block as an invalid value, with its message."""
    try:
        yield
    except InputError as error:
        raise invalid_value(error.message) from None


def reading(now: datetime, read_as: ReadAs | None = None) -> dict[str, Any]:
    """The context of a validation: the time by the caller's clock, and where readings are noted."""
    return {"now": now, "read_as": read_as}


def clock_of(info: ValidationInfo) -> tuple[datetime, tzinfo]:
    """The time and the zone in which dates without one are read."""
    now: datetime = (info.context or {}).get("now") or datetime.now().astimezone()
    return now, cast(tzinfo, now.tzinfo)


def note_reading(info: ValidationInfo, ms: int, tz: tzinfo) -> None:
    """Note as which moment the date of a field was read, for the reply to say."""
    read_as = (info.context or {}).get("read_as")
    if read_as is not None and info.field_name:
        read_as[info.field_name] = dates.iso_in(ms, tz)


def moment(value: object, info: ValidationInfo, *, end: bool = False) -> int:
    """A date, or a date and time, as milliseconds since 1970.

    Without an offset it is one of the caller's zone, which is noted. A day is its beginning, as an
    ``end`` its last millisecond.
    """
    if not isinstance(value, str):
        raise invalid_value(
            "is not an RFC 3339 date and time in quotes; write 2026-01-31T12:00:00Z"
        )
    _, tz = clock_of(info)
    with input_errors_as_invalid():
        ms, is_whole = dates.read_moment(value, tz, end=end)
    if not is_whole:
        note_reading(info, ms, tz)
    return ms


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean NAME?``, or the ``known`` names where none is near."""
    names = list(known)
    if near := spelling.closest(word, names):
        return f"did you mean {near}?"
    return f"choose one of {', '.join(names)}" if names else "there are none here"


def as_meant(model: type[BaseModel], sent: Any, absent: Collection[object] = (None,)) -> Any:
    """The fields of ``sent`` as clients mean them, for a validator of ``model`` that runs first.

    A value that is ``absent`` leaves out a field that has a default. A whole number may be written
    as 5.0, as JSON has one kind of numbers.
    """
    if not isinstance(sent, Mapping):
        return sent
    optional = _optional(model)
    return {
        name: whole(value)
        for name, value in sent.items()
        if name not in optional or not any(value is each or value == each for each in absent)
    }


@cache
def _optional(model: type[BaseModel]) -> frozenset[str]:
    """All names of the fields that have a default."""
    names = set[str]()
    for name, field in model.model_fields.items():
        also = field.validation_alias
        words = also.choices if isinstance(also, AliasChoices) else [field.alias or name]
        if not field.is_required():
            names |= {name, *map(str, words)}
    return frozenset(names)


def whole(value: Any) -> Any:
    """An integer for a number without a fraction, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole_text(text: str) -> str | int:
    """An integer for a text that is one, also as ``5.0``, ``1e2`` or in quotes; else the text."""
    plain = text.strip().removeprefix('"').removesuffix('"')
    if not plain.isascii() or "_" in plain or len(plain) > 40:
        return text
    try:
        number = float(plain)
    except ValueError:
        return text
    if plain.lstrip("+-").isdigit():
        return int(plain)
    return int(number) if abs(number) <= _MAX_EXACT_FLOAT and number.is_integer() else text


def not_blank(text: str) -> str:
    """``text``; a blank one counts as missing."""
    if not text.strip():
        raise PydanticCustomError("missing", "is required")
    return text
