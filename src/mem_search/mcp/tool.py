"""A tool call without any protocol: from named arguments to an outcome, whatever goes wrong.

An error that the caller can correct becomes an outcome that names the argument, so that a model
can act on it. Only unexpected errors are logged, without the arguments.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from mem_search.access.callers import ANONYMOUS, Caller
from mem_search.errors import MemSearchError
from mem_search.model import Record
from mem_search.patterns import pattern
from mem_search.renderers import DisplayOptions
from mem_search.renderers.schema import dumped, to_values
from mem_search.runtime import Runtime
from mem_search.search.service import UNLOGGED
from mem_search.validation import ReadAs, as_meant, reading, whole_text

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
            return f"{place[:60]}: unknown argument; {_known(place, names)}"
        case "too_short":
            return f"{place}: give at least {item['ctx']['min_length']}"
        case "too_long":
            return f"{place}: give at most {item['ctx']['max_length']}"
        case "string_pattern_mismatch" | "string_too_short":
            what = "words or a question" if place == "query" else "some words"
            return f"{place}: is empty; write {what}"
    return f"{place}: {item['msg'][0].lower()}{item['msg'][1:]}"


def _known(word: str, names: list[str]) -> str:
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
