"""JSON Schemas of arguments and replies of tools, short because models pay for each word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema
from pydantic.config import JsonDict

from mem_search.mcp.tool import Arguments
from mem_search.model import FacetName, Kind
from mem_search.records.registry import installed_kinds
from mem_search.validation import input_errors_as_invalid, invalid_value, moment, nearest, whole

MAX_TEXT_CHARS = 4000


def split(value: Any) -> Any:
    """A list, also from one string with commas or from one number."""
    if isinstance(value, str):
        value = value.strip().strip("[]").split(",")
        return [word for each in value if (word := each.strip().strip("\"'"))]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    return list(map(whole, value)) if isinstance(value, list) else value


def _kinds(value: Any) -> Any:
    words = split(value)
    if not isinstance(words, list | tuple):
        return words
    with input_errors_as_invalid():
        return installed_kinds().all_named(map(str, words))


def _facet(word: Any) -> Any:
    if word not in FACETS:
        raise invalid_value(f"there is no facet {str(word)[:60]!r}; {nearest(str(word), FACETS)}")
    return word


def _values(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: (each,) if isinstance(each, str) else each for name, each in value.items()}


Words = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS, pattern=r"\S")]
"""A query that is not blank."""
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Values = Annotated[
    dict[str, tuple[str, ...]],
    BeforeValidator(_values),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]
"""Name → values; a value may be a list."""
Kinds = Annotated[
    tuple[Kind, ...],
    BeforeValidator(_kinds),
    WithJsonSchema(
        {"type": "array", "items": {"type": "string", "enum": list(installed_kinds().names)}}
    ),
]
FACETS: Final = get_args(FacetName)
Facets = Annotated[
    tuple[Annotated[FacetName, BeforeValidator(_facet)], ...],
    BeforeValidator(split),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(FACETS)}}),
]
Timestamp = Annotated[
    int | None,
    BeforeValidator(moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""Milliseconds since 1970; without an offset it is in the zone of the caller."""


UNLISTED: Final[JsonDict] = {"unlisted": True}
"""Of an argument that is taken and costs no tokens in the list of tools; docs/mcp.md has it."""

BUDGET = 8000
"""Agents start to warn about replies of some 10,000 tokens by their own count."""

Budget = Annotated[int, Field(ge=200, le=100_000, description="Longest answer; the rest is cut")]


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """The schema of ``model`` without titles, and without null for optional arguments.

    The schema tells a model to leave an argument out; null is accepted nevertheless.
    """
    schema = model.model_json_schema()
    properties = {
        name: _short(each) for name, each in schema["properties"].items() if "unlisted" not in each
    }
    required = {"required": schema["required"]} if "required" in schema else {}
    return {
        "type": "object",
        "properties": properties,
        **required,
        "additionalProperties": False,
    }


def output_schema(reply: type[Any]) -> dict[str, Any]:
    """The schema of the reply model ``reply``: without titles, references and nullable fields.

    Not every client reads null in a schema. A field that may be null is left undescribed, which
    the schema allows.
    """
    schema = TypeAdapter(reply).json_schema(mode="serialization")
    described: dict[str, Any] = _inlined(schema, schema.get("$defs", {}))
    return described


def _inlined(schema: Any, models: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, models) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(models[schema["$ref"].rpartition("/")[2]], models)
    if "properties" not in schema:
        return {key: _inlined(value, models) for key, value in schema.items() if key != "title"}
    fields = {name: each for name, each in schema["properties"].items() if "anyOf" not in each}
    return {
        "type": "object",
        "properties": {name: _inlined(_short(each), models) for name, each in fields.items()},
        "required": [name for name in schema["required"] if name in fields],
    }


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    short = {key: value for key, value in schema.items() if key not in ("title", "anyOf")}
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            short = {**choice, **short}
    if short.get("default") in (None, "", [], {}):
        short.pop("default", None)
    return short
