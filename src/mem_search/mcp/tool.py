"""A tool call without any protocol: from named arguments to an outcome, whatever goes wrong.

An error that the caller can correct becomes an outcome that names the argument, so that a model
can act on it. Only unexpected errors are logged, without the arguments. Arguments have short JSON
Schemas, because models pay for each word.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict

from mem_search.access.callers import ANONYMOUS, Caller
from mem_search.errors import MemSearchError
from mem_search.model import FacetName, Kind, Record
from mem_search.patterns import pattern
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.renderers.schema import dumped, to_values
from mem_search.runtime import Runtime
from mem_search.search.service import UNLOGGED
from mem_search.validation import (
    ReadAs,
    as_meant,
    input_errors_as_invalid,
    invalid_value,
    moment,
    nearest,
    reading,
    whole,
    whole_text,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who calls a tool: the runtime of that user, the URL of the worker, the reader's time zone."""

    runtime: Runtime
    base: str
    display: DisplayOptions
    caller: Caller = ANONYMOUS

    def opened(self, *records: Record) -> None:
        """Note that the caller has opened these records, as a search does not."""
        self.runtime.search.service.log.note_opened(records, self.surface)

    @property
    def surface(self) -> str:
        """``mcp`` in the search log; UNLOGGED for a caller who may change nothing."""
        return "mcp" if self.caller.may_change else UNLOGGED


class Arguments(BaseModel):
    """Base of all arguments: an undeclared argument is an error.

    Clients also send null or "" for what they leave out, numbers as ids, 1e2 in quotes for a whole
    number, and names in camelCase.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, sent: Any) -> Any:
        if isinstance(sent, Mapping):
            fields = cls.model_fields
            sent = {_own_name(name, sent, fields): value for name, value in sent.items()}
            for name in [
                name for name in sent if name in fields and fields[name].annotation is int
            ]:
                if isinstance(value := sent[name], str) and value:
                    sent[name] = whole_text(value)
        return as_meant(cls, sent, (None, ""))


def _own_name(name: str, sent: Mapping[str, Any], known: Collection[str]) -> str:
    """``citation_depth`` for ``citationDepth``, unless both are sent."""
    own = _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)
    return own if own in known and own not in sent else name


_CAPITAL: Final = pattern("(?<=[a-z0-9])[A-Z]")


A = TypeVar("A", bound=Arguments)
Handler = Callable[[ToolContext, A], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. ``reply`` is the model (``@schema``) of its result; ``writes`` if it stores.

    ``aliases`` are names by which other programs call it; no list has them. A ``reply`` that is
    ``str`` is sent as it is.
    ``structured``: the result is sent as an object, too, beside the text that is the same JSON. The
    protocol asks for that only where a tool declares a schema of its results.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    reply: type[Any]
    handler: Handler[Any]
    writes: bool = False
    structured: bool = False
    aliases: tuple[str, ...] = ()

    async def __call__(
        self, context: ToolContext, arguments: Arguments, read_as: ReadAs | None = None
    ) -> Json | str:
        """The reply; it notes as which moments dates were read (``read_as``)."""
        reply = await cast(Handler[Arguments], self.handler)(context, arguments)
        said = [f"{name} was read as {moment}" for name, moment in (read_as or {}).items()]
        if self.reply is str:
            return "\n\n".join((reply, *(f"Note: {each}" for each in said)))
        if said:
            reply.note = "\n".join(filter(None, (reply.note, *said)))
        return cast(Json, to_values(reply, self.reply))


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``text`` is for the model; ``value`` is the same as an object, None for a failure."""

    text: str
    value: Json | None = None

    @property
    def failed(self) -> bool:
        return self.value is None


async def call(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Outcome:
    """Call ``tool``; never raises because of the arguments or the store."""
    read_as: ReadAs = {}
    try:
        read = tool.arguments.model_validate(
            dict(arguments), context=reading(context.display.now, read_as)
        )
        value = await tool(context, read, read_as)
    except ValidationError as error:
        return Outcome("; ".join(_fault(item, tool) for item in error.errors(include_url=False)))
    except MemSearchError as error:
        named = f"{error.field}: " if error.field else ""
        return Outcome(error.message if error.message.startswith(named) else named + error.message)
    except Exception:
        # An unexpected error: the log has all of it, and the caller learns that it is not at fault.
        log.exception("the tool %s failed", tool.name)
        return Outcome("internal error; the worker's log has it: mem-search worker logs")
    if isinstance(value, str):
        return Outcome(value, {})
    return Outcome(dumped(value), value)


def _fault(item: Any, tool: Tool) -> str:
    place = ".".join(str(step) for step in item["loc"])
    match item["type"]:
        case "missing":
            return f"{place}: is required"
        case "extra_forbidden":
            names = list(tool.arguments.model_fields)
            return f"{place[:60]}: unknown argument; {nearest(place, names)}"
        case "too_short":
            return f"{place}: give at least {item['ctx']['min_length']}"
        case "too_long":
            return f"{place}: give at most {item['ctx']['max_length']}"
        case "string_pattern_mismatch" | "string_too_short":
            what = "words or a question" if place == "query" else "some words"
            return f"{place}: is empty; write {what}"
    return f"{place}: {item['msg'][0].lower()}{item['msg'][1:]}"


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
