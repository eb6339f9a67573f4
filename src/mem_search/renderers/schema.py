"""What a JSON reply is built of, and how it becomes JSON.

A reply is a tree of dataclasses marked with ``@schema``. mypy checks how they are built, pydantic
writes them and describes them in OpenAPI. They are not validated on the way out: that would cost
as much as writing them, and refuse a text with half a surrogate pair, which records may have
(ADR 0019).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field, PlainSerializer, SerializeAsAny, TypeAdapter, WithJsonSchema
from pydantic_core import PydanticSerializationError

from mem_search.text import dates

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


def _is_none(value: object) -> bool:
    return value is None


Absent = Annotated[T | None, Field(exclude_if=_is_none)]
"""``Absent[X]`` has no key in the JSON where it is None; give it that default."""

Stored = Annotated[T, SerializeAsAny()]
"""``Stored[X]`` is given as plain values: it was written as JSON before."""

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
        return dumped(values).encode("utf-8", "backslashreplace")


def dumped(value: Any) -> str:
    """Plain values as JSON: the form over which the tokens of an answer are counted."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
