"""The values that arguments take: refs, kinds, moments. Types for the models of the tools.

Models write lists as one string and leave out what they do not know; both are read as meant.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from mem_search import records
from mem_search.errors import InputError
from mem_search.model import KINDS, Kind
from mem_search.text import rfc3339

LONGEST = 4000
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def refused(message: str) -> PydanticCustomError:
    """What a validator raises to have ``message`` said of its value."""
    return PydanticCustomError("value", "{message}", {"message": message})


def split(value: Any) -> Any:
    """A list, also when it was written as one string with commas; null is an empty one."""
    if isinstance(value, str):
        value = value.strip().strip("[]").split(",")
        return [word for each in value if (word := each.strip().strip("\"'"))]
    return () if value is None else value


def _kinds(value: Any) -> Any:
    words = split(value)
    if not isinstance(words, list | tuple):
        return words
    found = [(word, records.kind_called(str(word))) for word in words]
    unknown = [word for word, kind in found if kind is None]
    if unknown:
        raise refused(
            f"{str(unknown[0])[:60]!r} is no kind of record; known are {', '.join(KINDS)}"
        )
    return tuple(dict.fromkeys(kind for _, kind in found))


def _moment(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        raise refused("write a date such as 2025-10-03T17:45:00Z or 2025-10-03")
    day = _DAY.fullmatch(value.strip())
    try:
        return rfc3339.read(f"{value.strip()}T00:00:00Z" if day else value.strip())
    except InputError as error:
        raise refused(error.message) from None


def _given(value: Any) -> Any:
    return "" if value is None else value


Words = Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=r"\S")]
"""A question: not blank."""
Text = Annotated[
    str, BeforeValidator(_given, json_schema_input_type=str), Field(max_length=LONGEST)
]
Kinds = Annotated[
    tuple[Kind, ...],
    BeforeValidator(_kinds),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(KINDS)}}),
]
Moment = Annotated[
    int | None,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Milliseconds since 1970; a day begins at midnight UTC."""
